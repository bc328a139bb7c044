# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` between a real API server and real TORQUE and OpenPBS servers: TorqueJobs to jobs of alice, and back. Three minutes
# for each server. The bridge runs on this machine; its login on the head node is a command in place of ssh, since that node has a network
# of its own.
# shellcheck disable=SC2154,SC2317 # product and given are of servers.bash; functions for wait_for
load ../parts/suite.bash
load servers.bash

setup_file() {
    start_servers
    export KUBECONFIG=$place/kubernetes/kubeconfig
    "$parts_dir/kubernetes" start "$place" >&2
    "$CYBELECTL" kube crd TorqueJob | kubectl apply -f - >&2
    wait_for 30 kubectl wait --for=condition=Established crd/torquejobs.cybelectl.io --timeout=10s
    mkdir ways
}
teardown() { stop_bridge; }
teardown_file() {
    "$parts_dir/kubernetes" stop "$place"
    stop_servers
}

kubectl() { "$parts_dir/kubernetes" kubectl 1.34 "$@"; }

# serves CASE ARGUMENT…: the case, in a namespace of the server; its documents are in DIR/PRODUCT.ways.
serves() {
    ways=$place/$product.ways home=$place/$product/home
    [[ -e $ways ]] || {
        mkdir "$ways"
        kubectl create namespace "$product"
        server mkdir -p "$home/work" "$home/results"
        # shellcheck disable=SC2016 # of the script that is written
        printf '%s\n' '#!/bin/bash' 'case $1 in -O) exit 0 ;; esac' \
            "exec '$parts_dir/batch-server' exec '$place' $product sh -c \"\${!#}\"" >"$ways/ssh"
        chmod +x "$ways/ssh"
        # Patience: how long a job that the server has forgotten is waited for.
        printf '%s\n' 'kind: Site' 'name: here' "scheduler: {dialect: $dialect, patience: 10 s}" \
            'kubernetes: {bridge: cybelectl, kind: TorqueJob}' >"$ways/site.yaml"
        printf '%s\n' 'kind: Bridge' "name: $product" 'site: site.yaml' "namespaces: [$product]" 'poll: 1 s' 'hand-over-patience: 4 s' \
            'accounts:' "  - {namespace: $product, account: alice, way: {ssh: alice@head}, workdir: $home/work, results-roots: [$home/results]}" \
            >"$ways/bridge.yaml"
    }
    cd "$ways" || return
    server rm -f "$home/ran"
    "$@" || { cat "$ways/log" && return 1; }
    stop_bridge
}

# start_bridge: in the background.
start_bridge() {
    PATH=$ways:$PATH "$CYBELECTL" bridge run --config "$ways/bridge.yaml" >"$ways/log" 2>&1 3>&- &
    echo $! >"$place/bridge.pid"
    wait_for 90 grep -q Leading "$ways/log"
}
# stop_bridge [SIGNAL]
stop_bridge() {
    local pid
    [[ -e $place/bridge.pid ]] || return 0
    pid=$(cat "$place/bridge.pid")
    rm "$place/bridge.pid"
    kill -s "${1:-TERM}" "$pid" 2>/dev/null || return 0
    wait "$pid" 2>/dev/null || true
}

# torque_job NAME MORE LINE…: a TorqueJob whose script has these lines; MORE is a further line of the spec.
torque_job() {
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: TorqueJob' "metadata: {name: $1, namespace: $product}" 'spec:'
        [[ -z $2 ]] || printf '  %s\n' "$2"
        printf '%s\n' '  batch: |' '    #!/bin/sh' '    #PBS -l nodes=1:ppn=1,walltime=00:05:00' "    echo $1 >>$home/ran"
        printf '    %s\n' "${@:3}"
    } >"$1.yaml"
    kubectl apply -f "$1.yaml"
}
field() { kubectl get torquejob -n "$product" "$1" -o "jsonpath={$2}"; }
condition() { field "$1" ".status.conditions[?(@.type==\"$2\")].$3"; }
reaches() { [[ $(field "$1" .status.status) == "$2" ]]; }
is_released() { [[ -z $(field "$1" .metadata.finalizers) ]]; } # after the status of the end is written
# ends NAME PHASE: on a server that forgets, nothing says how a script ended that was submitted as it is: then its end is Unknown.
ends() {
    local phase=$2
    [[ -z ${CYBELE_SERVERS_FORGET:-} ]] || phase=Unknown
    reaches_end "$1" "$phase" && [[ $phase != Unknown || $(condition "$1" Failed reason) == LeftNoTrace ]]
}
reaches_end() { wait_for 90 reaches "$1" "$2" || { kubectl get torquejob -n "$product" "$1" -o yaml && return 1; }; }
# ended_with NAME REASON FIELD VALUE: as the server says it, where it does.
ended_with() { [[ -n ${CYBELE_SERVERS_FORGET:-} ]] || assert_equal "$(condition "$1" Failed reason) $(field "$1" ".status.$3")" "$2 $4"; }
runs_of() { grep -cx "$1" "$home/ran" || true; }
# live: ids of jobs that have not ended.
live() { server qstat 2>/dev/null | awk '/^[0-9]/ && $5 !~ /^[CFX]$/ { print $1 }'; }

one_job_and_its_end() {
    local id
    start_bridge
    torque_job good '' 'echo hello' 'id -un' 'sleep 2'
    ends good Succeeded
    id=$(field good .status.jobId)
    [[ $id == [0-9]*.head ]]
    assert_equal "$(runs_of good) $(field good .status.account)" '1 alice'
    [[ -n ${CYBELE_SERVERS_FORGET:-} ]] || assert_equal "$(field good .status.exitCode)" 0
    assert_equal "$(cat "$home/work/good.o${id%%.*}")" $'hello\nalice'
    local records=$home/work
    records+=/.cybelectl
    assert_equal "$(cat "$records/$(field good .metadata.uid)/claim-1/job.sh")" "$(field good .spec.batch)"
    [[ $(field good .status.endTime) == 20*Z ]]
    [[ -n ${CYBELE_SERVERS_FORGET:-} || $(field good .status.startTime) == 20*Z ]]
    kubectl wait --for=condition="$([[ -n ${CYBELE_SERVERS_FORGET:-} ]] && echo Failed || echo Complete)" "torquejob/good" -n "$product" --timeout=5s
    wait_for 5 is_released good
    torque_job bad '' 'exit 3'
    torque_job killed '' 'kill -9 $$'
    ends bad Failed
    ends killed Failed
    ended_with bad NonZeroExit exitCode 3
    ended_with killed Signal signal 9
    torque_job refused 'queue: nosuch' true
    reaches_end refused Failed
    assert_equal "$(condition refused Failed reason)" Refused
    [[ $(condition refused Failed message) == *[Qq]ueue* ]]
}
rendered_script_ends() {
    local code
    start_bridge
    for code in 0 5; do
        printf '%s\n' 'kind: Job' "name: code-$code" "script: echo said; exit $code" 'resources: {time: 2 min}' >"code-$code.yaml"
        "$CYBELECTL" kube render "code-$code.yaml" --site site.yaml --kind TorqueJob -n "$product" |
            kubectl apply -n "$product" -f -
    done
    reaches_end code-0 Succeeded
    reaches_end code-5 Failed
    assert_equal "$(field code-0 .status.exitCode) $(field code-5 .status.exitCode) $(condition code-5 Failed reason)" '0 5 NonZeroExit'
}
@test "a script that cybelectl rendered leaves a record, so its code is known where the server forgets, too" {
    on_each serves rendered_script_ends
}

@test "a TorqueJob becomes one job of its account, and code, signal, times and refusals come back" {
    on_each serves one_job_and_its_end
}

deletion_first_ends_the_job() {
    local id
    start_bridge
    torque_job runs '' "sleep 300.$unique"
    torque_job waits '' "sleep 300.$unique"
    torque_job orphan 'onDelete: Orphan' "sleep 20.$unique"
    for one in runs waits orphan; do wait_for 60 reaches "$one" Running; done
    id=$(field orphan .status.jobId)
    kubectl delete torquejob -n "$product" runs waits --wait=true --timeout=90s
    assert_equal "$(live)" "$(live | grep -F "${id%%.*}")"
    kubectl delete torquejob -n "$product" orphan --wait=true --timeout=30s
    [[ -n $(live) ]]
    run -0 env PATH="$ways:$PATH" "$CYBELECTL" bridge orphans --config "$ways/bridge.yaml"
    refute_output --partial "${id%%.*}"
    is_idle() { [[ -z $(live) ]]; }
    wait_for 60 is_idle
}
@test "the object goes after its job; with onDelete: Orphan the job runs on" {
    on_each serves deletion_first_ends_the_job
}

killed_and_adopted() {
    local one
    start_bridge
    for one in a b c d; do torque_job "kept-$one" '' "sleep 12.$unique"; done
    wait_for 60 reaches kept-b Running
    stop_bridge KILL
    start_bridge
    for one in a b c d; do ends "kept-$one" Succeeded; done
    for one in 1 2 3; do # and at moments of the hand-over
        for name in x y z; do torque_job "$name-$one" '' true; done
        sleep "0.$((RANDOM % 10))"
        stop_bridge KILL
        start_bridge
    done
    for one in 1 2 3; do for name in x y z; do ends "$name-$one" Succeeded; done; done
    assert_equal "$(sort "$home/ran" | uniq -c | awk '$1 != 1')" ''
    assert_equal "$(wc -l <"$home/ran")" 13
    assert_equal "$(live)" '' # no held twin
}
# One case per server: bats ends a case after five minutes.
@test "TORQUE: killed while jobs run and while they are handed over, the bridge runs each once" {
    on torque serves killed_and_adopted
}
@test "OpenPBS: killed while jobs run and while they are handed over, the bridge runs each once" {
    on openpbs serves killed_and_adopted
}

results_come_back() {
    start_bridge
    torque_job made "results: {from: made, mount: {name: data, hostPath: {path: $home/results/made}}}" "mkdir -p $home/work/made" \
        "echo one >$home/work/made/a" 'echo said' 'exit 3'
    torque_job astray "results: {from: made, mount: {name: data, hostPath: {path: /etc/cybele}}}" true
    ends made Failed
    is_settled() { [[ $(condition made ResultsCollected status) == True ]]; }
    wait_for 60 is_settled
    assert_equal "$(cat "$home/results/made/made/a")" one
    assert_equal "$(stat -c %u "$home/results/made/made/a")" "$(server id -u)"
    assert_equal "$(field made '.status.results[?(@.name=="made/a")].sha256')" "$(echo one | sha256sum | cut -d ' ' -f 1)"
    assert_equal "$(field made .status.tail.stdout)" said
    is_refused() { [[ $(condition astray Accepted reason) == ResultsRootNotAdmitted ]]; }
    wait_for 20 is_refused
}
@test "results come back below an admitted root, after a failure too, with digests and the tail of the output" {
    on_each serves results_come_back
}
