# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` between a real API server and a real Slurm when a leader is killed, answers are cut, a job is requeued, and many
# objects are wrong, and memory over 1,000 jobs. A quarter of an hour.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() {
    export BATS_TEST_TIMEOUT=1800
    start_bridge_parts
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log before-*
    write_bridge
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# jobs_at_once COUNT PREFIX LINE…: many objects by one call of kubectl.
jobs_at_once() {
    local one count=$1 prefix=$2
    for one in $(seq "$count"); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $prefix-$one}" 'spec:' '  batch: |' \
            '    #!/bin/sh' '    #SBATCH --output=/dev/null --mem=10' "    echo $prefix-$one >>$place/ran"
        printf '    %s\n' "${@:3}"
    done | kubectl create -f - >&2
}
# ended PREFIX: how many of them have Succeeded.
ended() { kubectl get slurmjobs -o 'jsonpath={range .items[*]}{.metadata.name} {.status.status}{"\n"}{end}' | grep -c "^$1-[0-9]* Succeeded" || true; }
have_ended() { (($(ended "$1") >= $2)); }

@test "with a leader that is killed, the other bridge acts within 35 s; both never hand over the same job" {
    local start
    start_bridge one
    wait_for 60 grep -q Leading one.log
    start_bridge two
    job before-it "sleep 5.$unique"
    wait_for 30 reaches before-it Running
    wait_for 30 grep -q Listed two.log
    start=$(date +%s%3N)
    stop_bridge one KILL
    job after-it true
    has_job() { [[ -n $(field after-it .status.jobId) ]]; }
    wait_for 60 has_job
    echo "the other bridge handed over after $(($(date +%s%3N) - start)) ms" >&3
    (($(date +%s%3N) - start <= 36000)) # and a second of wait_for and kubectl
    ends before-it Succeeded
    ends after-it Succeeded
    assert_equal "$(asked sbatch)" 2
}

@test "a job that an administrator requeues is the same object, with one restart and one end" {
    local id
    start_bridge one
    directive="#SBATCH --requeue" job again "sleep 12.$unique"
    wait_for 30 reaches again Running
    id=$(field again .status.jobId)
    slurm scontrol requeue "$id"
    is_pending() { [[ $(field again .status.restarts) == 1 ]]; }
    wait_for 60 is_pending
    assert_equal "$(condition again Running status)" False
    slurm scontrol update jobid="$id" starttime=now
    ends again Succeeded 200
    assert_equal "$(field again .status.jobId) $(field again .status.restarts) $(runs_of again)" "$id 1 2"
    assert_equal "$(asked sbatch)" 1
}

@test "through a proxy that cuts, delays and refuses, ten jobs run once and have the right ends" {
    local fault one
    mkdir -p proxy
    rm -f proxy/life
    mkfifo proxy/life
    "$parts_dir/apiserver-proxy" "$place/kubernetes" "$place/proxy" <proxy/life >/dev/null 2>proxy/errors 3>&- &
    exec {life}>proxy/life
    wait_for 20 test -e proxy/kubeconfig
    start_bridge one --kubeconfig proxy/kubeconfig
    wait_for 60 grep -q Leading one.log
    jobs_at_once 10 cut 'sleep 3'
    for fault in 429 503 half cut lost unanswered down unanswered lost 429; do
        echo "$fault 2" >proxy/control
        sleep 1.5
    done
    : >proxy/control
    wait_for 120 have_ended cut 10 || { cat one.log && return 1; }
    for one in $(seq 10); do assert_equal "$(runs_of "cut-$one")" 1; done
    assert_equal "$(in_queue)" ''
    stop_bridge one
    exec {life}>&-
}

@test "30 broken objects beside 30 good ones: the good run, and each broken one has its reason" {
    local one pid
    start_bridge one
    pid=$(cat one.pid)
    for one in $(seq 5); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: nul-$one}" 'spec: {batch: "#!/bin/sh\necho a\0b\n"}' \
            --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $(printf 'long%0240d' "$one")}" 'spec: {batch: "#!/bin/sh\ntrue\n"}' \
            --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: uid-$one}" 'spec: {batch: "#!/bin/sh\n#SBATCH --uid=0\ntrue\n"}' \
            --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: account-$one}" 'spec: {account: nobody, batch: "#!/bin/sh\ntrue\n"}' \
            --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: queue-$one}" 'spec: {queue: nosuch, batch: "#!/bin/sh\ntrue\n"}' \
            --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: forged-$one}" 'spec: {batch: "#!/bin/sh\n#SBATCH --nodes=9\ntrue\n"}'
    done | kubectl create -f -
    # A status that only a bridge writes, of somebody else's job.
    for one in $(seq 5); do
        kubectl patch slurmjob "forged-$one" --subresource status --type merge -p '{"status": {"jobId": "1", "submitToken": "x", "status": "Running"}}'
    done
    jobs_at_once 30 sound true
    wait_for 120 have_ended sound 30
    kill -0 "$pid"
    reasons() {
        kubectl get slurmjobs -o json | jq -r --arg name "$1" '[.items[] | select(.metadata.name | startswith($name)) | .status.conditions[]
            | select((.type == "Accepted" and .status == "False") or .type == "Failed") | .reason] | unique | join(" ")'
    }
    assert_equal "$(reasons nul-)" ScriptNotText
    assert_equal "$(reasons long)" NameTooLong
    assert_equal "$(reasons uid-)" DirectiveRefused
    assert_equal "$(reasons account-)" AccountNotAdmitted
    assert_equal "$(reasons queue-)" Refused
    assert_equal "$(reasons forged-)" QueueLimit
    kubectl delete slurmjobs --all --wait=true --timeout=120s
}

# size PID: kilobytes of memory, descriptors and children of the bridge, its HTTP helper included: the least of several looks, since a query
# of the queue has descriptors and a child of its own.
size() {
    local helper
    helper=$(pgrep -P "$1" -f cybelectl-http)
    for _ in $(seq 20); do
        echo "$(awk '/^VmRSS/ { n += $2 } END { print n }' "/proc/$1/status" "/proc/$helper/status")" \
            "$(find "/proc/$1/fd" "/proc/$helper/fd" -type l | wc -l) $(pgrep -P "$1" | wc -l)"
        sleep 0.2
    done | awk '{ for (i = 1; i <= 3; i++) if (NR == 1 || $i < least[i]) least[i] = $i } END { print least[1], least[2], least[3] }'
}

@test "over 1,000 jobs neither memory nor descriptors nor processes grow" {
    local round first last
    slurm scontrol update partitionname=batch OverSubscribe=FORCE:8
    start_bridge one
    wait_for 60 grep -q Leading one.log
    for round in 1 2 3 4 5; do
        jobs_at_once 200 "flat$round" true
        wait_for 600 have_ended "flat$round" 200 || { tail one.log && return 1; }
        kubectl delete slurmjobs --all --wait=true --timeout=200s >/dev/null
        sleep 5
        last=$(size "$(cat one.pid)")
        first=${first:-$last}
        echo "after $((200 * round)) jobs: KiB, descriptors, children: $last" >&3
    done
    assert_equal "$(sort ran | uniq -c | awk '$1 != 1')$(wc -l <ran)" 1000
    # shellcheck disable=SC2086 # three numbers
    set -- $first $last
    (($4 <= $1 + 8192 && $5 <= $2 + 2 && $6 <= $3))
}
