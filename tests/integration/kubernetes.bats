# SPDX-License-Identifier: Apache-2.0
# What kube writes, judged by a real API server with its controllers, and by three versions of kubectl. Two minutes;
# the first time on a machine seven more, for the server is built.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    export KUBECONFIG=$place/kubernetes/kubeconfig
    "$parts_dir/kubernetes" start "$place" >&2
    write_inputs
}
setup() { cd "$place" || return; }
teardown_file() {
    "$parts_dir/kubernetes" stop "$place"
    leave_place
}

kubectl() { "$parts_dir/kubernetes" kubectl "${KUBECTL_VERSION:-1.34}" "$@"; }

# One Job and one Site for each kind, each with all that the kind can carry.
write_inputs() {
    cd "$place" || return
    cat >TorqueJob.job.yaml <<'END'
kind: Job
name: wheat
image: /home/eve/wheat.sif
command: [train, "a: b # c", "yes", "1e3"]
workdir: /home/eve
launch: mpi
resources: {nodes: 2, tasks-per-node: 2, time: 20 min}
kubernetes:
  node-selector: {wlm.sylabs.io/cuda: 10, keep: yes, commit: 1234e56}
  results: {host-path: /srv/results, path: /home/eve/wheat.out}
END
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: torque' \
        'kubernetes: {bridge: torque-operator, node-name: torque-hall-batch}' >TorqueJob.site.yaml
    sed 's/^name:.*/name: soy/; s/host-path: .srv.results/claim: results/' TorqueJob.job.yaml >SlurmJob.job.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'kubernetes: {bridge: wlm-operator}' >SlurmJob.site.yaml
    sed '/results:/d; s/^name:.*/name: seg7/' TorqueJob.job.yaml >MirrorJob.job.yaml
    cat >MirrorJob.site.yaml <<'END'
kind: Site
name: hall
scheduler: {dialect: slurm, through: {ssh: login.hall.example}}
kubernetes:
  bridge: hpc-connector
  connector: {image: "docker://registry.example/connector:1", backend: hall-a, credentials: hall-login}
END
    sed '/results:/d; /^workdir/d; s/^name:.*/name: pod/; s/time: 20 min/time: 20 min, memory-per-node: 1 GiB/' TorqueJob.job.yaml >Pod.job.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'kubernetes: {bridge: interlink, node-name: hpc-a}' >Pod.site.yaml
}

render() {
    "$CYBELECTL" kube render "$1.job.yaml" --site "$1.site.yaml" --kind "$1" -o "$1.yaml" -q
}

# define: our definitions in both groups.
define() {
    local kind
    mkdir -p definitions
    for kind in TorqueJob SlurmJob; do
        "$CYBELECTL" kube crd "$kind" -o "definitions/own-$kind.yaml"
        "$CYBELECTL" kube crd "$kind" --group wlm.sylabs.io -o "definitions/foreign-$kind.yaml"
    done
    kubectl apply -f definitions >&2
    wait_for 30 kubectl wait --for=condition=Established crd --all --timeout=10s
}

# kept SENT GOT: all that was sent is there again, with the same value.
kept() {
    python3 - "$1" "$2" <<'END'
import json, sys, yaml
def missing(sent, got, path):
    if isinstance(sent, dict) and isinstance(got, dict):
        return [m for k, v in sent.items() for m in missing(v, got.get(k), f"{path}.{k}")]
    grows = path.endswith(".tolerations")  # the server adds its own behind
    if isinstance(sent, list) and isinstance(got, list) and (len(sent) == len(got) or grows and len(sent) < len(got)):
        return [m for i, v in enumerate(sent) for m in missing(v, got[i], f"{path}[{i}]")]
    return [] if sent == got else [f"{path}: sent {sent!r}, got {got!r}"]
sent = [d for d in yaml.safe_load_all(open(sys.argv[1])) if d]
got = json.load(open(sys.argv[2]))
got = got["items"] if got["kind"] == "List" else [got]
found = [m for s, g in zip(sent, got) for m in missing(s, g, s["kind"])]
print("\n".join(found))
sys.exit(bool(found) or len(sent) != len(got))
END
}

@test "each definition is taken by the server, read back as it was sent, and deleted" {
    define
    for file in definitions/*.yaml; do
        kubectl create --dry-run=server --validate=strict -f "$file" 2>&1 | grep -q 'already exists'
        kubectl get -f "$file" -o json >got.json
        run kept "$file" got.json
        assert_success
        kubectl delete -f "$file" --wait
        run kubectl create --dry-run=server --validate=strict -f "$file"
        assert_success
        assert_line --partial 'created (server dry run)'
    done
}

@test "each object passes a dry run on the server, is made, read back equal, and deleted" {
    define
    for kind in TorqueJob SlurmJob MirrorJob Pod; do
        render "$kind"
        run kubectl create --dry-run=server --validate=strict -f "$kind.yaml"
        assert_success
        refute_output --partial 'unknown field'
        kubectl create --validate=strict -f "$kind.yaml"
        kubectl get -f "$kind.yaml" -o json >got.json
        run kept "$kind.yaml" got.json
        assert_success
        run "$CYBELECTL" kube check "$kind.yaml"
        assert_success
        kubectl delete -f "$kind.yaml" --wait --force --grace-period=0
    done
}

@test "what the server stores is the script, byte for byte, and each text is a text" {
    define
    render TorqueJob
    kubectl create -f TorqueJob.yaml
    kubectl get torquejobs.wlm.sylabs.io wheat -o json >got.json
    jq -j .spec.batch got.json >batch
    "$CYBELECTL" job render TorqueJob.job.yaml --site TorqueJob.site.yaml -q >script
    cmp batch script
    jq -e '.spec.nodeSelector == {"wlm.sylabs.io/cuda": "10", "keep": "yes", "commit": "1234e56",
        "kubernetes.io/hostname": "torque-hall-batch"}' got.json
    kubectl delete -f TorqueJob.yaml
}

@test "our own group refuses what breaks a job: no script, no #!, DOS line ends, another script" {
    define
    sed 's,bridge: torque-operator,bridge: cybelectl,' TorqueJob.site.yaml >own.site.yaml
    "$CYBELECTL" kube render TorqueJob.job.yaml --site own.site.yaml -o own.yaml -q
    kubectl create -f own.yaml
    run kubectl patch torquejobs.cybelectl.io wheat --type merge -p '{"spec": {"batch": "#!/bin/sh\ntrue\n"}}'
    assert_failure
    assert_output --partial 'the script of a submitted job cannot change'
    kubectl delete -f own.yaml
    while IFS='|' read -r batch message; do
        printf '{"apiVersion": "cybelectl.io/v1alpha1", "kind": "TorqueJob", "metadata": {"name": "a"}, "spec": {%s}}' "$batch" >bad.json
        run kubectl create -f bad.json
        assert_failure
        assert_output --partial "$message"
    done <<'END'
|spec.batch: Required value
"batch": ""|should be at least 1 chars long
"batch": "true\n"|the script must begin with #!
"batch": "#!/bin/sh\r\n"|the script has carriage returns
"batch": "#!/bin/sh\n", "nodeselector": {}|unknown field "spec.nodeselector"
"batch": "#!/bin/sh\n", "nodeSelector": {"a": 10}|must be of type string
"batch": "#!/bin/sh\n", "onDelete": "Maybe"|Unsupported value: "Maybe"
"batch": "#!/bin/sh\n", "results": {"from": "/a"}|spec.results.mount: Required value
END
}

@test "nothing of a submitted spec changes but onDelete" {
    define
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: fixed}' \
        'spec: {batch: "#!/bin/sh\n", queue: batch, nodeSelector: {a: "1"}, results: {from: /a, mount: {name: b}}}' | kubectl create -f -
    for change in '{"queue": "other"}' '{"queue": null}' '{"account": "alice"}' '{"nodeSelector": {"a": "2"}}' \
        '{"nodeSelector": null}' '{"results": {"from": "/c"}}' '{"ttlSecondsAfterFinished": 60}'; do
        run kubectl patch slurmjobs.cybelectl.io fixed --type merge -p "{\"spec\": $change}"
        assert_failure
        assert_output --partial 'the spec of a submitted job cannot change, except onDelete'
    done
    kubectl patch slurmjobs.cybelectl.io fixed --type merge -p '{"spec": {"onDelete": "Orphan"}}'
    kubectl patch slurmjobs.cybelectl.io fixed --type merge -p '{"metadata": {"finalizers": ["cybelectl.io/batch-job"]}}'
    kubectl delete slurmjobs.cybelectl.io fixed --wait=false
    run kubectl patch slurmjobs.cybelectl.io fixed --type merge -p '{"spec": {"account": "alice"}}'
    assert_failure
    kubectl patch slurmjobs.cybelectl.io fixed --type merge -p '{"metadata": {"finalizers": null}}'
}

@test "a bridge finds jobs by state and queue, and kubectl shows account and reason" {
    define
    for queue in batch long; do
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: in-$queue}" \
            "spec: {batch: \"#!/bin/sh\\n\", queue: $queue, account: alice, ttlSecondsAfterFinished: 60}" | kubectl create -f -
    done
    kubectl patch slurmjobs.cybelectl.io in-long --type merge --subresource status -p '{"status": {"state": "PENDING", "account": "alice",
        "reason": "Resources", "site": "here", "attempt": 1, "restarts": 2, "output": {"stdout": "/home/alice/o"}, "tail": {"stderr": "x"}, "resultsCount": 1,
        "results": [{"name": "a", "size": 3, "sha256": "00"}]}}'
    assert_equal "$(kubectl get slurmjobs.cybelectl.io --field-selector spec.queue=batch -o name)" slurmjob.cybelectl.io/in-batch
    assert_equal "$(kubectl get slurmjobs.cybelectl.io --field-selector status.state=PENDING -o name)" slurmjob.cybelectl.io/in-long
    run kubectl get slurmjobs.cybelectl.io in-long -o wide
    assert_line --regexp '^NAME .*AGE +QUEUE +ACCOUNT +REASON$'
    assert_line --regexp ' long +alice +Resources$'
    run kubectl get slurmjobs.cybelectl.io in-long -o 'jsonpath={.status.restarts} {.status.output.stdout} {.status.results[0].size} {.status.tail.stderr}'
    assert_output '2 /home/alice/o 3 x'
    kubectl delete slurmjobs.cybelectl.io in-batch in-long
}

@test "status is written by its own way alone, keeps the old words, and is shown in columns" {
    define
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: shown}' 'spec: {batch: "#!/bin/sh\n"}' |
        kubectl create -f -
    local words='{"status": {"status": "Succeeded", "jobId": "12", "state": "COMPLETED", "reason": "None", "exitCode": 0,
        "startTime": "2026-01-02T03:04:05Z", "endTime": "2026-01-02T03:05:05Z", "observedGeneration": 1}}'
    kubectl patch slurmjobs.cybelectl.io shown --type merge -p "$words"
    run kubectl get slurmjobs.cybelectl.io shown -o 'jsonpath={.status}'
    assert_output ''
    kubectl patch slurmjobs.cybelectl.io shown --type merge --subresource status -p "$words"
    run kubectl get slurmjobs.cybelectl.io shown
    assert_line --regexp '^NAME +STATUS +STATE +JOB +EXIT +AGE$'
    assert_line --regexp '^shown +Succeeded +COMPLETED +12 +0 '
    run kubectl get slurmjobs.cybelectl.io shown -o 'jsonpath={.metadata.generation} {.status.endTime}'
    assert_output '1 2026-01-02T03:05:05Z'
    run kubectl patch slurmjobs.cybelectl.io shown --type merge --subresource status -p '{"status": {"status": "Done"}}'
    assert_failure
    run kubectl get hpc -o name
    assert_line 'slurmjob.cybelectl.io/shown'
    kubectl delete slurmjobs.cybelectl.io shown
}

pods_of() { kubectl get pods -l "job-name=$1" -o name; }
has_pods() { [[ $(pods_of "$1" | wc -l) == "$2" ]]; }
is_condition() { [[ $(kubectl get job "$1" -o "jsonpath={.status.conditions[?(@.type=='$2')].status}") == True ]]; }
fail_pods() {
    pods_of "$1" | while read -r pod; do
        kubectl patch "$pod" --subresource status --type merge -p '{"status": {"phase": "Failed"}}'
    done
}

@test "a mirror Job makes one pod; when that fails the Job has failed, and no other pod comes" {
    render MirrorJob
    kubectl create -f MirrorJob.yaml
    wait_for 20 has_pods seg7 1
    run kubectl get "$(pods_of seg7)" -o 'jsonpath={.spec.restartPolicy} {.spec.terminationGracePeriodSeconds} {.spec.containers[0].lifecycle.preStop.exec.command}'
    assert_output 'Never 60 ["kill","-SIGINT","1"]'
    fail_pods seg7
    wait_for 20 is_condition seg7 Failed
    run kubectl get job seg7 -o "jsonpath={.status.conditions[?(@.type=='Failed')].reason}"
    assert_output 'BackoffLimitExceeded'
    sleep 3
    assert_equal "$(pods_of seg7 | wc -l)" 1
    kubectl delete -f MirrorJob.yaml
}

@test "without backoffLimit the same Job would submit again" {
    render MirrorJob
    sed '/backoffLimit/d' MirrorJob.yaml >again.yaml
    run "$CYBELECTL" kube check again.yaml
    assert_equal "$status" 3
    assert_line --partial 'error[K19]'
    kubectl create -f again.yaml
    wait_for 20 has_pods seg7 1
    fail_pods seg7
    wait_for 30 has_pods seg7 2
    kubectl delete -f again.yaml
}

@test "a pod that is taken away is not replaced; what it runs knows the Job that it belongs to" {
    render MirrorJob
    kubectl create -f MirrorJob.yaml
    wait_for 20 has_pods seg7 1
    local pod uid
    pod=$(pods_of seg7)
    uid=$(kubectl get job seg7 -o 'jsonpath={.metadata.uid}')
    run kubectl get "$pod" -o 'jsonpath={.metadata.labels.batch\.kubernetes\.io/controller-uid}'
    assert_output "$uid"
    run kubectl get "$pod" -o "jsonpath={.spec.containers[0].env[?(@.name=='CYBELECTL_UID')].valueFrom.fieldRef.fieldPath}"
    assert_output "metadata.labels['batch.kubernetes.io/controller-uid']"
    kubectl delete "$pod" --force --grace-period=0
    wait_for 30 is_condition seg7 Failed
    assert_equal "$(pods_of seg7)" ''
    kubectl delete -f MirrorJob.yaml
}

# restricted: a namespace whose policy takes no pod with any privilege, and our own mirror rendered for it.
restricted() {
    printf '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "%s", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}' \
        "$1" | kubectl apply -f - >&2
    sed 's/bridge: hpc-connector/bridge: cybelectl/' MirrorJob.site.yaml >own.site.yaml
    "$CYBELECTL" kube render MirrorJob.job.yaml --site own.site.yaml --kind MirrorJob -n "$1" -o own.yaml -q
}

@test "our own mirror's pod is made where the policy allows no privilege; hpc-connector's is not" {
    restricted strict
    run kubectl create --validate=strict -f own.yaml
    assert_success
    refute_output --partial 'would violate'
    kubectl get -f own.yaml -o json >got.json
    run kept own.yaml got.json
    assert_success
    run "$CYBELECTL" kube check own.yaml
    assert_success
    wait_for 20 eval '[[ $(kubectl get pods -n strict -o name | wc -l) == 1 ]]'
    run kubectl get pods -n strict -o 'jsonpath={.items[0].spec.containers[0].command}'
    assert_output --partial '["cybelectl","job","mirror","--backend",'
    kubectl delete -f own.yaml
    render MirrorJob
    run kubectl create --dry-run=server -n strict -f MirrorJob.yaml
    assert_line --partial 'would violate PodSecurity "restricted'
}

@test "submit hands the objects to kubectl, again too; what the server refuses is passed on" {
    restricted submitted
    mkdir -p bin
    printf '%s\n' '#!/bin/sh' "exec '$parts_dir/kubernetes' kubectl 1.34 \"\$@\"" >bin/kubectl
    chmod +x bin/kubectl
    PATH=$place/bin:$PATH run --separate-stderr "$CYBELECTL" submit MirrorJob.job.yaml --site own.site.yaml \
        --target kubernetes --kind MirrorJob --namespace submitted
    assert_success
    assert_line job.batch/seg7
    PATH=$place/bin:$PATH run --separate-stderr "$CYBELECTL" submit MirrorJob.job.yaml --site own.site.yaml \
        --kube --apply --kind MirrorJob --namespace submitted
    assert_success
    assert_line job.batch/seg7
    assert_equal "$(kubectl get jobs -n submitted -o name)" job.batch/seg7
    PATH=$place/bin:$PATH refuses 6 "$CYBELECTL" submit MirrorJob.job.yaml --site own.site.yaml \
        --kube --apply --kind MirrorJob --namespace nowhere
    assert_line --partial 'kubectl did not apply the objects'
    assert_line --partial 'namespaces "nowhere" not found'
    kubectl delete namespace submitted --wait=false
}

@test "three versions of kubectl read nasty texts and scripts as they were written" {
    CYBELE_NASTY=$place run "$repo/build/dev/tests/unit_kubernetes" --no-skip -tc='nasty objects for other readers'
    assert_success
    jq -cS . expected.json >wanted
    for version in $("$parts_dir/kubernetes" versions); do
        KUBECTL_VERSION=$version kubectl label --local -f nasty.yaml judged=yes -o json --dry-run=client |
            jq -scS '[.[] | if .kind == "List" then .items[] else . end | {batch: .spec.batch, data: .spec.data}]' >got
        cmp wanted got
    done
}

@test "three versions of kubectl read each object alike" {
    for kind in TorqueJob SlurmJob MirrorJob Pod; do
        render "$kind"
        for version in $("$parts_dir/kubernetes" versions); do
            KUBECTL_VERSION=$version kubectl label --local -f "$kind.yaml" judged=yes -o json --dry-run=client | jq -S . >"read-$version"
        done
        cmp read-1.20 read-1.32
        cmp read-1.32 read-1.34
    done
}

@test "the part ends with the process that started it" {
    local state=$place/other/kubernetes
    # shellcheck disable=SC2016
    bash -c '"$1" start "$2"; :' sh "$parts_dir/kubernetes" "$place/other"
    wait_for 40 is_gone "$(cat "$state/pid")"
    run pgrep -f "$place/other/"
    assert_failure
}
