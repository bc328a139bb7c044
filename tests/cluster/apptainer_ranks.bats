# SPDX-License-Identifier: Apache-2.0
# The real Apptainer as the launcher's container runtime, on two nodes of a real Slurm: each rank in a user namespace of
# its own, as on a login node without setuid.
load ../parts/suite.bash
load nodes.bash

setup_file() {
    start_nodes
    copy_fixture
    printf '#!/bin/sh\nexec "%s/apptainer" rank "$@"\n' "$parts_dir" >programs/apptainer
    printf '#!/bin/sh\nexec "%s/apptainer" rank -n "$@"\n' "$parts_dir" >programs/strict-apptainer
    chmod +x programs/*apptainer
    "$parts_dir/apptainer" make >&2
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }


# ranks NAME COMMAND LAUNCH [OPTION…]: a Job of four ranks on two nodes, rendered, submitted and waited for.
ranks() {
    local name=$1
    write_job "$name" "command: [$2]" "launch: {$3$(root_too)}" \
        'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 4 min}'
    "$CYBELECTL" job render "$name.yaml" --scheduler slurm -o "$name.sh" "${@:4}" || return
    slurm sbatch --ignore-pbs --wait "$name.sh"
}

@test "ranks in Apptainer find each other, by srun and by mpirun, without a word about shared memory" {
    local launcher
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'runtime: {program: apptainer, mode: userns}' >hall.yaml
    for launcher in srun mpirun; do
        run ranks "by-$launcher" hello-mpi "kind: mpi, launcher: $launcher" --site hall.yaml
        cat "by-$launcher"-*.err
        assert_equal "$status" 0
        assert_equal "$(grep -cE '^rank [0-3] of 4 on n[12]\b' "by-$launcher"-*.out)" 4
        assert_equal "$(sed -nE 's/.*, sum ([0-9]+).*/\1/p' "by-$launcher"-*.out | sort -u | wc -l)" 1
        run grep -E 'cma|ORTE_ERROR|help-' "by-$launcher"-*.err
        assert_failure
    done
}

@test "mutant: a Site that is silent on user namespaces leaves root's ranks complaining of them" {
    [[ $(id -u) == 0 ]] || return 0 # an ordinary user's ranks are told anyway
    run ranks silent hello-mpi 'kind: mpi, launcher: srun'
    assert_equal "$status" 0
    assert_file_contains "$(echo silent-*.err)" 'not available due to different user namespaces'
}

@test "where the site lets users bind nothing, the bind model is refused before a rank starts" {
    printf '%s\n' 'kind: Site' 'name: strict' 'scheduler: slurm' "runtime: {program: apptainer, path: $place/programs/strict-apptainer}" >strict.yaml
    run ranks forbidden /opt/cybelectl/bin/mpi-probe 'kind: mpi-bind' --site strict.yaml
    assert_equal "$status" 1
    assert_equal "$(cat forbidden-*.out)" ''
    assert_file_contains "$(echo forbidden-*.err)" "error: the host's MPI .* cannot be bound into the container"
    assert_file_contains "$(echo forbidden-*.err)" 'because: .*user bind control'
    assert_file_contains "$(echo forbidden-*.err)" 'help: ask the site to let users bind'
}
