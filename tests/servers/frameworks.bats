# SPDX-License-Identifier: Apache-2.0
# Spark and torchrun on two nodes of real TORQUE and OpenPBS servers, as tests/long/torque.bats has them under replayed rules. About
# six minutes.
load ../parts/suite.bash
load servers.bash

setup_file() {
    start_servers
    # Copies that alice can read.
    cp -r "$("$parts_dir/spark" home)/.." spark
    cp -a "$("$parts_dir/fixture" torch)" torch-root
    chmod -R a+rX spark
    chmod a+rx torch-root
    cp "$repo/tests/cluster/spark-app.py" app.py
    cp "$repo/tests/cluster/torch-app.py" reduce.py
}
teardown_file() { stop_servers; }

none_left() { ! as_manager pgrep -f "$1" >/dev/null; }

spark_job() {
    job "$1" "command: [$place/app.py, '$2', '$3']" \
        "launch: {kind: spark, driver-memory: 512 MiB, properties: {spark.default.parallelism: '8'}}" \
        "environment: {SPARK_HOME: '$place/spark/deps', PYTHONPATH: '$place/spark:$(echo "$place"/spark/lib/py4j-*-src.zip)'}" \
        'resources: {nodes: 2, cpus-per-task: 3, memory-per-node: 3600 MiB, time: 5 min}'
}

spark_computes() {
    spark_job spark 5 0
    run submit spark --wait
    cat spark-*.err >&2
    assert_equal "$status" 5
    assert_equal "$(grep -h '^hosts' spark-*.out)" 'hosts n1 n2'
    wait_for 20 none_left '[o]rg.apache.spark'
    assert_equal "$(find . -maxdepth 1 -name '.cybelectl-spark*')" ''
}
@test "Spark: a worker on each of two nodes, the program's code, and nothing left" {
    on_each spark_computes
}

spark_is_cancelled() {
    spark_job deleted 0 60
    id=$(submit deleted)
    wait_for 120 bash -c 'grep -qs "Starting task" deleted-*.err'
    run server timeout 120 cybelectl job cancel "$id"
    assert_success
    assert_regex "$output" cancelled
    wait_for 30 none_left '[o]rg.apache.spark'
}
@test "Spark: a cancel leaves no process on any node" {
    on_each spark_is_cancelled
}

torch_meets() {
    job torch "image: $place/torch-root" "command: [$place/reduce.py, run]" 'launch: {kind: torch, processes-per-node: 2}' \
        "binds: ['$place', '$place/$product/hosts:/etc/hosts']" 'resources: {nodes: 2, cpus-per-task: 2, memory-per-node: 1500 MiB, time: 4 min}'
    run submit torch --wait
    cat torch-*.err >&2
    assert_success
    assert_equal "$(grep -hcE '^rank [0-3] of 4 on n[12] sum 4 ' torch-*.out)" 4
    wait_for 15 none_left 'torch.distributed.[r]un'
}
@test "torchrun of an image: four processes on two nodes meet" {
    on_each torch_meets
}
