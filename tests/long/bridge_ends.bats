# SPDX-License-Identifier: Apache-2.0
# Every end and every deletion of a job, restarts, tokens and interrupted copies of `cybelectl bridge run` on a real API server and a real
# Slurm. A quarter of an hour.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() {
    local policy
    export BATS_TEST_TIMEOUT=900
    policy=$(mktemp)
    printf '%s\n' 'apiVersion: audit.k8s.io/v1' 'kind: Policy' 'omitStages: [RequestReceived]' 'rules:' \
        '  - {level: Request, resources: [{group: cybelectl.io, resources: [slurmjobs/status]}]}' \
        '  - {level: Metadata, verbs: [create], resources: [{group: events.k8s.io}]}' '  - {level: None}' >"$policy"
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
    jq -r 'select(.objectRef.resource == "slurmjobs" and .objectRef.subresource == "status" and (.objectRef.name | startswith("kept-"))) |
        .objectRef.name + " " + ([.requestObject[] | select(.path == "/status") | .value.status][0] // "none")' "$(cat policy).log" |
        awk 'BEGIN { rank["none"] = rank["Pending"] = 1; rank["Running"] = 2; rank["Succeeded"] = 3 }
            { if (rank[$2] < seen[$1]) { print; bad = 1 } seen[$1] = rank[$2]; writes++ } END { print writes + 0 " status writes"; exit bad || writes < 150 }' >&3
    kubectl delete slurmjobs --all --wait=true --timeout=120s
}

@test "a token that is replaced in its file leaves no gap; with a revoked one the log says so, and no job is touched" {
    local id
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
    id=$(field steady .status.jobId)
    kubectl delete secret second -n cybelectl
    wait_for 90 grep -q 'Trouble.*[Uu]nauthorized' one.log || { cat one.log && return 1; }
    assert_equal "$(slurm squeue -h -j "$id" -o %T)" RUNNING
    touch over
    rm token
    wait_for 90 grep -q 'Trouble.*the credentials cannot be read again' one.log || { cat one.log && return 1; }
    token_of third
    ends steady Succeeded 120
    assert_equal "$(runs_of steady) $(runs_of fresh)" '1 1'
    run ! grep -E 'eyJ' one.log
}

@test "1,000 files and a copy that is killed in the middle: it continues where it was, and all digests are right" {
    local sent before
    sed -i "s|workdir: \(.*\)}|workdir: \1, results-roots: [$place/results]}|" bridge.yaml
    mkdir -p results
    # What the copy reads of the large file: a slow program counts it.
    cat >commands/slow <<'END'
#!/usr/bin/env python3
import os, sys, time
counter = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "../sent")
source = sys.stdin.buffer
if len(sys.argv) > 1: # of tail: -c +NUMBER -- FILE
    source = open(sys.argv[-1], "rb")
    source.seek(int(sys.argv[2]) - 1)
while block := source.read(1 << 18):
    sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()
    with open(counter, "a") as file:
        file.write(f"{len(block)}\n")
    time.sleep(0.1)
END
    # shellcheck disable=SC2016 # of the programs that are written
    printf '%s\n' '#!/bin/sh' '[ $# = 0 ] && [ "$(stat -Lc %s /proc/self/fd/0)" -gt 1000000 ] && exec "${0%/*}/slow"' 'exec /bin/cat "$@"' >commands/cat
    # shellcheck disable=SC2016 # the same
    printf '%s\n' '#!/bin/sh' 'case $2 in +*) exec "${0%/*}/slow" "$@" ;; esac' 'exec /usr/bin/tail "$@"' >commands/tail
    chmod +x commands/slow commands/cat commands/tail
    start_bridge one
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: many}' 'spec:' \
            "  results: {from: made, mount: {name: data, hostPath: {path: $place/results/many}}}" '  batch: |' '    #!/bin/sh' \
            '    mkdir -p made/deep; for i in $(seq 999); do echo $i >made/deep/$i; done' \
            '    head -c 20000000 /dev/urandom >made/big' '    echo trouble >&2' '    exit 3'
    } | kubectl apply -f -
    ends many Failed 60
    part=results/many/made/big.part
    is_half() { (($(stat -c %s "$part") > 6000000)); }
    wait_for 480 is_half || { find results -name "*.part" && cat one.log && return 1; }
    stop_bridge one KILL
    kill -KILL "$(cut -d ' ' -f 3 work/.cybelectl/*/results/worker)" || true
    before=$(stat -c %s "$part")
    echo "killed with $before of 20000000 bytes" >&3
    start_bridge two
    is_settled() { [[ $(condition many ResultsCollected status) == True ]]; }
    wait_for 240 is_settled || { kubectl get slurmjob many -o yaml && cat two.log && return 1; }
    diff -r work/made results/many/made
    assert_equal "$(field many .status.resultsCount)" 1001
    assert_equal "$(field many '.status.results[*].name' | wc -w)" 32
    kubectl get slurmjob many -o json | jq -r '.status.results[] | .sha256 + "  " + .name' | (cd results/many && sha256sum --quiet -c -)
    sent=$(awk '{ n += $1 } END { print n }' sent)
    echo "$sent bytes read for $(du -sb --apparent-size work/made | cut -f 1)" >&3
    ((sent < 20000000 * 12 / 10))
    rm commands/slow commands/cat commands/tail
}

@test "an object that is deleted and made again under its name is another job each time; a namespace goes with its jobs" {
    local turn
    sed -i '/^MinJobAge/d' slurm/slurm.conf # each end is seen, however late a poll is
    slurm scontrol reconfigure
    start_bridge one
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        job again "echo $turn >>$place/turns"
        ((turn % 2)) || ends again Succeeded
        kubectl delete slurmjob again --wait=true --timeout=60s
    done
    assert_equal "$(sort turns | uniq -d)" ''
    for turn in 2 4 6 8 10; do grep -qx "$turn" turns; done
    kubectl create namespace passing
    sed -i "s|^  - {namespace: default.*|&\n  - {namespace: passing, account: $user, workdir: $place/work}|" bridge.yaml
    stop_bridge one
    start_bridge two
    for turn in 1 2 3; do space=passing job "live-$turn" "sleep 300.$unique"; done
    live() { (($(kubectl get slurmjobs -n passing -o 'jsonpath={range .items[*]}{.status.status}{"\n"}{end}' | grep -cx Running) == 3)); }
    wait_for 60 live
    kubectl delete namespace passing --wait=true --timeout=120s
    assert_equal "$(in_queue)" ''
    # Nothing was created in it that the server refused, since it was going.
    assert_equal "$(jq -r 'select(.objectRef.namespace == "passing" and .objectRef.resource == "events") | .responseStatus.code' "$(cat policy).log" |
        sort | uniq -c | tr -s ' ')" ' 3 201'
    kill -0 "$(cat two.pid)"
}
