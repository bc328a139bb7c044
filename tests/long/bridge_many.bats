# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` with 10,000 live objects on a real API server. The queue of that length is written by the test, in squeue's
# columns. Ten minutes, most of them for making the objects. CYBELE_BRIDGE_OBJECTS is another number.
# shellcheck disable=SC2154 # place and parts_dir are of suite.bash
load ../parts/suite.bash

count=${CYBELE_BRIDGE_OBJECTS:-10000}

setup_file() {
    export BATS_TEST_TIMEOUT=900
    enter_place
    export place user KUBECONFIG=$place/kubernetes/kubeconfig
    user=$(id -un)
    printf '%s\n' 'apiVersion: audit.k8s.io/v1' 'kind: Policy' 'omitStages: [RequestReceived]' 'rules: [{level: Metadata}]' >policy.yaml
    APISERVER_OPTIONS="--audit-policy-file=$place/policy.yaml --audit-log-path=$place/audit.log" "$parts_dir/kubernetes" start "$place" >&2
    "$CYBELECTL" kube crd SlurmJob | kubectl apply -f - >&2
    wait_for 30 kubectl wait --for=condition=Established crd/slurmjobs.cybelectl.io --timeout=10s
    mkdir commands work
    printf '%s\n' '#!/bin/sh' "echo squeue >>'$place/calls'" "cat '$place/queue'" >commands/squeue
    printf '%s\n' '#!/bin/sh' 'exit 1' | tee commands/scancel commands/scontrol >commands/sacct
    printf '%s\n' '#!/bin/sh' 'echo "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified" >&2' \
        'exit 1' >commands/sbatch
    chmod +x commands/*
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: slurm' >site.yaml
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'accounts:' \
        "  - {namespace: default, account: $user, workdir: $place/work}" >bridge.yaml
}
teardown_file() {
    [[ ! -e bridge.pid ]] || kill -TERM "$(cat bridge.pid)" || true
    "$parts_dir/kubernetes" stop "$place"
    leave_place
}

kubectl() { "$parts_dir/kubernetes" kubectl 1.34 "$@"; }
# peak PID: kilobytes of memory that the process had at the most.
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
# requests_of SECONDS: of the bridge to the API server in the last seconds, watches that were begun included.
requests() { grep -c '"userAgent":"[^"]*cybelectl' audit.log; }

@test "10,000 live objects: memory, the first decision, requests and queries while nothing happens" {
    local start listing before helper calls
    "$parts_dir/bridge-load" "$KUBECONFIG" "$count" queue "$user"
    # One more object, which asks for the first decision: nobody has claimed it.
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: fresh}' 'spec: {batch: "#!/bin/sh\ntrue\n"}' |
        kubectl create -f -
    start=$(date +%s%3N)
    for _ in $(seq "$((count / 500 + 1))"); do kubectl get --raw '/apis/cybelectl.io/v1alpha1/slurmjobs?limit=500' >/dev/null; done
    listing=$(($(date +%s%3N) - start))
    start=$(date +%s%3N)
    PATH=$place/commands:$PATH "$CYBELECTL" bridge run --config bridge.yaml >log 2>&1 3>&- &
    echo $! >bridge.pid
    wait_for 300 grep -q 'default/fresh Claimed' log || { cat log && return 1; }
    echo "first decision after $(($(date +%s%3N) - start)) ms; $count objects in pages by kubectl: $listing ms" >&3
    (($(date +%s%3N) - start <= 10000 + 2 * listing))
    sleep 45 # the fresh one is refused by sbatch, and over
    before=$(requests)
    rm -f calls
    sleep 60
    calls=$(grep -c squeue calls)
    helper=$(pgrep -P "$(cat bridge.pid)" -f cybelectl-http)
    echo "idle: $(($(requests) - before)) requests and $calls queries of the queue per minute; memory: $(peak "$(cat bridge.pid)") KiB, helper $(peak "$helper") KiB" >&3
    (($(requests) - before <= 15))
    ((calls <= 4))
    (($(peak "$(cat bridge.pid)") <= 65536))
    grep '"verb":"patch"' audit.log | grep -c '"userAgent":"[^"]*cybelectl' # none of the 10,000 was written
    (($(grep '"verb":"patch"' audit.log | grep '"userAgent":"[^"]*cybelectl' | grep -c 'slurmjobs/live-') == 0))
}
