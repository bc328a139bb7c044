# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` between a real API server and a real Slurm: from an object to one job, and back. It has the rights that
# `bridge install` prints, in two namespaces, and no more. Three minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    write_bridge
    kubectl create namespace both >&2
    install_rights
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log before-*
    write_bridge
}
# write_bridge: with rights in two namespaces, in place of rights in all namespaces.
write_bridge() {
    write_plain_bridge
    printf '%s\n' "  - {namespace: both, account: $user, workdir: $place/work}" 'namespaces: [default, both]' >>bridge.yaml
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

@test "an object becomes one job with its script byte for byte, and the end comes back with code and times" {
    local id
    start_bridge one
    job first 'echo hello'
    ends first Succeeded
    id=$(field first .status.jobId)
    assert_equal "$(runs_of first)" 1
    assert_equal "$(cat work/first.out)" hello
    assert_equal "$(field first .status.exitCode)" 0
    assert_equal "$(field first .status.account)" "$user"
    assert_equal "$(field first .status.submitToken)" "$(field first .metadata.uid)"
    [[ $(field first .status.startTime) == 20*Z && $(field first .status.endTime) == 20*Z ]]
    assert_equal "$(slurm scontrol write batch_script "$id" -)" "$(field first .spec.batch)"
    assert_equal "$(slurm squeue -h -t all -j "$id" -o '%j %u')" "first $user"
    assert_equal "$(asked sbatch)" 1
    assert_equal "$(condition first Complete status)" True
    kubectl wait --for=condition=Complete slurmjob/first --timeout=5s
    wait_for 5 is_released first
    assert_equal "$(field first .status.tail.stdout) $(field first .status.output.stdout)" "hello $place/work/first.out"
    grep -q 'default/first Complete: job' one.log
}

# The object of wlm-operator's own example, but for its group and its script.
@test "an object with the nodeSelector of wlm-operator's examples runs" {
    start_bridge one
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: cow}' 'spec:' '  batch: |' '    #!/bin/sh' \
        "    #SBATCH --nodes=1 --output=$place/work/cow.out" "    echo cow >>$place/ran" '  nodeSelector:' \
        '    wlm.sylabs.io/containers: singularity' '    wlm.sylabs.io/partition: batch' | kubectl create -f -
    ends cow Succeeded
    assert_equal "$(runs_of cow)" 1
}

@test "a job that fails has its code, one that is killed its signal, one that runs too long its reason" {
    start_bridge one
    job code 'exit 3'
    job signal 'kill -9 $$'
    ends code Failed
    ends signal Failed
    assert_equal "$(field code .status.exitCode) $(condition code Failed reason)" '3 NonZeroExit'
    assert_equal "$(field signal .status.signal) $(condition signal Failed reason)" '9 Signal'
    kubectl wait --for=condition=Failed slurmjob/code --timeout=5s
}

@test "a job that a person cancels on the cluster says so" {
    start_bridge one
    job cancelled "sleep 300.$unique"
    wait_for 30 reaches cancelled Running
    slurm scancel "$(field cancelled .status.jobId)"
    ends cancelled Failed
    assert_equal "$(condition cancelled Failed reason)" CancelledOnCluster
}

@test "a script that Slurm refuses is final, with Slurm's own words" {
    start_bridge one
    directive='#SBATCH --constraint=nosuchfeature' job refused
    ends refused Failed
    assert_equal "$(condition refused Failed reason)" Refused
    [[ $(condition refused Failed message) == *'feature'* ]]
    assert_equal "$(field refused .status.jobId)" ''
}

@test "an object without an account, or with a refused line, says so and nothing is submitted" {
    # A namespace without an account can only be one of all that are read: not with `namespaces`.
    write_plain_bridge
    kubectl create namespace guests
    rights=kubernetes/kubeconfig start_bridge one
    space=guests job stranger
    refused_as() { [[ $(kubectl get slurmjob -n "$1" "$2" -o 'jsonpath={.status.conditions[?(@.type=="Accepted")].reason}') == "$3" ]]; }
    wait_for 20 refused_as guests stranger NoAccount
    directive='#SBATCH --uid=0' job sneaky
    wait_for 20 refused_as default sneaky DirectiveRefused
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: large}' \
        'spec: {batch: "#!/bin/sh\n#SBATCH --nodes=5\ntrue\n"}' | kubectl apply -f -
    wait_for 20 refused_as default large QueueLimit
    [[ $(condition large Accepted message) == *'5 nodes'*'at most 2'* ]]
    assert_equal "$(asked sbatch)" 0
}

@test "accounts and queues that are not admitted, more time and more memory than the queue has: each has its reason, and nothing is submitted" {
    sed 's/max-time: 1 h/memory-per-node: 4 GiB, &/' site.yaml >limits.yaml
    sed -i "s|^site: .*|site: limits.yaml|; /default, account/s|}|, queues: [batch]}\n  - {namespace: both, account: guest, workdir: $place/work}|" bridge.yaml
    start_bridge one
    written() { # NAMESPACE NAME SPEC
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {namespace: $1, name: $2}" "spec: $3" | kubectl create -f -
    }
    written default other-queue '{queue: other, batch: "#!/bin/sh\ntrue\n"}'
    written default other-account '{account: nobody, batch: "#!/bin/sh\ntrue\n"}'
    written default long '{batch: "#!/bin/sh\n#SBATCH --time=2:00:00\ntrue\n"}'
    written default heavy '{batch: "#!/bin/sh\n#SBATCH --mem=5G\ntrue\n"}'
    written default astray '{nodeSelector: {wlm.sylabs.io/cuda: "10"}, batch: "#!/bin/sh\ntrue\n"}'
    written both unsure '{batch: "#!/bin/sh\ntrue\n"}'
    denied_as() { [[ $(kubectl get slurmjob -n "$1" "$2" -o 'jsonpath={.status.conditions[?(@.type=="Accepted")].status} {.status.conditions[?(@.type=="Accepted")].reason}') == "False $3" ]]; }
    wait_for 20 denied_as default other-queue QueueNotAdmitted
    wait_for 20 denied_as default other-account AccountNotAdmitted
    wait_for 20 denied_as default long QueueLimit
    wait_for 20 denied_as default heavy QueueLimit
    wait_for 20 denied_as default astray SelectorNotMet
    wait_for 20 denied_as both unsure AccountAmbiguous
    [[ $(condition long Accepted message) == *'7200 seconds'*'at most 3600'* ]]
    [[ $(condition heavy Accepted message) == *'5368709120 bytes'*'at most 4294967296'* ]]
    assert_equal "$(condition astray Accepted message)" 'queue batch does not have the label wlm.sylabs.io/cuda=10; create the object again for a queue with that label'
    assert_equal "$(asked sbatch)" 0
    # With other limits they would be handed over.
    kubectl delete slurmjob other-queue other-account long heavy astray --wait=true --timeout=30s
    kubectl delete slurmjob -n both unsure --wait=true --timeout=30s
    stop_bridge one
    write_bridge
}

@test "a folder of the account that does not exist: an Event of the object says so, and the job runs when it is there" {
    sed -i "s|workdir: .*}|workdir: $place/later}|" bridge.yaml
    start_bridge one
    directive="#SBATCH --output=$place/work/early.out" job early
    told() { kubectl get events.events.k8s.io -o json | jq -r '.items[] | select(.regarding.name == "early" and .reason == "ClusterUnavailable") | .note'; }
    is_told() { [[ $(told) == *"$place/later cannot be read"* ]]; }
    wait_for 40 is_told || { told && cat one.log && return 1; }
    mkdir later
    ends early Succeeded
    assert_equal "$(runs_of early) $(told | wc -l)" '1 1'
    write_bridge
}

@test "the object goes after its job: deletion while it runs, and while it waits" {
    local id
    start_bridge one
    job runs "sleep 300.$unique"
    job waits "sleep 300.$unique"
    is_running() { reaches runs Running && [[ -n $(field waits .status.jobId) ]]; }
    wait_for 30 is_running
    id=$(field runs .status.jobId)
    kubectl delete slurmjob runs waits --wait=true --timeout=60s
    assert_equal "$(in_queue)" ''
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
}

@test "with onDelete: Orphan the object goes, and the job runs on" {
    local id
    start_bridge one
    on_delete=Orphan job orphan "while [ ! -e $place/orphan-may-end ]; do sleep 0.5; done"
    wait_for 30 reaches orphan Running
    id=$(field orphan .status.jobId)
    kubectl delete slurmjob orphan --wait=true --timeout=20s
    assert_equal "$(slurm squeue -h -j "$id" -o %T)" RUNNING
    touch orphan-may-end
    is_empty_queue() { [[ -z $(in_queue) ]]; }
    wait_for 30 is_empty_queue
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" COMPLETED
}

@test "a bridge that starts again adopts what runs, and submits nothing again" {
    local one
    start_bridge one
    for one in a b c; do job "kept-$one" "sleep 6.$unique"; done
    wait_for 40 reaches kept-c Running
    stop_bridge one KILL
    rm -f calls
    start_bridge two
    for one in a b c; do ends "kept-$one" Succeeded 60; done
    assert_equal "$(asked sbatch)" 0
    assert_equal "$(sort ran)" "$(printf 'kept-%s\n' a b c)"
}

# cpu_of NAME: hundredths of a second that the bridge has worked.
cpu_of() { awk '{ print $14 + $15 }' "/proc/$(cat "$1.pid")/stat"; }

@test "a changed Bridge is read again, with HUP immediately; one that is not valid changes nothing, and jobs run on" {
    sed -i '/namespace: both/d; s/, both//' bridge.yaml
    start_bridge one
    job stays "while [ ! -e $place/stays-may-end ]; do sleep 0.5; done"
    space=both job waits
    wait_for 40 reaches stays Running || { cat one.log && return 1; }
    assert_equal "$(space=both field waits .status)" '' # its namespace is not served
    echo 'poll: never' >>bridge.yaml
    kill -HUP "$(cat one.pid)"
    wait_for 20 grep -q 'the configuration was changed and is not used: ' one.log
    assert_equal "$(grep -c ' Leading' one.log)" 1
    write_bridge
    space=both ends waits Succeeded
    assert_equal "$(grep -c ' Reloading: bridge.yaml' one.log) $(grep -c ' Leading' one.log)" '1 2'
    touch stays-may-end
    ends stays Succeeded
    assert_equal "$(asked sbatch) $(runs_of stays) $(runs_of waits)" '2 1 1'
}

@test "of two bridges one acts, and the other says who does and waits; when it is gone, the other takes over" {
    local before
    start_bridge one
    wait_for 20 grep -q Leading one.log
    start_bridge two
    wait_for 20 grep -q 'Standby: the Lease is held by' two.log
    job led
    before=$(cpu_of two)
    ends led Succeeded
    sleep 3
    # Who stands by waits, and does not look all the time. A hundredth of a second is 1.
    (($(cpu_of two) - before < 100))
    assert_equal "$(grep -c Leading two.log)" 0
    stop_bridge one TERM
    wait_for 40 grep -q Leading two.log || { cat ./*.log && return 1; }
    job taken
    ends taken Succeeded
    assert_equal "$(asked sbatch)" 2
    assert_equal "$(runs_of led) $(runs_of taken)" '1 1'
}

@test "the queue is asked once per poll, however many jobs there are; TERM ends the bridge in seconds" {
    local before one
    write_bridge
    sed -i 's/^poll: .*/poll: 5 s/' bridge.yaml
    for one in 1 2 3 4 5 6; do job "many-$one" "sleep 300.$unique"; done
    start_bridge one --format json
    are_queued() { kubectl get slurmjob -o json | jq -e '[.items[] | select((.metadata.name | startswith("many-")) and .status.jobId)] | length == 6'; }
    wait_for 40 are_queued
    rm -f calls
    sleep 15
    assert_equal "$(asked sacct) $(asked sbatch)" '0 0'
    (($(asked squeue) >= 2 && $(asked squeue) <= 4))
    before=$SECONDS
    stop_bridge one TERM
    ((SECONDS - before <= 5))
    jq -se 'map(select(.event == "Ended")) | length == 1' one.log
    assert_equal "$(kubectl get lease -n cybelectl cybelectl-bridge-test -o 'jsonpath={.spec.holderIdentity}')" ''
    assert_equal "$(in_queue | wc -l)" 6 # nothing is cancelled
    write_bridge
    start_bridge one
    kubectl delete slurmjob --all --wait=true --timeout=60s
    assert_equal "$(in_queue)" ''
}
