# SPDX-License-Identifier: Apache-2.0
# Every end and every deletion of a job, a restart while 50 jobs run, and a token that is replaced, for `cybelectl bridge run` on a real API
# server and a real Slurm. Ten minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() {
    local policy
    export BATS_TEST_TIMEOUT=900
    policy=$(mktemp)
    printf '%s\n' 'apiVersion: audit.k8s.io/v1' 'kind: Policy' 'omitStages: [RequestReceived]' 'rules:' \
        '  - {level: Request, resources: [{group: cybelectl.io, resources: [slurmjobs/status]}]}' '  - {level: None}' >"$policy"
    APISERVER_OPTIONS="--audit-policy-file=$policy --audit-log-path=$policy.log" start_bridge_parts
    echo "$policy" >policy
    # Slurm forgets ends soon; eight jobs per core, so that many run at the same time.
    sed -i 's/^ClusterName/MinJobAge=2\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
    slurm scontrol update partitionname=batch OverSubscribe=FORCE:8
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log before-*
    write_bridge
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: {dialect: slurm, patience: 5 s}' 'queues: [{name: batch, nodes: 2, max-time: 1 h}]' >site.yaml
}
teardown() {
    stop_bridges
    # The policies of `bridge install` let its service account alone change finalizers.
    [[ ! -e bridge.conf ]] || { kubectl delete validatingadmissionpolicybinding --all && rm bridge.conf; }
}
teardown_file() {
    rm -f "$(cat "$place/policy")"*
    stop_bridge_parts
}

has_job() { [[ -n $(field "$1" .status.jobId) ]]; }
is_gone() { ! kubectl get slurmjob "$1" 2>/dev/null; }
# gone NAME SECONDS: deletes the object; it is gone within the time, and no job of its is left before it is.
gone() {
    local start=$SECONDS id
    id=$(field "$1" .status.jobId)
    kubectl delete slurmjob "$1" --wait=true --timeout="$2s"
    [[ -z $id || -z $(slurm squeue -h -j "$id" -t PD,R,S,CG,CF -o %T 2>/dev/null) ]]
    echo "$1 gone after $((SECONDS - start)) s" >&3
}

@test "deletion of what is unclaimed, prepared, pending, running, ended and vanished: the object goes after its job, each in seconds" {
    local id
    job unclaimed
    gone unclaimed 5
    start_bridge one
    # Prepared: the release does not get through.
    printf '%s\n' '#!/bin/sh' '[ "$1" != release ]' >before-scontrol
    chmod +x before-scontrol
    job prepared
    is_prepared() { [[ $(field prepared .status.state) == Prepared ]]; }
    wait_for 60 is_prepared
    gone prepared 30
    rm before-scontrol
    directive='#SBATCH --begin=now+1hour' job pending
    is_waiting() { [[ $(field pending .status.reason) == BeginTime ]]; }
    wait_for 60 is_waiting
    job running "sleep 300.$unique"
    wait_for 60 reaches running Running
    gone pending 30
    gone running 30
    job ended 'exit 3'
    ends ended Failed
    is_free() { [[ -z $(field ended .metadata.finalizers) ]]; }
    wait_for 20 is_free
    gone ended 5
    # Vanished: cancelled and forgotten by Slurm while no bridge was there.
    job vanished "sleep 300.$unique"
    wait_for 60 reaches vanished Running
    id=$(field vanished .status.jobId)
    stop_bridge one
    slurm scancel "$id"
    is_forgotten() { ! slurm scontrol show job "$id" 2>/dev/null; }
    wait_for 150 is_forgotten
    kubectl delete slurmjob vanished --wait=false
    start_bridge two
    wait_for 90 is_gone vanished || { cat two.log && return 1; }
    assert_equal "$(runs_of prepared)" 0
    assert_equal "$(in_queue)" ''
}

@test "a time limit, a person's scancel, exit codes and signals: status, reason, and kubectl wait returns; results come after each" {
    sed -i "s|workdir: \(.*\)}|workdir: \1, results-roots: [$place/results]}|" bridge.yaml
    mkdir -p results
    start_bridge one
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: limit}' 'spec:' \
            "  results: {from: \"limit-*\", mount: {name: data, hostPath: {path: $place/results/limit}}}" '  batch: |' '    #!/bin/sh' \
            '    #SBATCH --time=1' '    echo made >limit-file' '    echo said' '    echo trouble >&2' "    sleep 300.$unique"
    } | kubectl apply -f -
    job cancelled "sleep 300.$unique"
    job code 'exit 3'
    job signal 'kill -9 $$'
    job good true
    wait_for 60 reaches cancelled Running
    slurm scancel "$(field cancelled .status.jobId)"
    for one in code signal cancelled; do
        kubectl wait --for=condition=Failed "slurmjob/$one" --timeout=60s
    done
    kubectl wait --for=condition=Complete slurmjob/good --timeout=60s
    assert_equal "$(condition code Failed reason) $(field code .status.exitCode)" 'NonZeroExit 3'
    assert_equal "$(condition signal Failed reason) $(field signal .status.signal)" 'Signal 9'
    assert_equal "$(condition cancelled Failed reason)" CancelledOnCluster
    kubectl wait --for=condition=Failed slurmjob/limit --timeout=200s
    assert_equal "$(condition limit Failed reason) $(field limit .status.status)" 'TimeLimit Failed'
    kubectl wait --for=condition=ResultsCollected slurmjob/limit --timeout=60s
    assert_equal "$(cat results/limit/limit-file)" made
    [[ $(field limit .status.tail.stdout) == *said* ]]
}

@test "a bridge that starts again while 50 jobs run adopts all of them; no status goes back, and sbatch is not called" {
    local one
    start_bridge one
    for one in $(seq 50); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: kept-$one}" 'spec:' '  batch: |' \
            '    #!/bin/sh' '    #SBATCH --output=/dev/null --mem=10' "    echo kept-$one >>$place/ran" \
            "    while [ ! -e $place/enough ]; do sleep 2; done"
    done | kubectl create -f - >&2
    count_of() { kubectl get slurmjobs -o 'jsonpath={range .items[*]}{.metadata.name} {.status.status}{"\n"}{end}' | grep -c "^kept-.* $1\$"; }
    all_are() { (($(count_of "$1") == 50)); }
    wait_for 240 all_are Running || { kubectl get slurmjobs && slurm squeue && return 1; }
    stop_bridge one KILL
    rm -f calls
    start_bridge two
    wait_for 60 grep -q Leading two.log
    sleep 5
    assert_equal "$(count_of Running)" 50
    touch enough
    wait_for 240 all_are Succeeded || { kubectl get slurmjobs && tail two.log && return 1; }
    assert_equal "$(asked sbatch)" 0
    assert_equal "$(sort ran | uniq -c | awk '$1 != 1')$(wc -l <ran)" 50
    # Each object's states, as the API server got them: they never go back.
    jq -r 'select(.objectRef.name | startswith("kept-")) | .objectRef.name + " " + (.requestObject.status.status // "none")' "$(cat policy).log" |
        awk 'BEGIN { rank["none"] = rank["Pending"] = 1; rank["Running"] = 2; rank["Succeeded"] = 3 }
            { if (rank[$2] < seen[$1]) { print; bad = 1 } seen[$1] = rank[$2]; writes++ } END { print writes " status writes"; exit bad }' >&3
    kubectl delete slurmjobs --all --wait=true --timeout=120s
}

@test "a token that is replaced in its file before it is revoked leaves no gap" {
    "$CYBELECTL" bridge install | kubectl apply -f - >&2
    token_of() { # SECRET: a token that lives as long as the Secret
        kubectl create secret generic "$1" -n cybelectl >&2
        kubectl create token cybelectl-bridge -n cybelectl --duration 10m --bound-object-kind Secret --bound-object-name "$1" >token.new
        mv token.new token
    }
    sed "s|users:.*|users: [{name: admin, user: {tokenFile: $place/token}}]|; s|user: admin}|user: admin, namespace: cybelectl}|" \
        kubernetes/kubeconfig >bridge.conf
    token_of first
    start_bridge one --kubeconfig bridge.conf
    job steady "while [ ! -e $place/over ]; do sleep 1; done"
    wait_for 60 reaches steady Running
    token_of second
    kubectl delete secret first -n cybelectl
    job fresh
    ends fresh Succeeded 40
    touch over
    ends steady Succeeded 60
    assert_equal "$(runs_of steady) $(runs_of fresh)" '1 1'
    run ! grep -E 'eyJ|Trouble' one.log
}
