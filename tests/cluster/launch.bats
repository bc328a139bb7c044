# SPDX-License-Identifier: Apache-2.0
# Launch kinds on a cluster of four nodes: ranks over all of them, mpirun over ssh as under TORQUE without tm, programs of
# the host, the host's MPI bound into the container.
load ../parts/suite.bash
load nodes.bash

setup_file() {
    start_nodes 4
    copy_fixture
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# ranks_on N NODES FILE: N ranks in one communicator on so many nodes.
ranks_on() {
    assert_equal "$(grep -cE "^rank [0-9]+ of $1 on n[1-4]\b" "$3")" "$1"
    assert_equal "$(sed -nE 's/^rank .* on (n[1-4])\b.*/\1/p' "$3" | sort -u | wc -l)" "$2"
    assert_equal "$(sed -nE 's/.*, sum ([0-9]+).*/\1/p' "$3" | sort -u | wc -l)" 1
}

# by_slurm NAME: renders NAME.yaml, submits it, waits; its code is the job's.
by_slurm() {
    "$CYBELECTL" job render "$1.yaml" --scheduler slurm -o "$1.sh" 2>"$1.notes" || { cat "$1.notes" && return 99; }
    slurm sbatch --ignore-pbs --wait "$1.sh"
}

# by_torque NAME NODE…: renders NAME.yaml for TORQUE and runs it as a mom does: on the first node, with a node file.
by_torque() {
    local name=$1
    shift
    "$CYBELECTL" job render "$name.yaml" --scheduler torque -o "$name.sh" 2>"$name.notes" || { cat "$name.notes" && return 99; }
    printf '%s\n' "$@" >nodes
    printf '%s\n' "export PBS_JOBID=12.head PBS_O_WORKDIR='$PWD' PBS_NODEFILE='$PWD/nodes' PATH='$PATH'" \
        "exec bash '$PWD/$name.sh'" >"$name.mom"
    slurm ssh "$1" bash "$PWD/$name.mom"
}

@test "srun with PMIx: eight ranks on four nodes" {
    write_job eight 'command: [hello-mpi]' "launch: {kind: mpi, launcher: srun, pmi: pmix$(root_too)}" \
        'resources: {nodes: 4, tasks-per-node: 2, memory-per-node: 500 MiB, time: 2 min}'
    run by_slurm eight
    cat eight-*.err
    assert_equal "$status" 0
    ranks_on 8 4 eight-*.out
}

@test "image-copy: the ranks of two nodes start the image from a copy, which is gone afterwards" {
    write_job copied 'script: |' '  hello-mpi' '  echo "image $APPTAINER_CONTAINER"' \
        "launch: {kind: mpi, launcher: srun, pmi: pmix$(root_too)}" 'image-copy: {expand: "/tmp/$COPIES"}' \
        'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 2 min}'
    export COPIES=images # of each node's own /tmp
    run by_slurm copied
    cat copied-*.err
    assert_equal "$status" 0
    ranks_on 4 2 copied-*.out
    assert_equal "$(grep -c "^image /tmp/images/cybelectl-image\.[^/]*/hello-mpi\.sif$" copied-*.out)" 4
    for node in n1 n2 n3 n4; do
        assert_equal "$(slurm ssh "$node" 'ls -A /tmp/images 2>/dev/null')" ''
    done
}

@test "TORQUE without tm: mpirun over ssh, each rank with its variables" {
    write_job ssh 'script: |' '  hello-mpi' '  echo "level $LEVEL of $OMP_NUM_THREADS on $(uname -n)"' \
        'environment: {LEVEL: "3"}' "launch: {kind: mpi$(root_too)}" \
        'resources: {nodes: 4, tasks-per-node: 1, cpus-per-task: 2, time: 2 min}'
    run by_torque ssh n3 n3 n1 n1 n2 n2 n4 n4
    cat ssh-12.err
    assert_equal "$status" 0
    ranks_on 4 4 ssh-12.out
    assert_equal "$(grep -c '^level 3 of 2 on n[1-4]$' ssh-12.out)" 4
}

@test "a program of the host, without an image, by mpirun and by srun" {
    local launcher
    mpicc -O2 -o hello "$catalogue/hello-mpi/hello.c"
    for launcher in mpirun srun; do
        printf '%s\n' 'kind: Job' "name: host-$launcher" 'command: [./hello]' \
            "launch: {kind: mpi, launcher: $launcher$(root_too)}" \
            'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 2 min}' >"host-$launcher.yaml"
        run by_slurm "host-$launcher"
        cat "host-$launcher"-*.err
        assert_equal "$status" 0
        ranks_on 4 2 "host-$launcher"-*.out
    done
}

@test "settings of the user's own do not part the ranks" {
    write_job settings 'command: [hello-mpi]' "launch: {kind: mpi, launcher: mpirun$(root_too)}" \
        'resources: {nodes: 2, tasks-per-node: 1, memory-per-node: 500 MiB, time: 2 min}'
    APPTAINER_CLEANENV=1 SINGULARITY_CONTAINALL=1 run by_slurm settings
    assert_equal "$status" 0
    ranks_on 2 2 settings-*.out
    assert_file_contains settings.sh 'unset -v .*APPTAINER.*CLEANENV'
}

bind_job() {
    write_job "$1" "command: [$2]" "launch: {kind: mpi-bind$3$(root_too)}" \
        'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 2 min}'
}

@test "the host's MPI is found, bound, and called by ranks on two nodes" {
    bind_job bound '/opt/cybelectl/bin/mpi-probe' ''
    run by_slurm bound
    cat bound-*.err
    assert_equal "$status" 0
    assert_equal "$(grep -cE '^cybelectl-probe rank [0-3] of 4 host n[12] ' bound-*.out)" 4
    bind_job other '/opt/cybelectl/bin/mpi-probe' ", launcher: mpirun, host-mpi: $("$parts_dir/mpi" openmpi)"
    run by_slurm other
    cat other-*.err
    assert_equal "$status" 0
    # the image's own is 4.1.4
    assert_equal "$(grep -cE '^cybelectl-probe rank [0-3] of 4 host n[12] library Open MPI v5.0.11' other-*.out)" 4
}

@test "the bind model's drawbacks are refused: place, version, another library" {
    bind_job place hello-mpi ', host-mpi: /nonexistent'
    run by_slurm place
    assert_equal "$status" 1
    assert_file_contains "$(echo place-*.err)" "error: the host's MPI is not on this machine below '/nonexistent'"
    printf '%s\n' 'kind: Site' 'name: new' 'scheduler: slurm' 'node: {glibc: "2.99"}' \
        'mpi: [{family: openmpi, version: 4.1.4}]' >new.yaml
    bind_job version hello-mpi ''
    refuses 3 "$CYBELECTL" job check version.yaml --site new.yaml
    assert_output --partial "the host's MPI requires a newer glibc than the image has"
    sed -i 's/family: openmpi/family: mpich/; s/2.99/2.31/' new.yaml
    refuses 3 "$CYBELECTL" job check version.yaml --site new.yaml
    assert_output --partial 'a library of another name'
}

@test "site probe writes down what the cluster shows, and site check finds what came to differ" {
    slurm "$place/programs/cybelectl" site probe --name hall -o hall.yaml
    assert_file_contains hall.yaml '^scheduler: {dialect: slurm, version: "[0-9.]*"}'
    assert_file_contains hall.yaml '^pmi: \[.*"none".*"pmi2".*"pmix_v[0-9]*"'
    assert_file_contains hall.yaml 'name: "batch", nodes: 4, cores-per-node: 4, memory-per-node: 4000 MiB, max-time: 1 *h'
    run slurm "$place/programs/cybelectl" site check hall.yaml --strict
    assert_success
    sed -i 's/family: openmpi, version: "[0-9.]*"/family: openmpi, version: "3.1.6"/' hall.yaml
    refuses 3 slurm "$place/programs/cybelectl" site check hall.yaml
    assert_output --partial "\`mpi\` is 'openmpi 3.1.6' in the Site"
    assert_output --partial 'hall.yaml:'
}

@test "job check chooses srun where the probed Site offers what the image wants, and says on what it stands" {
    slurm "$place/programs/cybelectl" site probe --name hall -o hall.yaml
    write_job checked 'command: [hello-mpi]' "launch: {kind: mpi$(root_too)}" 'resources: {tasks-per-node: 2, time: 2 min}'
    run "$CYBELECTL" job check checked.yaml --site hall.yaml
    assert_success
    assert_line --partial 'ranks on 1 node by srun with pmix'
    assert_line 'verdict: works with options' # of ranks in user namespaces
    assert_line --partial 'works (seen, pair/openmpi-pmix)'
    sed -i 's/launch: {kind: mpi/launch: {kind: mpi, pmi: pmi2/' checked.yaml
    run "$CYBELECTL" job check checked.yaml --site hall.yaml
    assert_equal "$status" 3
    assert_line 'verdict: aborts'
    assert_line --partial 'checked.yaml:'
}

@test "a step of the set-up runs once on each node, and one that fails ends the job with its node" {
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: steps' 'setup:' '  - {run: "export WORD=first"}' \
        '  - {run: "echo \"$WORD on $(hostname) in $PWD\"; touch /tmp/set-up-$WORD", on: each-node}' \
        'script: ls /tmp/set-up-first && echo "rank on $(hostname)"' \
        'launch: {kind: mpi, launcher: srun, pmi: default, guard: false}' \
        'resources: {nodes: 2, tasks-per-node: 2, time: 2 min}' >steps.yaml
    run by_slurm steps
    cat steps-*.err
    assert_equal "$status" 0
    assert_equal "$(sed -n "s,^first on \(n[1-4]\) in $PWD\$,\1,p" steps-*.out | sort | uniq -c | awk '{ print $1 }')" $'1\n1'
    assert_equal "$(grep -c '^rank on n[1-4]$' steps-*.out)" 4
    assert_equal "$(sed -n 's/^first on \(n[1-4]\) .*/\1/p' steps-*.out | sort)" \
        "$(sed -n 's/^rank on \(n[1-4]\)$/\1/p' steps-*.out | sort -u)"

    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: broken' 'launch: batch' 'setup:' \
        '  - {run: "[ $SLURM_NODEID = 0 ] || exit 7", on: each-node}' 'script: echo started' \
        'resources: {nodes: 2, time: 2 min}' >broken.yaml
    run by_slurm broken
    cat slurm-*.out
    assert_equal "$status" 1
    assert_equal "$(grep -c started slurm-*.out)" 0
    grep -q '^cybelectl: the set-up on n[1-4] ended with code 7$' slurm-*.out
    grep -q '^error: the set-up failed on a node$' slurm-*.out
}
