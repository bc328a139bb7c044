# SPDX-License-Identifier: Apache-2.0
# The static program for 64-bit Arm, compiled on this machine (tests/parts/cross), by QEMU: what it prints and writes has the bytes of the
# program for x86_64 and of the golden files; its wheel. QEMU translates the processor's instructions and passes system calls on to this
# machine's kernel, so this shows nothing of an Arm kernel, of its page sizes, of namespaces, or of containers with programs for Arm.
# Ten minutes, most of them to compile; the dev preset is built before.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    enter_place
    copy_fixture
    export BATS_TEST_TIMEOUT=900 place SOURCE_DATE_EPOCH=1700000000 CYBELE_STORE=$place/store CYBELE_CACHE_DIR=$place/cache
    "$parts_dir/cross" release -o "$place/out" >&2
    # Names of one length: lines that name the program break at the same place.
    mkdir amd64 arm64 tree
    tar -C tree --strip-components=1 -xf out/cybelectl-*-linux-aarch64.tar.xz
    cp tree/bin/cybelectl arm64/
    cp "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}" amd64/cybelectl
    emulator=$("$parts_dir/cross" make)/usr/bin/qemu-aarch64-static
    export emulator
}
setup() { cd "$place" || return; }
teardown() { end_servers; }
teardown_file() { leave_place; }

ours() { "$emulator" "$place/arm64/cybelectl" "$@"; }
theirs() { "$place/amd64/cybelectl" "$@"; }

# both WORD…: the two programs print the same, by both descriptors, and end with the same code, which is `code`.
both() {
    local code_ours=0
    code=0
    ours "$@" >ours.out 2>ours.err || code_ours=$?
    theirs "$@" >theirs.out 2>theirs.err || code=$?
    sed -i "s|$place/arm64/|$place/amd64/|g" ours.out ours.err
    sed -i -E '/^ +[0-9.]+ s  /d' ours.err theirs.err # what takes ten seconds on a busy machine, prints how far it is
    diff theirs.out ours.out && diff theirs.err ours.err && assert_equal "$code_ours" "$code"
}

# pack PROGRAM FOLDER IMAGE
pack() {
    printf 'Bootstrap: localimage\nFrom: %s\n' "$2" >pack.def
    "$1" build -F pack.def -o "$3" --quiet
}

@test "it is a static program for Arm, which names its processors and is else the same" {
    run -0 readelf -hdl arm64/cybelectl
    assert_output --partial 'Machine:                           AArch64'
    refute_output --partial NEEDED
    refute_output --partial INTERP
    both --version
    ours --version --format json | jq 'del(.build.arch, .build.compiler)' >ours.out
    theirs --version --format json | jq 'del(.build.arch, .build.compiler)' | cmp - ours.out
    assert_equal "$(ours --version --format json | jq -r .build.arch)" aarch64
}

@test "its help, completions and manual pages are the same" {
    local verb count=0
    both help --list
    cp theirs.out verbs
    for verb in bash zsh fish; do both completion "$verb"; done
    while read -ra verb; do
        both "${verb[@]}" --help
        count=$((count + 1))
    done <verbs
    ((count > 80))
    # The archive's manuals are written by the program for Arm.
    theirs help --man job render | cmp - tree/share/man/man1/cybelectl-job-render.1
}

# golden FOLDER NAME DIALECT WORD…: the script is that of the golden file, or its refusal the last of the errors.
golden() {
    local file=$repo/tests/golden/$1/$2.$3
    [[ -e $file.sh || -e $file.refused ]] || return 0
    both job render "$2.job.yaml" --scheduler "$3" "${@:4}"
    if [[ -e $file.sh ]]; then
        sed -E 's/ by cybelectl [0-9]+(\.[0-9]+)*/ by cybelectl VERSION/; s/, templates [0-9a-f-]+/, templates VERSION/' ours.out |
            diff "$file.sh" -
    else
        sed '/^more: cybelectl explain /d' ours.err | tail -n "$(wc -l <"$file.refused")" | diff "$file.refused" -
        assert_equal "$code" 3
    fi
    count=$((count + 1))
}

# The image that a golden case's facts are of: a folder with these labels, packed by the program for Arm.
image_of() {
    local image key value
    [[ -e $repo/tests/golden/scripts/$1.facts ]] || return 0
    image=$(sed -n 's/^image: //p' "$1.job.yaml")
    mkdir -p labelled/.singularity.d "$(dirname "$image")"
    while read -r key value; do
        [[ $key == mpi ]] || key=mpi-probe
        jq -n --arg key "cybelectl.$key" --arg value "$value" '{($key): $value}'
    done <"$repo/tests/golden/scripts/$1.facts" | jq -s add >labelled/.singularity.d/labels.json
    pack ours labelled "$image"
}

@test "golden scripts: each Job for each batch system, complete and plain, has the bytes of its golden file" {
    local job name dialect count=0
    local -a site
    local -x HOME=$place/~ # of `image: ~/wheat.sif`
    cp "$repo"/tests/golden/scripts/*.yaml .
    for job in "$repo"/tests/golden/scripts/*.job.yaml; do
        name=$(basename "$job" .job.yaml)
        [[ $name != later ]] || continue # names a job, which the command line looks up
        image_of "$name"
        site=()
        [[ ! -e $name.site.yaml ]] || site=(--site "$name.site.yaml")
        for dialect in slurm torque pbspro slurm-torque local; do
            golden scripts "$name" "$dialect" "${site[@]}"
            golden plain "$name" "$dialect" "${site[@]}" --plain
        done
    done
    assert_equal "$count" "$(find "$repo"/tests/golden/{scripts,plain} \( -name '*.sh' -o -name '*.refused' \) ! -name 'later.*' | wc -l)"
}

@test "scripts of other people are explained and converted as their golden files say" {
    local file name count=0
    for file in "$repo"/tests/golden/outside/*.in; do
        name=$(basename "$file" .in)
        cp "$file" .
        both job explain "$name.in"
        diff "${file%.in}.txt" ours.out
        both job convert "$name.in"
        diff "${file%.in}.job.yaml" ours.out
        count=$((count + 1))
    done
    assert_equal "$count" 6
}

@test "each Recipe of the catalogue gives the same definition, Dockerfile and report" {
    local recipe count=0
    for recipe in "$catalogue"/*.yaml; do
        both recipe render "$recipe" # one has variants: refused by both
        ((code != 0)) || count=$((count + 1))
        both recipe render "$recipe" --as dockerfile
        both recipe check "$recipe"
        both job check "${recipe%.yaml}/job.yaml"
    done
    ((count >= 9))
}

@test "a Job gives the same manifest of each kind" {
    local kind
    write_job demo 'command: [hello-mpi]' 'resources: {time: 90 min, memory-per-node: 4 GiB}' \
        'kubernetes: {image: "docker://registry.example/hello:1"}'
    sed -i 's,^image:.*,image: /home/eve/hello.sif,' demo.yaml
    for kind in TorqueJob SlurmJob MirrorJob Pod Job; do
        printf '%s\n' 'kind: Site' 'name: hall' \
            "scheduler: {dialect: $([[ $kind == TorqueJob ]] && echo torque || echo slurm), through: {ssh: login.hall.example}}" \
            'kubernetes:' '  bridge: hpc-connector' \
            '  connector: {image: "docker://registry.example/c:1", backend: hall-a, credentials: hall-login}' >"$kind.site.yaml"
        both kube render demo.yaml --site "$kind.site.yaml" --kind "$kind"
        assert_equal "$code" 0
        cp ours.out "$kind.yaml"
        both kube check "$kind.yaml"
    done
}

@test "definition files are read, checked and formatted alike" {
    local file count=0
    for file in "$repo"/tests/cases/definitions/*.def; do
        both def print "$file" --format json
        both def check --no-shellcheck "$file"
        both def format "$file"
        count=$((count + 1))
    done
    ((count >= 50))
}

@test "an image that was built on x86_64 is listed, inspected and verified; a signature of one is valid for the other" {
    both sif list hello-mpi.sif
    both sif header hello-mpi.sif
    both inspect hello-mpi.sif --format json
    both inspect hello-mpi.sif --packages
    both verify hello-mpi.sif --key demo.pub --format json
    assert_equal "$code" 0
    ours key new arm.pem
    both verify hello-mpi.sif --key arm.pub
    assert_equal "$code" 4
    cp hello-mpi.sif again.sif
    ours sign --force again.sif --key arm.pem
    both verify again.sif --key arm.pub
    assert_equal "$code" 0
    printf 'x' | dd of=again.sif bs=1 seek=100000 conv=notrunc status=none
    both verify again.sif --key arm.pub
    assert_equal "$code" 4
}

@test "a folder is packed to the same file system; the image differs in the architecture alone" {
    mkdir -p root/{bin,etc,usr/share}
    cp -r "$repo/docs" root/usr/share/
    cp /bin/busybox root/bin/
    ln -s busybox root/bin/sh
    pack theirs root theirs.sif
    pack ours root ours.sif
    # The first program in the folder is for x86_64, so the image is, whoever packs it.
    cmp theirs.sif ours.sif
    rm root/bin/busybox
    pack theirs root theirs.sif
    pack ours root ours.sif
    theirs sif header theirs.sif >theirs.out
    theirs sif header ours.sif | sed 's/arm64/amd64/' | diff theirs.out -
    assert_equal "$(theirs inspect ours.sif --format json | jq -r '.. | strings | select(. == "arm64")' | sort -u)" arm64
}

@test "its wheel is for aarch64 alone, and what pip installs from it runs" {
    local wheel
    wheel=$("$repo/packaging/wheel" -o "$place/wheel" "$place"/out/*.tar.xz)
    [[ $wheel == *-py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl ]]
    python3 -m zipfile -e "$wheel" parts
    assert_equal "$(grep ^Tag: parts/*.dist-info/WHEEL)" \
        "$(printf 'Tag: py3-none-%s_aarch64\n' manylinux_2_17 musllinux_1_1)"
    run ! python3 -m pip install --no-index --target refused "$wheel"
    assert_output --partial 'is not a supported wheel on this platform'
    python3 -m pip install --quiet --no-index --only-binary :all: --platform manylinux_2_17_aarch64 --target installed "$wheel"
    cmp installed/bin/cybelectl arm64/cybelectl
    diff -r installed/libexec tree/libexec
    run -0 "$emulator" installed/bin/cybelectl job render serial.job.yaml --scheduler slurm
    assert_line '#SBATCH --ntasks=1'
}

@test "its helper runs with the loader and the libraries that are packed with it, and fetches over HTTP" {
    local helper=$place/tree/libexec/cybelectl
    run -0 find tree/libexec -type f -exec readelf -h {} +
    assert_equal "$(grep -c Machine: <<<"$output")" "$(grep -c 'Machine: *AArch64' <<<"$output")"
    # This kernel starts no program for Arm, so a script starts the helper by QEMU.
    mkdir helper
    printf '#!/bin/sh\nexec %s %s/ld-linux-aarch64.so.1 --library-path %s %s "$@"\n' "$emulator" "$helper/lib" "$helper/lib" \
        "$helper/cybelectl-http" >helper/cybelectl-http
    chmod 755 helper/cybelectl-http
    serve registry docker-registry open "$place/registry"
    export CYBELE_LIBEXEC=$place/helper no_proxy='*'
    ours image push hello-mpi.sif "oras://127.0.0.1:$registry/hello:1" --plain-http
    run -0 theirs image tags "oras://127.0.0.1:$registry/hello" --plain-http
    assert_line 1
    run -3 ours image pull "oras://127.0.0.1:$registry/hello:1" --plain-http --no-store -o pulled.sif
    assert_output --partial 'is an image for amd64'
    ours image pull "oras://127.0.0.1:$registry/hello:1" --plain-http --no-store --arch amd64 -o pulled.sif
    cmp hello-mpi.sif pulled.sif
}

@test "made again it has the same bytes, and its list names the libraries for Arm" {
    "$parts_dir/cross" release -o "$place/again"
    cmp out/*.tar.xz again/*.tar.xz
    (cd out && sha256sum -c SHA256SUMS)
    local name
    for name in libssl-dev libyaml-cpp-dev libarchive-dev libsquashfs-dev libcli11-dev libfmt-dev libcurl4 libc6 libc6-dev; do
        jq -e --arg name "$name" '.packages[] | select(.name == $name) | .versionInfo != "" and (.comment | length) > 40' \
            tree/share/cybelectl/sbom.spdx.json
    done
}
