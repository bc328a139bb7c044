# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` while Slurm or the API server is away for five minutes, and how long ends take to reach the status. A quarter of
# an hour; CYBELE_OUTAGE is another number of seconds.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

outage=${CYBELE_OUTAGE:-300}

setup_file() {
    export BATS_TEST_TIMEOUT=$((outage + 600)) # an outage, and what follows it
    start_bridge_parts
    # Slurm forgets ends after a minute.
    sed -i 's/^ClusterName/MinJobAge=60\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log before-*
    write_bridge
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

events_of() { kubectl get events -o json | jq --arg name "$1" '[.items[] | select(.involvedObject.name == $name)] | length'; }
# server: the process of the API server.
server() { pgrep -P "$(cat kubernetes/pid)" -f kube-apiserver; }

@test "Slurm away for five minutes: no object changes, at most one Event each, at most eight calls; then all is right within two polls" {
    local one start
    sed -i 's/poll: 1 s/poll: 15 s/' bridge.yaml
    start_bridge one
    for one in 1 2 3; do job "long-$one" "sleep 5.$unique; while [ ! -e $place/over ]; do sleep 1; done"; done
    for one in 1 2 3; do wait_for 90 reaches "long-$one" Running; done
    sleep 2
    "$parts_dir/slurm" signal "$place" STOP
    sleep 1
    kubectl get slurmjobs -o json | jq '[.items[] | {(.metadata.name): .status}]' >before.json
    rm -f calls
    touch over # the jobs end while nobody can be asked
    sleep "$outage"
    echo "calls while Slurm was away: $(sort calls | uniq -c | tr -s ' \n' ' ')" >&3
    (($(grep -vc '^$' calls) <= 8))
    kubectl get slurmjobs -o json | jq '[.items[] | {(.metadata.name): .status}]' | diff before.json -
    for one in 1 2 3; do (($(events_of "long-$one") <= 2)); done # Submitted, and one of trouble at most
    "$parts_dir/slurm" signal "$place" CONT
    start=$SECONDS
    for one in 1 2 3; do ends "long-$one" Succeeded 120; done
    echo "right $((SECONDS - start)) s after Slurm was back" >&3
    assert_equal "$(sort ran | uniq -c | awk '$1 != 1')" ''
    kubectl delete slurmjobs --all --wait=true --timeout=60s
}

@test "the API server away for five minutes, while jobs end that Slurm forgets after one: ends and codes are right" {
    local one pid good
    start_bridge one
    job good "while [ ! -e $place/go ]; do sleep 1; done"
    job bad "while [ ! -e $place/go ]; do sleep 1; done" 'exit 7'
    job killed "while [ ! -e $place/go ]; do sleep 1; done" 'kill -9 $$'
    for one in good bad killed; do wait_for 60 reaches "$one" Running; done
    good=$(field good .status.jobId)
    pid=$(server)
    kill -STOP "$pid"
    touch go
    sleep "$outage"
    assert_equal "$(in_queue)" ''
    ((outage < 120)) || run ! slurm scontrol show job "$good" # Slurm has forgotten it
    kill -CONT "$pid"
    ends good Succeeded 180
    ends bad Failed 60
    ends killed Failed 60
    assert_equal "$(field good .status.exitCode) $(field bad .status.exitCode) $(field killed .status.signal)" '0 7 9'
    assert_equal "$(condition bad Failed reason) $(condition killed Failed reason)" 'NonZeroExit Signal'
    for one in good bad killed; do assert_equal "$(runs_of "$one")" 1; done
    kubectl delete slurmjobs --all --wait=true --timeout=60s
}

@test "of 200 jobs, 99 in 100 have their end in the status within poll and two seconds" {
    local one
    sed -i 's/poll: 1 s/poll: 5 s/' bridge.yaml
    start_bridge one
    kubectl get slurmjobs -w -o 'jsonpath={.metadata.name} {.status.status}{"\n"}' 2>watch.errors 3>&- |
        python3 -u -c 'import sys, time
for line in sys.stdin:
    if line.endswith(" Succeeded\n"): print(line.split()[0], int(time.time() * 1000))' >seen 3>&- &
    for one in $(seq 200); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: timed-$one}" 'spec:' '  batch: |' \
            '    #!/bin/sh' '    #SBATCH --output=/dev/null --mem=10' "    sleep $((one % 7)).$((one % 10))" \
            "    echo timed-$one \$(date +%s%3N) >>$place/ended"
    done | kubectl create -f - >&2
    are_seen() { (($(sort -u -k 1,1 seen | wc -l) == 200)); }
    wait_for 500 are_seen || { tail -n 20 one.log && return 1; }
    # How long after the script's last line the status had it; Slurm's own completion is part of that.
    join <(sort -u -k 1,1 ended) <(sort -u -k 1,1 seen) | awk '{ print $3 - $2 }' | sort -n >late
    echo "ms from the end on the cluster to the status: median $(sed -n 100p late), 99th of 100 $(sed -n 198p late), longest $(sed -n 200p late)" >&3
    assert_equal "$(wc -l <late)" 200
    (($(sed -n 198p late) <= 7000))
}

@test "a query of the queue that fails immediately is repeated less and less often, and no object changes" {
    start_bridge one
    job stays "while [ ! -e $place/may-end ]; do sleep 0.5; done"
    wait_for 60 reaches stays Running
    printf '%s\n' '#!/bin/sh' 'exit 1' >before-squeue
    chmod +x before-squeue
    wait_for 30 grep -q 'the batch system does not answer' one.log
    rm -f calls
    sleep 60
    echo "queries within a minute, at a poll of 1 s: $(asked squeue)" >&3
    (($(asked squeue) >= 1 && $(asked squeue) <= 14))
    assert_equal "$(field stays .status.status)" Running
    rm before-squeue
    touch may-end
    ends stays Succeeded 120
    kubectl delete slurmjobs --all --wait=true --timeout=60s
}
