# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites of Spark: a cluster, a program that tells where it ran, and what must not be left.
# shellcheck disable=SC2154 # repo and parts_dir are of suite.bash
load "$BATS_TEST_DIRNAME/../cluster/nodes.bash"

start_spark_cluster() {
    start_nodes
    cp "$repo/tests/cluster/spark-app.py" app.py
    SPARK_HOME=$("$parts_dir/spark" home)
    PYTHONPATH=$("$parts_dir/spark" python)
    export SPARK_HOME PYTHONPATH
    listening >ports-before
}

# listening: what listens on each node.
listening() {
    local node
    for node in n1 n2; do
        slurm ssh "$node" ss -Hltn | awk -v node="$node" '{ print node, $4 }'
    done | sort
}

# spark_job NAME WORD…: a Job of the host's Spark on two nodes, rendered for Slurm.
spark_job() {
    local name=$1 words
    shift
    words=$(printf ', "%s"' "$@")
    printf '%s\n' 'kind: Job' "name: $name" "command: [app.py$words]" \
        "launch: {kind: spark, driver-memory: 512 MiB, properties: {spark.default.parallelism: '8'}}" \
        'resources: {nodes: 2, cpus-per-task: 3, memory-per-node: 3600 MiB, time: 5 min}' 'queue: batch' >"$name.yaml"
    "$CYBELECTL" job render "$name.yaml" --scheduler "${SCHEDULER:-slurm}" -o "$name.sh"
}

# nothing_of_spark_left: no process on any node, no port, no folder of the job's own.
nothing_of_spark_left() {
    wait_for 20 no_spark_process || { spark_processes >&2 && return 1; }
    assert_equal "$(listening)" "$(cat ports-before)"
    assert_equal "$(find . -maxdepth 1 -name '.cybelectl-*')" ''
    assert_equal "$(slurm ssh n1 find /tmp -maxdepth 1 -name 'cybelectl-spark.*')$(slurm ssh n2 find /tmp -maxdepth 1 -name 'cybelectl-spark.*')" ''
}
spark_processes() { slurm ps -eo pid,args | grep -E '[o]rg.apache.spark|[p]yspark|[n]ode\.sh|[a]pp\.py'; }
no_spark_process() { ! spark_processes; }

# spark_log NAME: everything that the job said.
spark_log() { cat "$1"-*.out "$1"-*.err; }
