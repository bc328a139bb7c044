# SPDX-License-Identifier: Apache-2.0
# Spark and torchrun on two nodes under the rules of real TORQUE and OpenPBS servers (tests/parts/torque-rules): what runs
# on the other node is started by pbsdsh, which brings no environment, hears no signal and always ends with 0.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    SPARK_HOME=$("$parts_dir/spark" home)
    PYTHONPATH=$("$parts_dir/spark" python)
    torch=$("$parts_dir/fixture" torch)
    export SPARK_HOME PYTHONPATH torch
}
setup() {
    cd "$place" || return
    mkdir programs work
    ln -s "$CYBELECTL" programs/cybelectl
    cp "$repo/tests/cluster/spark-app.py" work/app.py
    cp "$repo/tests/cluster/torch-app.py" work/torch.py
    printf '127.0.0.1 localhost n1 n2\n' >hosts # both nodes share this machine's network
}
teardown() {
    [[ ! -d $place/rules ]] || "$parts_dir/torque-rules" stop "$place"
    rm -rf programs work rules
}
teardown_file() { leave_place; }

# for_both COMMAND: under the rules of each product.
for_both() {
    local product
    for product in torque openpbs; do
        rm -rf rules
        bin=$("$parts_dir/torque-rules" start "$place" "$product")
        dialect=torque
        [[ $product == torque ]] || dialect=pbspro
        (cd work && "$@") || return
        "$parts_dir/torque-rules" stop "$place"
    done
}

# submit NAME: renders NAME.yaml and submits it from a place where n1 and n2 have addresses.
submit() {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo -E)
    "$CYBELECTL" job render "$1.yaml" --scheduler "$dialect" -o "$1.sh" || return
    # shellcheck disable=SC2016 # for the shell inside
    "${as_root[@]}" unshare --mount -- bash -c 'mount --bind "$1" /etc/hosts && exec "${@:2}"' hosts "$place/hosts" \
        "$bin/qsub" "$1.sh"
}
ends() { "$parts_dir/torque-rules" wait "$place" "$1"; }
none_left() { ! pgrep -f "$1" >/dev/null; }

spark_job() {
    printf '%s\n' 'kind: Job' "name: $1" "command: [app.py, '$2', '$3']" \
        "launch: {kind: spark, driver-memory: 512 MiB, properties: {spark.default.parallelism: '8'}}" \
        "environment: {SPARK_HOME: '$SPARK_HOME', PYTHONPATH: '$PYTHONPATH'}" \
        'resources: {nodes: 2, cpus-per-task: 3, memory-per-node: 3600 MiB, time: 5 min}' >"$1.yaml"
}

spark_computes() {
    local id
    spark_job spark 5 0
    id=$(submit spark)
    assert_equal "$(ends "$id")" 5
    cat spark-*.err >&2
    assert_equal "$(grep -h '^hosts' spark-*.out)" 'hosts n1 n2'
    wait_for 20 none_left '[o]rg.apache.spark'
    assert_equal "$(find . -maxdepth 1 -name '.cybelectl-spark*')" ''
    rm spark-*
}
@test "Spark: a worker on each node by pbsdsh, the program's code, and nothing left" {
    for_both spark_computes
}

spark_is_deleted() {
    local id
    spark_job deleted 0 60
    id=$(submit deleted)
    wait_for 120 bash -c 'grep -qs "Starting task" deleted-*.err'
    "$bin/qdel" "$id"
    assert_equal "$(ends "$id")" 271
    wait_for 30 none_left '[o]rg.apache.spark'
    rm deleted-*
}
@test "Spark: qdel leaves no process on any node" {
    for_both spark_is_deleted
}

torch_meets() {
    local id
    printf '%s\n' 'kind: Job' 'name: torch' "image: $torch" 'command: [torch.py, run]' \
        'launch: {kind: torch, processes-per-node: 2}' "binds: ['$place', '$place/hosts:/etc/hosts']" \
        'resources: {nodes: 2, cpus-per-task: 2, memory-per-node: 1500 MiB, time: 4 min}' >torch.yaml
    id=$(submit torch)
    assert_equal "$(ends "$id")" 0
    cat torch-*.err >&2
    assert_equal "$(grep -hcE '^rank [0-3] of 4 on n[12] sum 4 ' torch-*.out)" 4
    wait_for 15 none_left 'torch.distributed.[r]un'
    rm torch-*
}
@test "torchrun: four processes on two nodes meet" {
    for_both torch_meets
}
