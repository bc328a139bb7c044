# SPDX-License-Identifier: Apache-2.0
# Spark's faults on two nodes: a worker, the driver and the master killed, the job cancelled, its time over, and
# workers started over ssh as under TORQUE without tm. After each no process, no port and no folder is left.
load ../parts/suite.bash
load ../cluster/spark.bash

setup_file() { start_spark_cluster; }
setup() { cd "$place" || return; }
teardown_file() { stop_nodes; }

# submit NAME: submits NAME.sh and waits until its tasks run.
submit() {
    id=$(slurm sbatch --ignore-pbs --parsable "$1.sh")
    wait_for 120 grep -qs 'Starting task' "$1-$id.err"
}
# state_of ID: state and exit code when it is over.
state_of() {
    wait_for 90 ended "$1" >&2
    slurm scontrol show job "$1" | sed -nE 's/.*JobState=([A-Z]+) .*/\1/p; s/.* ExitCode=([0-9:]+).*/\1/p' | tr '\n' ' '
}
ended() { slurm scontrol show job "$1" | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)'; }
# process_of PATTERN NODE: process id, as the head sees it, of the first such process on the node.
process_of() {
    local pid
    for pid in $(slurm pgrep -f "$1"); do
        if [[ $(slurm nsenter -t "$pid" -u uname -n) == "$2" ]]; then
            echo "$pid"
            return
        fi
    done
    return 1
}

@test "a worker that is killed is told, and the job is computed by the others" {
    spark_job widow 0 4
    submit widow
    slurm kill -KILL "$(process_of 'deploy.worker.[W]orker' n2)"
    assert_equal "$(state_of "$id")" 'COMPLETED 0:0 '
    spark_log widow | grep -v INFO
    assert_equal "$(grep -h '^numbers' widow-*.out)" 'numbers [0, 1, 2, 3, 4, 5, 6, 7]'
    assert_file_contains "widow-$id.err" "Spark's worker on n2 ended with code 137"
    nothing_of_spark_left
}

@test "with no worker left the job fails, and says why" {
    spark_job alone 0 20
    submit alone
    slurm kill -KILL "$(process_of 'deploy.worker.[W]orker' n1)" "$(process_of 'deploy.worker.[W]orker' n2)"
    assert_equal "$(state_of "$id")" 'FAILED 143:0 '
    assert_file_contains "alone-$id.err" 'error: no worker of Spark is left'
    nothing_of_spark_left
}

@test "a driver that is killed ends the job with its code" {
    spark_job driverless 0 20
    submit driverless
    slurm kill -KILL "$(process_of 'deploy.[S]parkSubmit' n1)"
    assert_equal "$(state_of "$id")" 'FAILED 137:0 '
    nothing_of_spark_left
}

@test "a cancelled job leaves nothing" {
    spark_job cancelled 0 60
    submit cancelled
    slurm scancel "$id"
    assert_regex "$(state_of "$id")" '^CANCELLED '
    nothing_of_spark_left
}

@test "a job that runs into its time limit leaves nothing" {
    spark_job late 0 300
    sed -i 's/--time=.*/--time=00:01:00/' late.sh
    submit late
    wait_for 150 ended "$id"
    assert_regex "$(state_of "$id")" '^TIMEOUT '
    nothing_of_spark_left
}

@test "without tm the workers start over ssh, and end when the job is killed outright" {
    export SCHEDULER=torque
    spark_job by-ssh 5
    printf 'n1\nn1\nn1\nn2\nn2\nn2\n' >nodes
    printf '%s\n' "export PBS_JOBID=12.head PBS_O_WORKDIR=$PWD PBS_NODEFILE=$PWD/nodes SPARK_HOME=$SPARK_HOME" \
        "export PYTHONPATH=$PYTHONPATH PATH=$PATH" 'exec bash by-ssh.sh' >as-mom.sh
    sed -i 's/queue: batch//' by-ssh.yaml
    run slurm ssh n1 "cd $PWD && bash as-mom.sh"
    spark_log by-ssh
    assert_equal "$status" 5
    assert_equal "$(grep -h '^hosts' by-ssh-*.out)" 'hosts n1 n2'
    nothing_of_spark_left
    spark_job by-ssh 0 60
    rm by-ssh-*
    slurm ssh n1 "cd $PWD && bash as-mom.sh" &
    wait_for 120 grep -qs 'Starting task' by-ssh-12.err
    slurm kill -KILL "$(process_of '[b]y-ssh.sh' n1)"
    wait_for 30 no_spark_on_n2
}
no_spark_on_n2() { ! slurm ssh n2 ps -eo args | grep -qE '[o]rg.apache.spark'; }
