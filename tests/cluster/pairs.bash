# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites of pairs: an MPI in a container under a launcher of the host, on nodes of the cluster. What is
# seen (works, aborts, singletons) must be what tests/cases/pairs.tsv says, by which unit_compatibility judges the tables.
# shellcheck disable=SC2154 # repo, parts_dir and place are of suite.bash
load "$BATS_TEST_DIRNAME/../cluster/nodes.bash"

start_pairs() {
    start_nodes
    copy_fixture
    mkdir probes
}

# wheel_probe MPI: the guard's probe, made for an MPI of PyPI; its path is the same in and outside containers.
wheel_probe() {
    local name=$1 folder headers
    folder=$("$parts_dir/mpi" "$name")
    headers=$folder/include
    [[ $name != intel ]] || headers=$("$parts_dir/mpi" mpich)/include
    gcc -O2 -o "probes/$name" -I "$headers" "$repo/recipes/probe/mpi-probe.c" -L "$folder/lib" -lmpi
    printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%s/lib I_MPI_ROOT=%s\nexec %s/probes/%s\n' "$folder" "$folder" "$place" \
        "$name" >"probes/$name.sh"
    chmod +x "probes/$name.sh"
}

# outcome LAUNCHER NODES IMAGE [OPTION…] PROBE: four ranks in containers; prints what came of it. mpirun starts on the
# first node, as in a job's script: from the head node Open MPI 5 and later do not get through to two nodes.
outcome() {
    local launcher=$1 nodes=$2 code=0
    local -a asked=(-N "$nodes" -n 4 "--ntasks-per-node=$((4 / nodes))" --mem=500 -t 1)
    local -a start=(srun "--mpi=${launcher#srun-}" "${asked[@]}")
    shift 2
    rm -f answers errors
    if [[ $launcher == mpirun ]]; then
        printf '#!/bin/bash\nexec mpirun -np 4 --map-by ppr:%s:node --bind-to none "$@"\n' "$((4 / nodes))" >mpirun.sh
        start=(sbatch --parsable --wait "${asked[@]}" -o answers -e errors mpirun.sh)
    fi
    # $UCX_TLS and the interface: two nodes on one kernel are taken for one machine.
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_TLS=tcp,self OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 \
        timeout 100 "$parts_dir/slurm" exec "$place" "${start[@]}" "$place/programs/cybelectl" exec "$@" \
        >said 2>complaints </dev/null || code=$?
    if [[ $launcher != mpirun ]]; then
        mv said answers
        mv complaints errors
    elif [[ $code == 124 ]]; then
        slurm scancel "$(cat said)"
    fi
    local whole alone
    whole=$(grep -cE '^cybelectl-probe rank [0-3] of 4 ' answers || true)
    alone=$(grep -cE '^cybelectl-probe rank 0 of 1 ' answers || true)
    case $code:$whole:$alone in
        0:4:0) echo works ;;
        0:0:4) echo singletons ;;
        *:0:0) echo aborts ;;
        *) echo "code $code, $whole ranks of 4, $alone alone" ;;
    esac
}

# told MPI VERSION LAUNCHER NODES: what the table says of it; with the options set, what works with options works.
told() {
    awk -F '\t' -v mpi="$1 $2" -v launcher="$3" -v nodes="$4" '
        index($1, mpi) == 1 && $3 == launcher { print $(3 + nodes) == "options" ? "works" : $(3 + nodes); exit }' \
        "$repo/tests/cases/pairs.tsv"
}
