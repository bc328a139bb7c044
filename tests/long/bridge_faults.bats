# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` with the rights of `bridge install` and no more, killed at each of its steps, and while Slurm does not answer: each
# job runs once. Eight minutes, most of them waits for the Lease of a bridge that was killed.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() {
    export BATS_TEST_TIMEOUT=900 # five times 30 s for the Lease of a bridge that was killed, and 40 jobs
    start_bridge_parts
    echo 'namespaces: [default]' >>bridge.yaml
    install_rights
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log before-*
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

@test "killed before, during and after each call of Slurm, the bridge runs each job once" {
    local step name
    for step in sbatch-before sbatch-after scontrol-before scontrol-after; do
        name=${step%-*}
        rm -f before-*
        # The first call kills the bridge; after it the call is made, or not.
        printf '%s\n' '#!/bin/sh' "mv '$place/before-$name' '$place/used-$step'" \
            "[ $step = $name-before ] || PATH='$PATH' '$parts_dir/slurm' exec '$place' $name \"\$@\" >/dev/null" \
            "kill -KILL \$(cat '$place/one.pid')" 'exit 1' >"before-$name"
        chmod +x "before-$name"
        start_bridge one
        job "$step"
        is_killed() { [[ -e used-$step ]] && ! kill -0 "$(cat one.pid)" 2>/dev/null; }
        wait_for 30 is_killed
        stop_bridge one
        start_bridge one
        ends "$step" Succeeded 60
        stop_bridge one
        assert_equal "$(runs_of "$step")" 1
    done
    assert_equal "$(in_queue)" '' # no held twin
}

@test "killed again and again at random moments, the bridges run each of 40 jobs once" {
    local one ids
    for one in $(seq 40); do job "often-$one"; done
    for one in 1 2 3 4 5; do
        start_bridge one
        wait_for 60 grep -q Leading one.log
        sleep "$((RANDOM % 3)).$((RANDOM % 10))"
        stop_bridge one KILL
        rm one.log
    done
    start_bridge one
    for one in $(seq 40); do ends "often-$one" Succeeded 120; done
    assert_equal "$(sort ran | uniq -c | awk '$1 != 1')" ''
    assert_equal "$(wc -l <ran)" 40
    assert_equal "$(in_queue)" ''
    ids=$(kubectl get slurmjobs -o 'jsonpath={range .items[*]}{.status.jobId}{"\n"}{end}')
    assert_equal "$(sort <<<"$ids" | uniq -d)" ''
}

@test "while Slurm does not answer, no object changes, the Lease is kept, and afterwards all is right" {
    local before
    start_bridge one
    job patient "sleep 5.$unique"
    wait_for 30 reaches patient Running
    slurm_signal() { "$parts_dir/slurm" signal "$place" "$1"; }
    slurm_signal STOP
    before=$(field patient .metadata.resourceVersion)
    job later
    sleep 40
    assert_equal "$(field patient .metadata.resourceVersion)" "$before"
    assert_equal "$(field later .status.jobId)" ''
    assert_equal "$(grep -c Standby one.log)" 0
    slurm_signal CONT
    ends patient Succeeded 90
    ends later Succeeded 60
    assert_equal "$(runs_of patient) $(runs_of later)" '1 1'
}

@test "sbatch that hands over, then says that the socket timed out: one job" {
    printf '%s\n' '#!/bin/sh' "PATH='$PATH' '$parts_dir/slurm' exec '$place' sbatch \"\$@\" >/dev/null" \
        "rm '$place/before-sbatch'" 'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2' 'exit 1' \
        >before-sbatch
    chmod +x before-sbatch
    start_bridge one
    job doubtful
    ends doubtful Succeeded 60
    assert_equal "$(asked sbatch) $(runs_of doubtful)" '1 1'
}

@test "words of sbatch beside a good id: the job is accepted, and the words are in its Event, without secrets" {
    printf '%s\n' '#!/bin/sh' 'echo "sbatch: lua: the queue is busy until noon, eyJhbGciOiJIUzI1NiJ9.e30.x" >&2' 'exit 0' >before-sbatch
    chmod +x before-sbatch
    start_bridge one
    job talked
    ends talked Succeeded 60
    assert_equal "$(asked sbatch) $(runs_of talked)" '1 1'
    told() { kubectl get events -o json | jq -r '.items[] | select(.involvedObject.name == "talked" and .reason == "Submitted") | .message'; }
    is_told() { [[ $(told) == *'the queue is busy until noon, ***'* ]]; }
    wait_for 20 is_told || { told && return 1; }
}
