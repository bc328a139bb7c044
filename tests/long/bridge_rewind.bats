# SPDX-License-Identifier: Apache-2.0
# etcd of a real API server is restored to the past under a running bridge. Five minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() { start_bridge_parts; }
setup() {
    enter_nodes
    rm -f ran calls ./*.log
    kubectl delete slurmjobs --all --wait=true --timeout=60s
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# down: ends API server and etcd, and keeps their files.
down() {
    local pid
    pid=$(cat kubernetes/pid)
    kill -TERM "$pid"
    is_down() { ! kill -0 "$pid" 2>/dev/null; }
    wait_for 60 is_down
}
# up: starts them at the same ports.
up() {
    local server peer
    server=$(grep -o '127.0.0.1:[0-9]*' kubernetes/kubeconfig | cut -d : -f 2)
    peer=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    setsid "$parts_dir/kubernetes" --supervise "$place/kubernetes" "$PPID" "$(cat kubernetes/etcd.port)" "$peer" "$server" \
        >>kubernetes/log/supervisor 2>&1 </dev/null 3>&- &
    echo $! >kubernetes/pid
    is_up() { kubectl get --raw /readyz && kubectl get slurmjobs; }
    wait_for 120 is_up
}

@test "after etcd was restored to the past no job runs again, and none is cancelled because its object is missing" {
    local id one
    start_bridge one
    job runs 'sleep 45'
    wait_for 60 reaches runs Running
    stop_bridge one
    job unclaimed # exists in the backup, and the bridge has not seen it
    down
    cp -a kubernetes/etcd backup
    up
    start_bridge one
    ends unclaimed Succeeded 60
    kubectl delete slurmjob unclaimed --wait=true --timeout=30s
    job younger "sleep 300.$unique"
    wait_for 30 reaches younger Running
    id=$(field younger .status.jobId)
    for one in 1 2 3 4 5 6 7 8; do kubectl annotate slurmjob younger --overwrite "turn=$one"; done # the revision goes on
    down
    rm -rf kubernetes/etcd
    mv backup kubernetes/etcd
    up
    wait_for 120 grep -q 'Rewound: the API server was ' one.log || { cat one.log && return 1; }
    wait_for 60 grep -q 'Compared' one.log
    is_annotated() { [[ $(kubectl get lease -A --field-selector metadata.name=cybelectl-bridge-test -o 'jsonpath={.items[0].metadata.annotations.cybelectl\.io/rewound}') == 20*Z ]]; }
    wait_for 20 is_annotated
    assert_equal "$(kubectl get events -A -o 'jsonpath={.items[?(@.reason=="Rewound")].involvedObject.name}')" cybelectl-bridge-test
    run ! kubectl get slurmjob younger
    # What came back is settled by its record: it ran once.
    is_settled() { [[ $(condition unclaimed Complete status)$(condition unclaimed Failed status) == True ]]; }
    wait_for 60 is_settled
    ends runs Succeeded 90
    assert_equal "$(runs_of unclaimed) $(runs_of runs) $(runs_of younger)" '1 1 1'
    assert_equal "$(slurm squeue -h -j "$id" -o %T)" RUNNING
    run -0 as_bridge "$CYBELECTL" bridge orphans
    assert_output --partial "job $id of $user, RUNNING, of default/younger"
    run -0 as_bridge "$CYBELECTL" bridge orphans --cancel
    assert_equal "$(in_queue)" ''
}

@test "a restore whose revision is higher again before the bridge looks: the Lease shows it, and what came back is settled" {
    local before pid seen=0
    start_bridge one
    job ended
    ends ended Succeeded 60
    job runs 'sleep 60'
    wait_for 60 reaches runs Running
    stop_bridge one
    job unclaimed # exists in the backup, and the bridge has not seen it
    down
    cp -a kubernetes/etcd backup
    up
    start_bridge one
    ends unclaimed Succeeded 60
    kubectl delete slurmjob ended unclaimed --wait=true --timeout=30s
    before=$(kubectl get --raw '/apis/cybelectl.io/v1alpha1/slurmjobs?limit=1' | jq -r .metadata.resourceVersion)
    pid=$(cat one.pid)
    kill -STOP "$pid"
    down
    rm -rf kubernetes/etcd
    mv backup kubernetes/etcd
    up
    while ((seen <= before + 50)); do
        for _ in $(seq 50); do printf '%s\n' --- 'apiVersion: v1' 'kind: ConfigMap' 'metadata: {generateName: noise-}'; done | kubectl create -f - >&2
        seen=$(kubectl get --raw '/apis/cybelectl.io/v1alpha1/slurmjobs?limit=1' | jq -r .metadata.resourceVersion)
    done
    kill -CONT "$pid"
    wait_for 90 grep -q 'Rewound: the API server was put back to an earlier state, as its Lease shows' one.log || { cat one.log && return 1; }
    wait_for 60 grep -q 'Compared' one.log
    run ! grep 'Rewound: the API server was at revision' one.log # it could not be seen there
    is_settled() { [[ $(condition unclaimed Complete status)$(condition unclaimed Failed status) == True ]]; }
    wait_for 60 is_settled || { kubectl get slurmjob unclaimed -o yaml && cat one.log && return 1; }
    ends runs Succeeded 120
    assert_equal "$(runs_of ended) $(runs_of unclaimed) $(runs_of runs)" '1 1 1'
    kubectl delete slurmjobs --all --wait=true --timeout=60s
    assert_equal "$(in_queue)" ''
}
