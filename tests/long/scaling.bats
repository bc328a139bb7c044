# SPDX-License-Identifier: Apache-2.0
# The papers' figures for soybean-preprocess and bpmf, times over ranks, from jobs on the two nodes of a real Slurm: one Job, three
# numbers of ranks, and one command that draws it.
load ../parts/suite.bash
load ../cluster/nodes.bash

setup_file() {
    start_nodes
    cp "$("$parts_dir/catalogue" make soybean-preprocess)" soybean-preprocess.sif
    cp "$("$parts_dir/catalogue" make bpmf)" bpmf.sif
    printf '%s\n' 'kind: Job' 'name: bpmf' 'image: bpmf.sif' 'command: [bpmf, --compounds, "2000", --iterations, "20"]' \
        "launch: {kind: mpi, launcher: mpirun, oversubscribe: true$(root_too)}" 'resources: {tasks-per-node: 1, time: 10 min}' 'queue: batch' >bpmf.yaml
    printf '%s\n' 'kind: Job' 'name: soybean' 'image: soybean-preprocess.sif' \
        "command: [sh, -c, 'preprocess --generate --size 48 --data data-\$OMPI_COMM_WORLD_SIZE --output \$OMPI_COMM_WORLD_SIZE.csv']" \
        "launch: {kind: mpi, launcher: mpirun, oversubscribe: true$(root_too)}" 'resources: {tasks-per-node: 1, time: 10 min}' 'queue: batch' >soybean.yaml
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# JOB: submitted with 1, 3 and 6 ranks; their ids into `ids`, all of them done.
run_sizes() {
    local size
    for size in '1 1' '1 3' '2 3'; do # nodes, ranks on each
        slurm cybelectl -q submit "$1" --nodes "${size% *}" --ntasks-per-node "${size#* }" --scheduler slurm
    done >lines
    mapfile -t ids <lines
    run -0 slurm cybelectl job wait "${ids[@]}"
}

# The figure of the jobs in `ids`: a row and a point for each number of ranks.
draw() {
    slurm cybelectl job results "${ids[@]}" --csv >times.csv
    assert_equal "$(python3 -c 'import csv, sys; print([row["tasks"] for row in csv.DictReader(sys.stdin)])' <times.csv)" "['1', '3', '6']"
    slurm cybelectl job results "${ids[@]}" --plot x=tasks,y=wall -o scaling.svg
    assert_equal "$(grep -c '<circle' scaling.svg)" 3
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' scaling.svg
}

@test "soybean-preprocess on Slurm: its times over ranks are drawn by one command, and each number makes the same table" {
    run_sizes soybean.yaml
    cmp 1.csv 3.csv
    cmp 1.csv 6.csv
    grep -h 'ranks=6' soybean-*.out
    draw
}

@test "bpmf on Slurm: its times over ranks are drawn by one command, and each number finds the same factors" {
    run_sizes bpmf.yaml
    assert_equal "$(sed -n 's/.*hash=\([0-9a-f]*\).*/\1/p' bpmf-*.out | sort | uniq -c | awk '{ print $1 }')" 3
    draw
}
