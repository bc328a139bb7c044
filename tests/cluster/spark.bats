# SPDX-License-Identifier: Apache-2.0
# Spark of a job's own on two nodes of a real Slurm: real workers, a real driver, nothing left behind.
load ../parts/suite.bash
load spark.bash

setup_file() { start_spark_cluster; }
setup() { cd "$place" || return; }
teardown_file() { stop_nodes; }

@test "two workers on two nodes compute, the exit code is the program's, nothing is left" {
    spark_job seven 7
    run slurm sbatch --ignore-pbs --wait seven.sh
    spark_log seven
    assert_equal "$status" 7
    assert_equal "$(grep -h '^numbers' seven-*.out)" 'numbers [0, 1, 2, 3, 4, 5, 6, 7]'
    assert_equal "$(grep -h '^hosts' seven-*.out)" 'hosts n1 n2'
    assert_equal "$(grep -h '^secret' seven-*.out)" 'secret of 64 digits unseen'
    nothing_of_spark_left
    assert_equal "$(cd results/spark-* && find logs -type f | sort | tr '\n' ' ')" \
        'logs/executor-n1.log logs/executor-n2.log logs/master.log logs/worker-n1.log logs/worker-n2.log '
    assert_equal "$(find results/spark-*/events -type f ! -name '*.inprogress' | wc -l)" 1
    assert_equal "$(grep -rlE 'authenticate\.secret[ =]*[0-9a-f]{64}' results | wc -l)" 0
}

@test "a Spark that is not there is told before anything starts" {
    spark_job absent 0
    SPARK_HOME='' run slurm sbatch --ignore-pbs --wait absent.sh
    assert_equal "$status" 1
    run spark_log absent
    assert_output --partial 'error: there is no Spark with Java in PATH'
    nothing_of_spark_left
}
