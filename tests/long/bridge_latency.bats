# SPDX-License-Identifier: Apache-2.0
# How long objects take to reach the queue, and the ends of jobs to reach the status, where the accounts of the bridge are reached by ssh:
# a real API server, a real Slurm, and the sshd of its head node. Nine minutes.
# shellcheck disable=SC2154 # place is of suite.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash
load ../cluster/bridge_sshd.bash

setup_file() {
    export BATS_TEST_TIMEOUT=900
    start_bridge_parts
    slurm scontrol update partitionname=batch OverSubscribe=FORCE:16 # 128 jobs at the same time
    start_sshd
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'poll: 5 s' 'hand-over-patience: 4 s' \
        "reader: {ssh: root@127.0.0.1, key: $place/keys/root}" 'accounts:' \
        "  - {namespace: default, account: guest, way: {ssh: guest@127.0.0.1, key: $place/keys/guest}, workdir: $place/slurm/guest}" \
        >bridge.yaml
}
setup() {
    [[ $(id -u) == 0 ]] || skip 'only root can be two users'
    enter_nodes
    PATH=$place/ways:$PATH
    rm -f ./*.log seen slurm/guest/ended
}
teardown() {
    stop_bridges
    kubectl delete slurmjobs --all --wait=false
}
teardown_file() {
    stop_sshd
    stop_bridge_parts
}

# jobs PREFIX COUNT LINE…: creates that many SlurmJobs of guest. NUMBER in a line is the number of the object.
jobs() {
    local one
    for one in $(seq "$2"); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1-$one}" 'spec:' '  batch: |' \
            '    #!/bin/sh' "    #SBATCH --output=$place/slurm/guest/$1-$one.out --mem=10" "    echo begins"
        printf '    %s\n' "${@:3}" "echo $1-$one \$(date +%s%3N) >>$place/slurm/guest/ended" | sed "s/NUMBER/$one/g"
    done | kubectl create -f - >&2
}
# watch_ends: into `seen`, when the status had the end of each.
watch_ends() {
    kubectl get slurmjobs -w -o 'jsonpath={.metadata.name} {.status.status}{"\n"}' 2>watch.errors 3>&- |
        python3 -u -c 'import sys, time
for line in sys.stdin:
    if line.endswith(" Succeeded\n"): print(line.split()[0], int(time.time() * 1000))' >seen 3>&- &
}
# phases PHASE: how many objects are in it.
phases() { kubectl get slurmjobs -o 'jsonpath={range .items[*]}{.status.status}{"\n"}{end}' | grep -cx "$1" || true; }
# are_seen PREFIX COUNT
are_seen() { (($(grep "^$1-" seen | sort -u -k 1,1 | wc -l) == $2)); }
# in_time PREFIX COUNT MOST: 99 of 100 had their end in the status within MOST milliseconds from their script's last line on; what Slurm
# takes to complete a job is part of that.
in_time() {
    local last=$((($2 * 99 + 99) / 100))
    wait_for 300 are_seen "$1" "$2" || { tail -n 20 one.log && return 1; }
    join <(sort -u -k 1,1 slurm/guest/ended) <(sort -u -k 1,1 seen) | grep "^$1-" | awk '{ print $3 - $2 }' | sort -n >late
    echo "$1: ms from the end on the cluster to the status: median $(sed -n "$(($2 / 2))p" late)," \
        "$last of $2 within $(sed -n "${last}p" late), longest $(tail -n 1 late)" >&3
    assert_equal "$(wc -l <late)" "$2"
    (($(sed -n "${last}p" late) <= $3))
}
# all_run PREFIX: 100 jobs, which wait for the file PREFIX-may-end.
all_run() {
    jobs "$1" 100 "while [ ! -e $place/$1-may-end ]; do sleep 1; done" "${@:2}"
    are_running() { (($(phases Running) == 100)); }
    wait_for 300 are_running || { tail -n 20 one.log && return 1; }
    sleep 5 # what was written until now does not count
}

@test "of 100 jobs that end one after the other, 99 have their end in the status within poll and two seconds" {
    start_bridge one
    watch_ends
    all_run spread 'sleep $((NUMBER % 20)).$((NUMBER % 10))'
    touch spread-may-end
    in_time spread 100 7000
}

@test "of 100 jobs that end at the same time, 99 have their end in the status within poll and two seconds" {
    start_bridge one
    watch_ends
    all_run together
    touch together-may-end
    in_time together 100 7000
}

@test "of 200 jobs that end while others are handed over, 99 in 100 have their end in the status within poll and two seconds" {
    start_bridge one
    watch_ends
    jobs mixed 200 'sleep $((NUMBER % 7)).$((NUMBER % 10))'
    in_time mixed 200 7000
}

@test "each of ten objects that are created one after the other is in the queue within poll and five seconds" {
    local one made submitted most=0
    start_bridge one
    for one in $(seq 10); do
        jobs "quick-$one" 1 true
        sleep "$((RANDOM % 4)).$((RANDOM % 10))"
    done
    has_ended() { [[ $(field "quick-$1-1" .status.status) == Succeeded ]]; }
    for one in $(seq 10); do
        wait_for 120 has_ended "$one" || { cat one.log && return 1; }
        made=$(date -d "$(field "quick-$one-1" .metadata.creationTimestamp)" +%s)
        submitted=$(date -d "$(slurm squeue -h -t all -j "$(field "quick-$one-1" .status.jobId)" -o %V)" +%s)
        ((submitted - made <= most)) || most=$((submitted - made))
    done
    echo "from the creation of an object to its submission: at most $most s" >&3
    ((most <= 10))
}
