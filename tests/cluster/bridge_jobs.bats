# SPDX-License-Identifier: Apache-2.0
# Ordinary Jobs (batch/v1) that name `cybelectl.io/bridge` in managedBy, on a real API server with its controller-manager and a real Slurm.
# A minute.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    cp "$(fixture)/hello-mpi.sif" image.sif
    printf '%s\n' 'managed-jobs: true' >>bridge.yaml
    printf '%s\n' "runtime: {program: cybelectl, path: $place/programs/cybelectl}" >>site.yaml
}
setup() {
    enter_nodes
    rm -f calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# managed NAME COMMAND [SPEC [POD [CONTAINER]]]: creates a Job that runs COMMAND by sh in the image; further fields as JSON members.
managed() {
    jq -n --arg name "$1" --arg command "$2" --arg image "$place/image.sif" --arg work "$place/work" \
        "{apiVersion: \"batch/v1\", kind: \"Job\", metadata: {name: \$name, annotations: ${annotations:-{\}}},
          spec: ({managedBy: \"cybelectl.io/bridge\", template: {spec: ({restartPolicy: \"Never\", containers: [
            {name: \"main\", image: \$image, command: [\"sh\", \"-c\", \$command]} + {${5:-}}]} + {${4:-}})}} + {${3:-}})}" >"$1.json"
    kubectl create -f "$1.json"
}
of() { kubectl get job "$1" -o "jsonpath={$2}"; }
of_condition() { of "$1" ".status.conditions[?(@.type==\"$2\")].$3"; }
record() { of_condition "$1" BatchJob message | jq -r "$2"; }
is_released() { [[ -z $(of "$1" .metadata.finalizers) ]]; }
is_at() { [[ $(of_condition "$1" "$2" status) == "${3:-True}" ]]; }
becomes() { wait_for "${3:-60}" is_at "$1" "$2" || { kubectl get job "$1" -o yaml && cat ./*.log work/*.err && return 1; }; }
is_running() { [[ $(of "$1" .status.ready) == 1 ]]; }
runs() { wait_for 60 is_running "$1" || { kubectl get job "$1" -o yaml && cat ./*.log work/*.err && return 1; }; }

@test "a Job becomes one batch job, and its status says so by the rules of the server" {
    local id
    start_bridge one
    managed good 'echo "hello from $WHERE $1"; sleep 3' '' '' 'args: ["x", "pod"], env: [{name: "WHERE", value: "a b"}],
        resources: {limits: {cpu: "1", memory: "100Mi"}}'
    runs good
    assert_equal "$(of good .status.active)" 1
    becomes good Complete
    kubectl wait --for=condition=complete job/good --timeout=5s
    assert_equal "$(of good .status.succeeded) $(of good .status.active) $(of good .status.failed)" '1  '
    [[ $(of good .status.startTime) == 20*Z && $(of good .status.completionTime) == 20*Z ]]
    assert_equal "$(of_condition good SuccessCriteriaMet status)" True
    id=$(record good .jobId)
    assert_equal "$(slurm squeue -h -t all -j "$id" -o '%T %j %u')" "COMPLETED good $user"
    assert_equal "$(asked sbatch)" 1
    assert_equal "$(record good '.exitCode, .account')" "0
$user"
    grep -qx 'hello from a b pod' work/*good*out work/slurm-"$id".out
    assert_equal "$(kubectl get pods -o name)" '' # Kubernetes started nothing
    wait_for 5 is_released good
    [[ $(kubectl get job good --no-headers) == *Complete*1/1* ]]
    kubectl get events.events.k8s.io -o json | jq -e '[.items[] | select(.regarding.kind == "Job" and .regarding.name == "good") | .reason] | index("Submitted")'
    run -0 as_bridge "$CYBELECTL" bridge logs default/good
    assert_line 'hello from a b pod'
}

@test "a Job that fails is Failed with its code, a deadline is DeadlineExceeded, and both were started once" {
    start_bridge one
    managed bad 'exit 3' 'backoffLimit: 4'
    managed late "sleep 300.$unique" 'activeDeadlineSeconds: 60'
    becomes bad Failed
    kubectl wait --for=condition=failed job/bad --timeout=5s
    assert_equal "$(of_condition bad Failed reason) $(of_condition bad FailureTarget reason)" 'NonZeroExit NonZeroExit'
    assert_equal "$(of bad .status.failed) $(of bad .status.succeeded) $(of bad .status.completionTime)" '1  '
    assert_equal "$(record bad .exitCode)" 3
    becomes late Failed 150
    assert_equal "$(of_condition late Failed reason)" DeadlineExceeded
    assert_equal "$(asked sbatch)" 2
}

@test "what a batch job cannot be given is told with its field, and nothing is submitted" {
    start_bridge one
    managed claims true '' 'volumes: [{name: "data", persistentVolumeClaim: {claimName: "c"}}], initContainers: [{name: "i", image: "x"}]' \
        'volumeMounts: [{name: "data", mountPath: "/data"}]'
    managed several true 'completions: 3, parallelism: 3, completionMode: "Indexed"'
    managed secret true '' 'nodeSelector: {"gpu": "a100", "kubernetes.io/os": "linux"}' 'env: [{name: "T", valueFrom: {secretKeyRef: {name: "s", key: "t"}}}]'
    annotations='{"cybelectl.io/queue": "nosuch"}' managed elsewhere true
    for one in claims several secret; do
        becomes "$one" Failed 30
        assert_equal "$(of_condition "$one" Failed reason)" NotConvertible
        kubectl wait --for=condition=failed "job/$one" --timeout=5s
    done
    [[ $(of_condition claims Failed message) == *"\`initContainers\`"*"the volume 'data'"* || $(of_condition claims Failed message) == *"the volume 'data'"*initContainers* ]]
    [[ $(of_condition several Failed message) == *'several pods'* ]]
    [[ $(of_condition secret Failed message) == *"the variable 'T'"*'nodeSelector `gpu`'* ]]
    [[ $(of_condition secret Failed message) != *kubernetes.io/os* ]]
    assert_equal "$(of claims .status.failed)$(of claims .metadata.finalizers)" ''
    kubectl get events.events.k8s.io -o json | jq -e '[.items[] | select(.regarding.name == "claims") | .reason] == ["NotConvertible"]'
    assert_equal "$(asked sbatch)" "$([[ $(of_condition elsewhere Failed reason) == Refused ]] && echo 1 || echo 0)"
}

@test "a suspended Job waits, and one that is resumed runs; deletion while it runs ends the batch job first" {
    local id
    start_bridge one
    managed paused "sleep 300.$unique" 'suspend: true'
    becomes paused Suspended 30
    assert_equal "$(asked sbatch)" 0
    kubectl patch job paused --type merge -p '{"spec": {"suspend": false}}'
    runs paused
    is_at paused Suspended False
    id=$(record paused .jobId)
    kubectl delete job paused --wait=true --timeout=60s
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    assert_equal "$(in_queue)" ''
}

@test "a Job is adopted after kill -9, other Jobs are left alone, and with its TTL the finished one goes" {
    start_bridge one
    managed kept 'sleep 8' 'ttlSecondsAfterFinished: 2'
    jq '.metadata.name = "other" | del(.spec.managedBy)' kept.json | kubectl create -f -
    jq '.metadata.name = "foreign" | .spec.managedBy = "example.org/other"' kept.json | kubectl create -f -
    runs kept
    stop_bridge one KILL
    rm calls
    start_bridge two
    is_gone_from() { ! kubectl get job kept 2>/dev/null; }
    wait_for 90 is_gone_from
    assert_equal "$(asked sbatch)" 0
    grep -q 'default/kept Complete' two.log
    assert_equal "$(of foreign .status)" '{}'
    assert_equal "$(of_condition other BatchJob status)$(of other .metadata.finalizers)" ''
    run -0 as_bridge "$CYBELECTL" bridge orphans
    refute_output --partial kept
    kubectl delete job other foreign
}

@test "the nodes verify the images of Jobs by the Policy of the Site, of which the bridge needs no file" {
    [[ $(id -u) == 0 ]] || skip 'only root mounts here'
    mkdir policies
    (cd policies && "$CYBELECTL" key new centre.pem)
    printf '%s\n' 'kind: Policy' 'keys: [centre.pub]' >policies/policy.yaml
    {
        cat site.yaml
        echo "verify: $place/policies/policy.yaml"
    } >strict.yaml
    sed 's/^site: .*/site: strict.yaml/' bridge.yaml >strict-bridge.yaml
    # As in its pod, the folder is empty for the bridge.
    PATH=$place/commands:$PATH unshare --mount sh -c 'mount -t tmpfs none "$1" && exec "$2" bridge run --config strict-bridge.yaml' \
        sh "$place/policies" "$CYBELECTL" >>one.log 2>&1 3>&- &
    echo $! >one.pid
    managed unsigned 'echo never'
    cp image.sif signed.sif
    "$CYBELECTL" sign signed.sif --key policies/centre.pem
    sed 's/image\.sif/signed.sif/; s/"unsigned"/"signed"/' unsigned.json | kubectl create -f -
    becomes unsigned Failed
    becomes signed Complete
    run ! grep -rqx never work/slurm-"$(record unsigned .jobId)".out
    grep -qx never work/*"$(record signed .jobId)"*out
    run -0 as_bridge "$CYBELECTL" bridge logs --stderr default/unsigned
    assert_output --partial 'not verified'
}

@test "install gives the rights for Jobs, the policy keeps finalizer and account, and an older server is reported" {
    kubectl create serviceaccount eve
    kubectl create rolebinding eve --clusterrole=edit --serviceaccount=default:eve
    "$CYBELECTL" bridge install >install.yaml
    cmp install.yaml <("$CYBELECTL" bridge install)
    run ! grep -E '"\*"|\[\*' install.yaml
    kubectl apply -f install.yaml
    sed "s|users:.*|users: [{name: admin, user: {token: \"$(kubectl create token cybelectl-bridge -n cybelectl)\"}}]|; \
        s|user: admin}|user: admin, namespace: cybelectl}|" kubernetes/kubeconfig >bridge.conf
    run -0 as_bridge "$CYBELECTL" bridge check --kubeconfig bridge.conf
    assert_line 'ok: 16 rights on the API server'
    as_eve() { kubectl --as=system:serviceaccount:default:eve "$@"; }
    managed mine 'true' 'suspend: true'
    # Dry: a change that is accepted before the policy is at work would be none the next time, which nothing refuses.
    is_refused() { ! as_eve patch job mine --dry-run=server --type merge -p '{"metadata": {"finalizers": ["cybelectl.io/batch-job"]}}' 2>refusal; }
    wait_for 90 is_refused
    grep -q 'only the bridge' refusal
    # The bridge itself changes no Job of others.
    jq '.metadata.name = "theirs" | del(.spec.managedBy)' mine.json | kubectl create -f -
    as_account() { kubectl --as=system:serviceaccount:cybelectl:cybelectl-bridge "$@"; }
    is_limited() { ! as_account patch job theirs --dry-run=server --type merge -p '{"spec": {"suspend": false}}' 2>limit; }
    wait_for 90 is_limited
    grep -q 'Jobs that name it only' limit
    as_account patch job mine --dry-run=server --type merge -p '{"metadata": {"finalizers": ["cybelectl.io/batch-job"]}}'
    kubectl delete job theirs
    run ! as_eve patch job mine --type merge -p "{\"metadata\": {\"annotations\": {\"cybelectl.io/account\": \"$user\"}}}"
    assert_output --partial 'needs the verb use'
    run ! as_eve patch job mine --subresource status --type merge -p '{"status": {"active": 1}}'
    start_bridge one --kubeconfig bridge.conf
    kubectl patch job mine --type merge -p '{"spec": {"suspend": false}}'
    becomes mine Complete
    kubectl delete job mine
}

@test "one Job is rendered for both sides, and Kubernetes takes the one that stays with it" {
    printf '%s\n' 'kind: Job' 'name: both' "image: $place/image.sif" 'script: |' "  echo \"here \$WHERE\"" 'environment: {WHERE: "$(A) $$"}' 'array: 0-1' \
        'kubernetes: {image: registry.example/both:1, namespace: default, results: {claim: data, path: /results}}' \
        'resources: {cpus-per-task: 2, memory-per-node: 1 GiB, time: 10 min}' >both.yaml
    "$CYBELECTL" kube render both.yaml --kind Job -q >both.yml
    kubectl apply --validate=strict -f both.yml
    assert_equal "$(of both '.spec.completions} {.spec.activeDeadlineSeconds} {.spec.template.spec.containers[0].image')" '2 600 registry.example/both:1'
    has_pods() { (($(kubectl get pods -l job-name=both -o name | wc -l) == 2)); }
    wait_for 30 has_pods
    # No kubelet is here: the pods end as one would write it.
    for one in $(kubectl get pods -l job-name=both -o name); do
        kubectl patch "$one" --subresource status --type merge -p '{"status": {"phase": "Succeeded"}}'
    done
    kubectl wait --for=condition=complete job/both --timeout=30s
    assert_not_exist calls # of any command of Slurm
    kubectl delete job both
}
