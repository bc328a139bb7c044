# SPDX-License-Identifier: Apache-2.0
# The examples of each command's help, run as they are printed in a folder that has what they name.
load ../parts/suite.bash

setup_file() { export BATS_TEST_TIMEOUT=900; } # more than 200 commands, where the machine is busy
setup() { work_place; }
teardown() { leave_place; }

# What an example needs that is not in the folder: a registry, a cluster, a bridge, a job or a key with that number, a download, a
# terminal. Such an example must be accepted: it may fail for want of these, but not for the way in which it is written.
needs='oras:|docker:|library:|registry|bridge|kubectl|1234|68\[|3f2a|8C10|sha256:|store:|slurm|torque|mirror|--pgp|gpg|--secret'
needs+='|image (diff|pull|push|copy|tag|path|remove)|job (wait|results)|--watch|shell|apptainer|--builder|solve|exec app|run --app|run app'
needs+='|verify|sign|recover|setprim|sif (add|del|dump)|^cybelectl build|recipe (lock|import requirements|import environment)'
needs+='|^cybelectl submit|URL|man -l|image list app|matrix|convert pod|generate|site check|centre.asc|key export|install-as singularity'

prepare() {
    "$CYBELECTL" init demo >/dev/null
    mkdir -p course recipes rootfs old-project results
    cp demo/demo.yaml app.yaml
    cp demo/demo.yaml recipes/one.yaml
    cp -r demo/src .
    cp -r demo/src recipes/
    cp app.yaml recipe.yaml
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: debian:@{release}' 'args: {release: "12"}' >arguments.txt
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: debian:12' 'matrix: {mpi: [openmpi, mpich]}' 'mpi: "@{mpi}"' >variants.txt
    printf '%s\n' 'kind: Job' 'name: app' 'command: [hostname]' 'resources: {time: 5 min}' >job.yaml
    printf '%s\n' 'kind: Job' 'name: batch' 'launch: batch' 'script: hostname' >batch.yaml
    printf '%s\n' 'kind: Site' 'name: hall-a' 'scheduler: {dialect: slurm}' >hall-a.yaml
    printf '%s\n' 'Bootstrap: debootstrap' 'OSVersion: bookworm' 'MirrorURL: http://deb.example/debian' '' '%arguments' '    version=1.0' '' \
        '%post' '    set -eu' '    echo "{{ version }}"' >app.def
    printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=1' '#SBATCH --time=00:05:00' 'srun hostname' | tee old.sh >cow.sh
    printf '%s\n' '#!/bin/bash' '#PBS -l select=1:ncpus=1' '#PBS -l walltime=00:05:00' 'hostname' >old.pbs
    printf '%s\n' 'FROM debian:12' 'RUN apt-get update && apt-get install -y curl' 'CMD ["curl"]' >Dockerfile
    printf '%s\n' 'numpy>=1.20' >requirements.txt
    printf '%s\n' '[project]' 'name = "app"' >pyproject.toml
    cp "$repo/tests/unit/recipes/data/import/uv.lock" .
    printf '%s\n' 'name: e' 'dependencies: [python=3.11]' >environment.yml
    printf '%s\n' 'slurmstepd: error: Detected 1 oom_kill event in StepId=42.0' >slurm-42.out
    echo secret | tee secret.txt >token.txt
    mksquashfs rootfs root.squashfs -quiet -no-progress >/dev/null
    "$CYBELECTL" sif new app.sif >/dev/null
    "$CYBELECTL" sif add app.sif root.squashfs --datatype 4 --parttype 2 --partfs 1 --partarch 2 >/dev/null
    cp app.sif big.sif
    "$CYBELECTL" key new centre.pem >/dev/null
    "$CYBELECTL" kube render job.yaml --kind TorqueJob -o torquejob.yaml
    mkdir objects && cp torquejob.yaml objects/
}

# make_room EXAMPLE: what it makes is not there yet.
make_room() {
    case $1 in
        'cybelectl init demo') rm -r try/demo ;;
        *'key new centre.pem'*) rm try/centre.* ;;
        'cybelectl sif new app.sif'*) rm try/app.sif ;;
        'cybelectl init --from .' | 'cybelectl job new app.sif' | 'cybelectl job new --image'* | *' -o job.yaml') rm try/job.yaml ;;
        'cybelectl job new demo/demo.yaml'*) rm try/demo/job.yaml ;;
        *' -o app.yaml') rm try/app.yaml ;;
        *'--remove') (cd try && "$CYBELECTL" config trust old-project >/dev/null) ;;
        *'--variant app-openmpi') cp full/variants.txt try/app.yaml ;;
        *'--arg release=13') cp full/arguments.txt try/app.yaml ;;
    esac
}

@test "each example of each command's help is accepted as it is printed, and runs where it needs nothing else" {
    local verb example status limit ran=0 faults=''
    mkdir bin home
    ln -s "$CYBELECTL" bin/cybelectl
    export PATH=$PWD/bin:$PATH HOME=$PWD/home CYBELE_STATE_DIR=$PWD/home/state CYBELE_STORE=$PWD/home/store
    export CYBELE_CACHE_DIR=$PWD/home/cache CYBELE_CONFIG_DIR=$PWD/home/config
    mkdir -p full "$HOME/.config/fish/completions"
    (cd full && prepare)
    while read -ra verb; do
        "$CYBELECTL" "${verb[@]}" --help | sed -n '/^Examples:$/,$ s/^  //p'
    done < <("$CYBELECTL" help --list) | sort -u >examples
    (($(wc -l <examples) >= 230))
    while read -r example; do
        rm -rf try || { sleep 1 && rm -rf try; } # where a job of the example before it still writes
        cp -r full try
        status=0 limit=20
        [[ ! $example =~ $needs ]] || limit=4
        make_room "$example"
        (cd try && timeout -k 2 "$limit" bash -c "$example" </dev/null >../out 2>&1) || status=$?
        if [[ $example =~ $needs ]]; then
            ((status != 2 && status != 126 && status != 127)) ||
                grep -qE 'command not found|was not found in the container|terminal' out || faults+="$status: $example: $(head -n 2 out)"$'\n'
        else
            ((status == 0)) || faults+="$status: $example: $(head -n 2 out)"$'\n'
            ran=$((ran + 1))
        fi
    done <examples
    assert_equal "$faults" ''
    ((ran >= 60))
}
