# SPDX-License-Identifier: Apache-2.0
# The catalogue's soybean training on a Spark in containers: Java 17 and pyspark of the image, master, driver and a worker
# on each of two nodes of a real Slurm.
load ../parts/suite.bash
load ../cluster/spark.bash

setup_file() {
    start_nodes
    image=$("$parts_dir/catalogue" make soybean-train)
    cp "$image" train.sif
    listening >ports-before
    "$CYBELECTL" exec train.sif /usr/bin/python3 /opt/bin/soybean_table.py table.csv 3000
    "$CYBELECTL" exec --env OMP_NUM_THREADS=1 train.sif train table.csv >alone.txt 2>/dev/null
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# training NAME: the Job on two nodes, rendered for Slurm.
training() {
    printf '%s\n' 'kind: Job' "name: $1" 'image: train.sif' "command: [/opt/bin/train.py, '$place/table.csv']" \
        'launch: {kind: spark, driver-memory: 900 MiB}' \
        'resources: {nodes: 2, cpus-per-task: 2, memory-per-node: 3600 MiB, time: 10 min}' >"$1.yaml"
    "$CYBELECTL" job render "$1.yaml" --scheduler slurm -o "$1.sh"
}

@test "two workers on two nodes train four models and choose the best, as one process does" {
    training four
    run slurm sbatch --ignore-pbs --wait four.sh
    tail -n 20 four-*.err
    assert_equal "$status" 0
    assert_equal "$(grep -cE '^(linear|tree|boosted|forest): rmse 0\.[0-9]{6}' four-*.out)" 4
    assert_equal "$(grep -o '^best=[a-z]* rmse=[0-9.]*' four-*.out)" "$(grep -o '^best=[a-z]* rmse=[0-9.]*' alone.txt)"
    assert_file_contains "$(echo four-*.err)" 'Spark at spark://n1:[0-9]* with 2 workers'
    assert_equal "$(find results/spark-* -name 'worker-n[12].log' | wc -l)" 2
    nothing_of_spark_left
}

@test "a cancelled training leaves no container, no process, no port and no folder" {
    local id
    training cancelled
    id=$(slurm sbatch --ignore-pbs --parsable cancelled.sh)
    wait_for 180 grep -qs 'is now RUNNING' "cancelled-$id.err" # the program quietens Spark after that
    slurm scancel "$id"
    wait_for 60 bash -c "! '$parts_dir/slurm' exec '$place' squeue -h -j $id | grep -q ."
    nothing_of_spark_left
    assert_equal "$(slurm pgrep -cf 'cybelectl [e]xec')" 0
}
