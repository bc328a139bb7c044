# SPDX-License-Identifier: Apache-2.0
# What `cybelectl bridge run` answers by https: `kubectl logs` for the output of jobs, and results for the pods that copy them into
# claims, on a real API server with its controller-manager and a real Slurm. No kubelet is here: the test starts the collector's command.
# Three minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    cp "$(fixture)/hello-mpi.sif" image.sif
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: slurm' 'queues: [{name: batch, nodes: 2, max-time: 1 h}]' \
        "runtime: {program: cybelectl, path: $place/programs/cybelectl}" >site.yaml
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: hall}' 'listen: {address: 127.0.0.1, port: 0}' \
        'collector-image: registry.example/cybelectl:1' 'managed-jobs: true' >>bridge.yaml
    # The bridge has the rights that install prints, and no more.
    "$CYBELECTL" bridge install >install.yaml
    kubectl apply -f install.yaml >&2
    kubectl label namespace default pod-security.kubernetes.io/enforce=restricted >&2
    sed "s|users:.*|users: [{name: admin, user: {token: \"$(kubectl create token cybelectl-bridge -n cybelectl --duration 2h)\"}}]|; \
        s|user: admin}|user: admin, namespace: cybelectl}|" kubernetes/kubeconfig >bridge.conf
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# begin_bridge: with its listener; sets $url and bridge.pem, which proves it.
begin_bridge() {
    start_bridge one --kubeconfig bridge.conf
    wait_for 60 grep -q Listening one.log || { cat one.log && return 1; }
    url=https://$(sed -n 's/.* Listening: //p' one.log)
    openssl s_client -connect "${url#https://}" </dev/null 2>/dev/null | openssl x509 >bridge.pem
    is_told() { [[ $(kubectl get node hall-batch -o 'jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}') == "${url##*:}" ]]; }
    wait_for 60 is_told
}
# status_of PATH [OPTION…]: of HTTP.
status_of() { curl -s --cacert bridge.pem -o answer -w '%{http_code}' "${@:2}" "$url$1"; }
pod_is() { [[ $(kubectl get pod "$1" -o 'jsonpath={.status.phase}') == "$2" ]]; }
lines_of() { wc -l <"$1"; }

@test "kubectl logs -f gives each line within 5 s while the job runs, all of them after its end, both streams, the last lines, the first bytes" {
    local pid line
    begin_bridge
    # shellcheck disable=SC2016 # of the job
    directive="#SBATCH --output=$place/work/said.out --error=$place/work/said.err" job said \
        'for i in 1 2 3 4 5 6 7 8; do echo "$i $(date +%s%3N)"; echo "trouble $i" >&2; sleep 2; done'
    wait_for 60 pod_is said-job Running
    kubectl logs -f said-job >followed 2>followed.err 3>&- &
    pid=$!
    # Each line with the time at which it came.
    tail -n +1 -s 0.2 -F followed --pid "$pid" 2>/dev/null | while IFS= read -r line; do echo "$line $(date +%s%3N)"; done >times &
    wait "$pid"
    wait_for 10 grep -q '^8 ' times
    cat followed.err
    awk '{ late = $3 - $2; if (late > most) most = late } END { print "latest line after " most " ms, of " NR; exit !(most <= 5000 && NR == 8) }' times >&3
    ends said Succeeded
    assert_equal "$(kubectl logs said-job | cut -d ' ' -f 1 | tr '\n' ' ')" '1 2 3 4 5 6 7 8 '
    cmp <(kubectl logs said-job -c batch) work/said.out
    cmp <(kubectl logs said-job -c batch-stderr) work/said.err
    assert_equal "$(kubectl logs said-job -c batch-stderr --tail=2)" $'trouble 7\ntrouble 8'
    assert_equal "$(kubectl logs said-job -c batch-stderr --tail=100 | wc -l)" 8
    assert_equal "$(kubectl logs said-job -c batch-stderr --limit-bytes=9)" 'trouble 1'
    run kubectl logs said-job -c nosuch
    assert_failure
    # After the end, `-f` ends too.
    assert_equal "$(timeout 30 "$parts_dir/kubernetes" kubectl 1.34 logs -f said-job | wc -l)" 8
}

@test "five outputs that are followed at the same time are read in one round trip each two seconds" {
    local one before pids=()
    begin_bridge
    # The listener's processes start their shells by this.
    # shellcheck disable=SC2016 # of the program that is written
    printf '%s\n' '#!/bin/sh' '! tr "\0" " " </proc/$PPID/cmdline | grep -q "bridge answer" ||' "    echo read >>'$place/reads'" \
        'exec /bin/sh "$@"' >commands/sh
    chmod +x commands/sh
    for one in 1 2 3 4 5; do
        directive="#SBATCH --mem=10 --output=$place/work/many-$one.out" job "many-$one" \
            "while [ ! -e $place/all-read ]; do echo line-$one; sleep 1; done" "echo last-$one"
    done
    for one in 1 2 3 4 5; do wait_for 60 pod_is "many-$one-job" Running; done
    for one in 1 2 3 4 5; do
        kubectl logs -f "many-$one-job" >"many-$one.followed" 2>"many-$one.errors" 3>&- &
        pids+=($!)
    done
    for one in 1 2 3 4 5; do wait_for 60 grep -q "line-$one" "many-$one.followed"; done
    sleep 5
    before=$(wc -l <reads)
    sleep 20
    before=$(($(wc -l <reads) - before))
    echo "five outputs followed for 20 s: $before round trips" >&3
    ((before >= 5 && before <= 15)) # ten; some may come too late for a turn
    touch all-read
    wait "${pids[@]}"
    rm commands/sh
    for one in 1 2 3 4 5; do
        ends "many-$one" Succeeded
        diff "many-$one.followed" "work/many-$one.out"
        tail -n 1 "many-$one.followed" | grep -x "last-$one"
    done
}

# time_of FILE: when it last changed, as kubectl prints times.
time_of() { date -u -r "$1" +%Y-%m-%dT%H:%M:%S.%NZ; }

@test "options of kubectl logs: stamps are the times of the file, --since gives all lines or none, and what cannot be known is refused" {
    local started middle pid
    begin_bridge
    directive="#SBATCH --output=$place/work/timed.out" job timed 'echo one' "while [ ! -e $place/go ]; do sleep 0.2; done" 'echo two'
    wait_for 60 pod_is timed-job Running
    is_written() { grep -qx one work/timed.out; }
    wait_for 20 is_written
    assert_equal "$(kubectl logs timed-job --timestamps)" "$(time_of work/timed.out) one"
    assert_equal "$(kubectl logs timed-job --timestamps --limit-bytes=4)" "$(date -u -r work/timed.out +%Y)"
    assert_equal "$(kubectl logs timed-job --since=1h)" one
    sleep 4
    assert_equal "$(kubectl logs timed-job --since=2s)" ''
    kubectl logs -f timed-job --since=2s --timestamps >followed 3>&- &
    pid=$!
    wait_for 60 pgrep -f 'bridge answer' >&2
    sleep 3
    touch go
    wait "$pid"
    assert_equal "$(cat followed)" "$(time_of work/timed.out) two"
    ends timed Succeeded
    started=$(field timed .status.startTime)
    assert_equal "$(kubectl logs timed-job --since-time="$started")" $'one\ntwo'
    middle=$(date -u -d "$started + 2 sec" +%Y-%m-%dT%H:%M:%SZ)
    run kubectl logs timed-job --since-time="$middle"
    assert_failure
    assert_output --partial "which lines of default/timed were written since $middle is not known"
    assert_output --partial 'use --tail'
    run kubectl logs timed-job --previous
    assert_failure
    assert_output --partial 'previous is not supported'
    for option in tailLines=x stream=Stderr limitBytes=0 'sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z'; do
        assert_equal "$(status_of "/containerLogs/default/timed-job/batch?$option" --cert kubernetes/kubelet-client.crt --key kubernetes/kubelet-client.key)" 400
    done
}

@test "a SlurmJob and a Job of one name, and a pod of somebody else: each job has a pod and an output of its own" {
    local uid stranger
    begin_bridge
    stranger='{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "third-job"}, "spec": {"automountServiceAccountToken": false,
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "image": "x", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}'
    kubectl create -f - <<<"$stranger"
    stranger=$(kubectl get pod third-job -o 'jsonpath={.metadata.uid}')
    for one in twin third; do
        directive="#SBATCH --output=$place/work/$one.out" job "$one" "echo the SlurmJob $one" "while [ ! -e $place/enough ]; do sleep 1; done"
    done
    wait_for 60 pod_is twin-job Running
    jq -n --arg image "$place/image.sif" --arg enough "$place/enough" '{apiVersion: "batch/v1", kind: "Job", metadata: {name: "twin"},
        spec: {managedBy: "cybelectl.io/bridge", template: {spec: {restartPolicy: "Never", containers: [{name: "main", image: $image,
        command: ["sh", "-c", "echo the Job twin; i=0; while [ $i -lt 90 ]; do sleep 1; i=$((i + 1)); done"]}]}}}}' | kubectl create -f -
    uid=$(kubectl get job twin -o 'jsonpath={.metadata.uid}')
    wait_for 90 pod_is "twin-job-${uid:0:8}" Running || { kubectl get pods && cat one.log && return 1; }
    assert_equal "$(kubectl get pod "twin-job-${uid:0:8}" -o 'jsonpath={.metadata.ownerReferences[0].kind}') $(kubectl get pod twin-job -o 'jsonpath={.metadata.ownerReferences[0].kind}')" 'Job SlurmJob'
    assert_equal "$(kubectl logs twin-job)" 'the SlurmJob twin'
    kubectl logs "twin-job-${uid:0:8}" | grep -qx 'the Job twin'
    run -0 as_bridge "$CYBELECTL" bridge logs default/twin
    assert_output 'the SlurmJob twin'
    run -0 as_bridge "$CYBELECTL" bridge logs job/default/twin
    assert_line 'the Job twin'
    run -3 as_bridge "$CYBELECTL" bridge logs job/default/third
    assert_line 'error: Job default/third does not exist'
    uid=$(field third .metadata.uid)
    wait_for 60 pod_is "third-job-${uid:0:8}" Running || { kubectl get pods && cat one.log && return 1; }
    assert_equal "$(kubectl logs "third-job-${uid:0:8}")" 'the SlurmJob third'
    assert_equal "$(kubectl get pod third-job -o 'jsonpath={.metadata.uid} {.status.phase}')" "$stranger Pending"
    touch enough
    ends twin Succeeded
    kubectl delete job twin --wait=true --timeout=60s
    # Its pod goes with its own object, and not with the namesake's.
    pod_is twin-job Succeeded
}

@test "who has no certificate of the cluster gets 401, who may not get nodes/proxy 403, and nothing else is served" {
    local path=/containerLogs/default/said-job/batch
    begin_bridge
    assert_equal "$(status_of $path)" 401
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /O=system:masters/CN=forged -keyout forged.key -out forged.pem 2>/dev/null
    assert_equal "$(status_of $path --cert forged.pem --key forged.key)" 401
    assert_equal "$(status_of $path -H 'Authorization: Bearer forged')" 401
    kubectl create serviceaccount stranger >&2
    assert_equal "$(status_of $path -H "Authorization: Bearer $(kubectl create token stranger)")" 403
    assert_equal "$(status_of $path --cert kubernetes/kubelet-client.crt --key kubernetes/kubelet-client.key)" 200
    assert_equal "$(status_of /pods --cert kubernetes/kubelet-client.crt --key kubernetes/kubelet-client.key)" 404
    assert_equal "$(status_of $path -X POST --cert kubernetes/kubelet-client.crt --key kubernetes/kubelet-client.key)" 405
    assert_equal "$(status_of /containerLogs/default/../said-job/batch --path-as-is --cert kubernetes/kubelet-client.crt --key kubernetes/kubelet-client.key)" 404
    # No TLS, half a request, and a head without an end change nothing for others.
    timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/${url##*:}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3" || true
    head -c 40000 /dev/zero | timeout 15 openssl s_client -quiet -connect "${url#https://}" >/dev/null 2>&1 || true
    assert_equal "$(status_of $path)" 401
    run ! grep -iE 'bearer|eyJ' one.log
}

# claim_job NAME LINE…: a SlurmJob whose results go to the claim data.
claim_job() {
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1}" 'spec:' \
            '  results: {from: made, mount: {name: data, persistentVolumeClaim: {claimName: data}}}' '  batch: |' '    #!/bin/sh' \
            "    #SBATCH --output=$place/work/$1.out"
        printf '    %s\n' "${@:2}"
    } | kubectl apply -f -
}
# collect NAME FOLDER [TOKEN]: what a kubelet would start, with the pod's own words, token and certificate.
collect() {
    local pod=$1-results args
    kubectl get pod "$pod" -o json >pod.json
    mkdir -p "$2"
    jq -r '.metadata.annotations["cybelectl.io/certificate"]' pod.json >"$2.pem"
    if [[ -n ${3:-} ]]; then
        echo "$3" >"$2.token"
    else
        kubectl create token default --audience "$(jq -r '.spec.volumes[] | select(.name == "bridge") | .projected.sources[0].serviceAccountToken.audience' pod.json)" \
            --bound-object-kind Pod --bound-object-name "$pod" --bound-object-uid "$(jq -r .metadata.uid pod.json)" >"$2.token"
    fi
    mapfile -t args < <(jq -r '.spec.containers[0].args[]' pod.json |
        sed "s|^/run/cybelectl/token\$|$2.token|; s|^/run/cybelectl/certificate.pem\$|$2.pem|; s|^/dev/termination-log\$|$2.report|; s|^/results\$|$2|")
    "$CYBELECTL" "${args[@]}"
}
# ended NAME FOLDER PHASE: the pod's status, as a kubelet writes it.
ended() {
    kubectl patch pod "$1-results" --subresource status --type merge -p "$(jq -n --rawfile report "$2.report" --arg phase "$3" \
        '{status: {phase: $phase, containerStatuses: [{name: "results", image: "x", imageID: "", ready: false, restartCount: 0,
        state: {terminated: {exitCode: 0, message: $report}}}]}}')"
}
has_pod() { kubectl get pod "$1-results"; }

@test "results for a claim: a pod of the restricted profile gets them by its own token, and digests are in the status" {
    local other stranger
    begin_bridge
    claim_job full 'rm -rf made' 'mkdir -p made/deep' 'echo one >made/a' 'head -c 3000000 /dev/urandom >made/deep/b' 'echo said'
    ends full Succeeded
    wait_for 40 has_pod full
    assert_equal "$(kubectl get pod full-results -o 'jsonpath={.spec.volumes[?(@.name=="results")].persistentVolumeClaim.claimName}')" data
    assert_equal "$(kubectl get pod full-results -o 'jsonpath={.spec.serviceAccountName} {.spec.automountServiceAccountToken}')" 'default false'
    # While it works, the object is not settled.
    assert_equal "$(condition full ResultsCollected status)" ''
    # A token of another audience, of no pod, and of another pod.
    assert_equal "$(status_of /results/default/full/list)" 401
    assert_equal "$(status_of /results/default/full/list -H "Authorization: Bearer $(kubectl create token default)")" 403
    assert_equal "$(status_of /results/default/full/list -H "Authorization: Bearer $(kubectl create token default --audience cybelectl-bridge)")" 403
    claim_job second 'echo two'
    ends second Succeeded
    wait_for 40 has_pod second
    other=$(kubectl create token default --audience cybelectl-bridge --bound-object-kind Pod --bound-object-name second-results)
    assert_equal "$(status_of /results/default/full/list -H "Authorization: Bearer $other")" 403
    # They cannot find out which objects there are.
    for stranger in "$other" "$(kubectl create token default)" none; do
        assert_equal "$(status_of /results/default/full/list -H "Authorization: Bearer $stranger")" 403
        cp answer answer.full
        assert_equal "$(status_of /results/default/nosuch/list -H "Authorization: Bearer $stranger")" 403
        cmp answer answer.full
        assert_equal "$(status_of /results/nosuch/full/list -H "Authorization: Bearer $stranger")" 403
        cmp answer answer.full
    done
    run collect full "$place/stolen" "$other"
    assert_failure
    assert_output --partial 'HTTP status 403'
    # The right one, two times: what is there is not sent again.
    collect full "$place/claim"
    diff -r work/made claim/made
    assert_equal "$(cat claim/full.out)" said
    touch -d '1 hour ago' claim/made/deep/b
    collect full "$place/claim"
    (($(stat -c %Y claim/made/deep/b) < $(date +%s) - 1000))
    # A name that was not offered is not given, although the account could read it.
    cp claim.token keep.token
    assert_equal "$(status_of '/results/default/full/file?name=/etc/passwd' -H "Authorization: Bearer $(cat keep.token)")" 404
    assert_equal "$(status_of '/results/default/full/file?name=made/../said.out' -H "Authorization: Bearer $(cat keep.token)")" 404
    ended full "$place/claim" Succeeded
    is_settled() { [[ $(condition "$1" ResultsCollected status) == "$2" ]]; }
    wait_for 40 is_settled full True || { cat one.log && kubectl get slurmjob full -o yaml && return 1; }
    assert_equal "$(field full '.status.results[?(@.name=="made/deep/b")].sha256')" "$(sha256sum <work/made/deep/b | cut -d ' ' -f 1)"
    assert_equal "$(field full .status.resultsCount) $(field full .status.tail.stdout)" '3 said'
    is_gone_pod() { ! has_pod full; }
    wait_for 40 is_gone_pod
    # A pod that fails says why, and the end of the job stays.
    printf 'failed CopyFailed no space left\ncomplete\n' >"$place/second.report"
    ended second "$place/second" Failed
    wait_for 40 is_settled second False
    assert_equal "$(condition second ResultsCollected reason)" CopyFailed
    assert_equal "$(field second .status.status)" Succeeded
}

@test "a namespace whose quota has no room for the pod: the server's words are in the object's condition" {
    begin_bridge
    kubectl create quota none --hard=pods=0 >&2
    claim_job late 'echo late'
    ends late Succeeded
    is_refused() { [[ $(condition "$1" ResultsCollected reason) == CollectorRefused ]]; }
    wait_for 40 is_refused late || { cat one.log && return 1; }
    [[ $(condition late ResultsCollected message) == *quota* ]]
    kubectl delete quota none >&2
    # A pod of somebody else has the name.
    kubectl get pod third-job -o json | jq '.metadata = {name: "robbed-results"} | del(.status, .spec.serviceAccountName)' | kubectl create -f -
    claim_job robbed 'echo robbed'
    ends robbed Succeeded
    wait_for 60 is_refused robbed || { cat one.log && return 1; }
    [[ $(condition robbed ResultsCollected message) == *'robbed-results exists'* ]]
}

@test "a namespace that is deleted while its jobs run and while a pod collects: the jobs end first, and the namespace goes" {
    local id usual
    usual=$(cat bridge.yaml)
    kubectl create namespace fleeting >&2
    # The bridge's RoleBinding in it goes last.
    sed -i "s/^namespaces: .*/namespaces: [default, fleeting]/; s|^  - {namespace: default.*|&\n  - {namespace: fleeting, account: $user, workdir: $place/work}|" bridge.yaml
    "$CYBELECTL" bridge install | kubectl apply -f - >&2
    begin_bridge
    kubectl config set-context --current --namespace=fleeting >&2
    claim_job ended 'echo over'
    claim_job lives "sleep 300.$unique"
    space=fleeting ends ended Succeeded
    space=fleeting wait_for 60 reaches lives Running
    wait_for 40 has_pod ended
    kubectl config set-context --current --namespace=default >&2
    id=$(space=fleeting field lives .status.jobId)
    kubectl delete namespace fleeting --wait=false
    is_gone() { ! kubectl get namespace fleeting 2>/dev/null; }
    wait_for 120 is_gone || { kubectl get slurmjobs,pods -n fleeting -o yaml && cat one.log && return 1; }
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    printf '%s\n' "$usual" >bridge.yaml
}

@test "metrics are served to whoever may get /metrics, and to nobody else" {
    local token
    begin_bridge
    job counted true
    ends counted Succeeded
    assert_equal "$(status_of /metrics)" 401
    kubectl create serviceaccount scraper >&2
    token=$(kubectl create token scraper)
    assert_equal "$(status_of /metrics -H "Authorization: Bearer $token")" 403
    kubectl create clusterrole scraper --verb=get --non-resource-url=/metrics >&2
    kubectl create clusterrolebinding scraper --clusterrole=scraper --serviceaccount=default:scraper >&2
    is_served() { [[ $(status_of /metrics -H "Authorization: Bearer $token") == 200 ]]; }
    wait_for 30 is_served
    cat answer
    assert_equal "$(grep -vcE '^(# (HELP|TYPE) )?cybelectl_bridge_[a-z_]+' answer)" 0
    # value NAME: of the metric.
    value() { awk -v name="cybelectl_bridge_$1" '$1 == name { print $2 }' answer; }
    (($(value 'objects{phase="Succeeded"}') >= 1 && $(value queue_queries_total) >= 1 && $(value events_written_total) >= 1))
    assert_equal "$(value queue_answered) $(value jobs_without_object) $(value failing_accounts)" '1 0 0'
    (($(date +%s) - $(value last_round_timestamp_seconds) <= 60))
    run ! grep -E 'eyJ' answer
}
