# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` on a real API server and a real Slurm that limits memory by control groups: a job that the kernel ends. A minute.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

# Version 1 of control groups with its memory controller: Slurm 22.05 needs systemd for version 2.
has_memory_groups() { mountpoint -q /sys/fs/cgroup/memory && [[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]]; }

setup_file() {
    export BATS_TEST_TIMEOUT=300
    ! has_memory_groups || SLURM_LIMITS=memory start_bridge_parts
}
setup() {
    has_memory_groups || skip 'this machine has no memory controller of control groups version 1'
    enter_nodes
}
teardown() { stop_bridges; }
teardown_file() { ! has_memory_groups || stop_bridge_parts; }

@test "a job that needs more memory than it asked for: Failed with OutOfMemory, no exit code of its own, and kubectl wait returns" {
    start_bridge one
    directive='#SBATCH --mem=50' job large "exec python3 -c 'x = bytearray(300 << 20)'"
    directive='#SBATCH --mem=50' job small true
    kubectl wait --for=condition=Failed slurmjob/large --timeout=90s || { kubectl get slurmjob large -o yaml && cat one.log && return 1; }
    assert_equal "$(condition large Failed reason) $(field large .status.status) $(field large .status.state)" 'OutOfMemory Failed OUT_OF_MEMORY'
    assert_equal "$(condition large Complete status)" ''
    ends small Succeeded
    assert_equal "$(runs_of large) $(runs_of small)" '1 1'
    assert_equal "$(in_queue)" ''
}
