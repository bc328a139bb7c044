# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites that run on a cluster: a real Slurm on nodes of this machine, below a private place.
# shellcheck disable=SC2154 # parts_dir is of suite.bash

# start_nodes [COUNT]: the place, the program for the nodes, and COUNT (2) nodes, which end with the suite.
start_nodes() {
    enter_place
    export place
    mkdir programs
    cp "$CYBELECTL" programs/cybelectl # a copy: the nodes have a /tmp of their own
    PART_OWNER=$PPID "$parts_dir/slurm" start "$place" "${1:-2}" >&2
}
# enter_nodes: for setup. The program is installed on the nodes: its folder is in PATH there, as sbatch hands it on.
enter_nodes() {
    cd "$place" || return
    PATH=$place/programs:$PATH
}
# stop_nodes: for teardown_file.
stop_nodes() {
    "$parts_dir/slurm" stop "$place"
    leave_place
}

# slurm COMMAND…: on the cluster's head node.
slurm() { "$parts_dir/slurm" exec "$place" "$@"; }

# root_too: what lets mpirun start as root, behind other words of a launch.
root_too() { [[ $(id -u) != 0 ]] || printf ', allow-root: true'; }
