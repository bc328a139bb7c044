# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` by Slurm's own REST service with a token of each account, on a real API server and the real slurmrestd. No
# command of Slurm is called. Five minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash
load bridge_guest.bash

setup_file() {
    start_bridge_parts
    "$parts_dir/slurm" rest "$place" >&2
    # The service listens on the head node's loopback: each connection is passed on by a process in its network.
    cat >relay.py <<'PYTHON'
import socket, subprocess, sys
RELAY = """import os, socket, sys, threading
near, far = socket.socket(fileno=0), socket.create_connection(("127.0.0.1", 6820))
def copy(a, b):
    try:
        while data := a.recv(65536):
            if a is near:
                with open(sys.argv[1], "a") as file: file.write(data.split(b"\\r", 1)[0].decode(errors="replace") + "\\n")
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError: os._exit(0)
threading.Thread(target=copy, args=(near, far), daemon=True).start()
copy(far, near)"""
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    connection, _ = server.accept()
    subprocess.Popen(sys.argv[2:] + ["python3", "-c", RELAY, sys.argv[1]], stdin=connection, stdout=subprocess.DEVNULL)
    connection.close()
PYTHON
    python3 relay.py "$place/requests" "$parts_dir/slurm" net "$place" >relay.port 2>relay.log 3>&- &
    echo $! >relay.process
    wait_for 60 test -s relay.port
    slurm scontrol token username=guest lifespan=3600 | sed 's/SLURM_JWT=//' >guest.token
    slurm scontrol token lifespan=3600 | sed 's/SLURM_JWT=//' >root.token
    chmod 600 ./*.token
    write_rest guest.token
}
# write_rest TOKEN: bridge.yaml.
write_rest() {
    local way
    way="{slurmrestd: 'http://127.0.0.1:$(cat relay.port)', token-file: $1, records: $place/records}"
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'poll: 1 s' 'hand-over-patience: 4 s' "reader: $way" 'accounts:' \
        "  - {namespace: default, account: guest, workdir: $place/slurm/guest, way: $way}" >bridge.yaml
}
setup() {
    enter_nodes
    rm -f calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() {
    kill "$(cat "$place/relay.process")" || true
    stop_bridge_parts
}

@test "check sees the account's own token, and says whose another one is" {
    "$CYBELECTL" bridge check --config bridge.yaml >checked 2>&1 || true
    grep 'ok: account guest for namespace default, slurmrestd http' checked || { cat checked && return 1; }
    grep '^ok: queue: ' checked
    write_rest root.token
    run "$CYBELECTL" bridge check --config bridge.yaml
    assert_equal "$status" 5
    assert_output --partial 'the token for guest is that of root'
    # With it nothing is submitted.
    start_bridge one
    job foreign true
    wait_for 30 grep -q 'the token for guest is that of root' one.log
    sleep 3
    assert_equal "$(in_queue)$(field foreign .status.jobId)" ''
    stop_bridge one
    write_rest guest.token
    start_bridge one
    ends foreign Succeeded
    run ! grep -h 'eyJ' one.log
}

@test "by the service: one job of the account with its script byte for byte, ends with code and signal, deletion ends it first" {
    local id
    start_bridge one
    job good 'env >env.txt' 'while [ ! -e go ]; do sleep 0.5; done'
    job bad 'exit 3'
    job long "sleep 300.$unique"
    wait_for 40 reaches good Running
    id=$(field good .status.jobId)
    assert_equal "$(slurm squeue -h -j "$id" -o '%u %i')" "guest $id"
    slurm scontrol write batch_script "$id" "$place/written.sh"
    cmp written.sh <(kubectl get slurmjob good -o 'jsonpath={.spec.batch}')
    touch slurm/guest/go
    ends good Succeeded
    ends bad Failed
    assert_equal "$(field good .status.exitCode) $(field bad .status.exitCode) $(condition bad Failed reason)" '0 3 NonZeroExit'
    assert_equal "$(runs_of good) $(runs_of bad)" '1 1'
    run ! grep -E 'KUBE|TOKEN|JWT' slurm/guest/env.txt
    wait_for 40 reaches long Running
    id=$(field long .status.jobId)
    kubectl delete slurmjob long --wait=true --timeout=60s
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    assert_equal "$(in_queue)" ''
    assert_file_not_exist calls # no command of Slurm
}

@test "killed again and again, the bridge runs each job once by the service too, and makes the folder of the records itself" {
    local one
    rm -rf records
    for one in $(seq 12); do job "often-$one" true; done
    for one in 1 2 3; do
        start_bridge one
        wait_for 60 grep -q Leading one.log
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
        stop_bridge one KILL
        mv one.log "killed-$one.log"
    done
    start_bridge one
    wait_for 60 grep -q Leading one.log # when the Lease of the killed one has expired
    for one in $(seq 12); do ends "often-$one" Succeeded 180; done
    assert_equal "$(grep '^often' slurm/guest/ran | sort | uniq -c | awk '$1 != 1')" ''
    assert_equal "$(in_queue)" ''
    test -d records/guest
}

@test "jobs that vanished are asked for together: one request for any number of them" {
    local one polls lists count=6
    # Slurm forgets an end at once, and the bridge waits 5 s for what it does not show.
    sed -i 's/^ClusterName/MinJobAge=2\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
    cp site.yaml usual.yaml
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: {dialect: slurm, patience: 5 s}' 'queues: [{name: batch, nodes: 2, max-time: 1 h}]' >site.yaml
    start_bridge one
    for one in $(seq $count); do directive='#SBATCH --mem=10' job "gone-$one" 'while [ ! -e may-vanish ]; do sleep 0.5; done'; done
    for one in $(seq $count); do wait_for 120 reaches "gone-$one" Running || { cat one.log && return 1; }; done
    stop_bridge one
    touch slurm/guest/may-vanish
    are_forgotten() { [[ $(slurm scontrol -o show job 2>/dev/null | grep -c JobId) == 0 ]]; }
    wait_for 240 are_forgotten
    rm -f requests
    start_bridge two
    for one in $(seq $count); do ends "gone-$one" Unknown 180; done
    stop_bridge two
    for one in $(seq $count); do assert_equal "$(condition "gone-$one" Failed reason)" LeftNoTrace; done
    # The reader's list and the account's, and no request for a single job.
    polls=$(grep -oE '[0-9]+ queries of the queue' two.log | cut -d' ' -f1)
    lists=$(grep -c 'GET /slurm/v0.0.[0-9]*/jobs' requests)
    echo "$count jobs were missing: $polls polls, $lists lists of all jobs" >&3
    assert_equal "$(grep -c 'GET /slurm/v0.0.[0-9]*/job/' requests)" 0
    ((lists > polls && lists <= 2 * polls))
    sed -i '/^MinJobAge/d' slurm/slurm.conf
    slurm scontrol reconfigure
    mv usual.yaml site.yaml
}

# of_root NAME PATH: of the object in the namespace other, whose account has a good token.
of_root() { kubectl get slurmjob -n other "$1" -o "jsonpath={$2}"; }

@test "a token that has expired or whose file is gone: each object of its account says so, the other account goes on, and nothing is lost" {
    local id way
    kubectl create namespace other
    mkdir -p records/guest records/root
    way="slurmrestd: 'http://127.0.0.1:$(cat relay.port)', records: $place/records"
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'poll: 1 s' 'hand-over-patience: 4 s' "reader: {$way, token-file: root.token}" 'accounts:' \
        "  - {namespace: default, account: guest, workdir: $place/slurm/guest, way: {$way, token-file: short.token}}" \
        "  - {namespace: other, account: root, workdir: $place/work, way: {$way, token-file: root.token}}" >bridge.yaml
    slurm scontrol token username=guest lifespan=25 | sed 's/SLURM_JWT=//' >short.token
    start_bridge one
    job early 'while [ ! -e early-may-end ]; do sleep 0.5; done'
    job doomed "sleep 300.$unique"
    wait_for 30 reaches early Running || { cat one.log && return 1; }
    wait_for 30 reaches doomed Running
    id=$(field doomed .status.jobId)
    is_expired() { (($(date +%s) > $(stat -c %Y short.token) + 27)); }
    wait_for 60 is_expired
    job late true
    kubectl delete slurmjob doomed --wait=false
    wait_for 40 is_hindered late Submitted || { kubectl get slurmjob late -o yaml && cat one.log && return 1; }
    wait_for 40 is_hindered doomed Cancelling || { kubectl get slurmjob doomed -o yaml && cat one.log && return 1; }
    assert_equal "$(slurm squeue -h -j "$id" -o %T)" RUNNING
    # The file is gone: the same reason, other words. A job of the other account and one that runs are not concerned.
    rm short.token
    touch slurm/guest/early-may-end
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: good, namespace: other}' \
        "spec: {batch: \"#!/bin/sh\n#SBATCH --output=$place/work/good.out\necho fine\n\"}" | kubectl create -f -
    has_ended() { [[ $(of_root good .status.status) == Succeeded ]]; }
    wait_for 40 has_ended || { cat one.log && return 1; }
    ends early Succeeded
    job later true
    wait_for 40 is_hindered later Submitted
    assert_equal "$(field later .status.jobId)$(field late .status.jobId)" ''
    slurm scontrol token username=guest lifespan=3600 | sed 's/SLURM_JWT=//' >new.token
    mv new.token short.token
    ends late Succeeded 90
    ends later Succeeded
    is_gone() { ! kubectl get slurmjob doomed 2>/dev/null; }
    wait_for 60 is_gone
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    assert_equal "$(runs_of early) $(runs_of doomed) $(runs_of late) $(runs_of later)" '1 1 1 1'
    assert_equal "$(condition late Submitted status)" True
    run ! grep -h 'eyJ' one.log
    run ! grep eyJ <(kubectl get slurmjobs,events -A -o yaml)
    kubectl delete namespace other --wait=true --timeout=60s
    write_rest guest.token
}
