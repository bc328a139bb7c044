# SPDX-License-Identifier: Apache-2.0
# Queues as nodes and jobs as pods, on a real API server with its controller-manager and a real Slurm. A minute.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: slurm' \
        'queues: [{name: batch, nodes: 2, cores-per-node: 4, memory-per-node: 4 GiB, max-time: 1 h}]' >site.yaml
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: slurm-hall, labels: {site: hall}}' >>bridge.yaml
    # The bridge has the rights that install prints, and no more.
    "$CYBELECTL" bridge install >install.yaml
    kubectl apply -f install.yaml >&2
    sed "s|users:.*|users: [{name: admin, user: {token: \"$(kubectl create token cybelectl-bridge -n cybelectl --duration 2h)\"}}]|; \
        s|user: admin}|user: admin, namespace: cybelectl}|" kubernetes/kubeconfig >bridge.conf
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

node=slurm-hall-batch
of_node() { kubectl get node "$node" -o "jsonpath={$1}"; }
is_ready() { [[ $(of_node '.status.conditions[?(@.type=="Ready")].status') == True ]]; }
pod_is() { [[ $(kubectl get pod -n "$1" "there-$1-job" -o 'jsonpath={.status.phase}') == "$2" ]]; }
# write_view: bridge.yaml with the view, which a case before may have removed.
write_view() {
    write_bridge
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: slurm-hall, labels: {site: hall}}' >>bridge.yaml
}
phase() { kubectl get pod "$1-job" -o 'jsonpath={.status.phase}'; }
has_phase() { [[ $(phase "$1") == "$2" ]]; }
shows() { wait_for "${3:-30}" has_phase "$1" "$2" || { kubectl get pods -o yaml && cat ./*.log && return 1; }; }

@test "each queue is a node that is ready, with the labels of the paper, and is made again after its deletion" {
    local uid start
    run ! grep -E '"\*"|\[\*' install.yaml
    start_bridge one --kubeconfig bridge.conf
    start=$SECONDS
    wait_for 30 is_ready || { cat one.log && return 1; }
    echo "Ready after $((SECONDS - start)) s" >&3
    assert_equal "$(of_node '.metadata.labels.wlm\.sylabs\.io/nodes} {.metadata.labels.wlm\.sylabs\.io/wall-time} {.metadata.labels.site')" '2 3600 hall'
    assert_equal "$(of_node '.status.capacity.cpu} {.status.capacity.hpc\.cybelectl\.io/nodes} {.spec.taints[0].effect')" '8 2 NoSchedule'
    assert_equal "$(of_node '.metadata.labels.kubernetes\.io/os')" ''
    uid=$(of_node .metadata.uid)
    kubectl get lease -n kube-node-lease "$node"
    kubectl delete node "$node"
    is_new() { [[ $(of_node .metadata.uid) != "$uid" ]] && is_ready; }
    wait_for 30 is_new
    sleep 50 # longer than a node's Lease
    is_ready
    assert_equal "$(grep -c Trouble one.log)" 0 || { cat one.log && return 1; }
}

@test "each job is a pod in its phase; deleting pod, node or both changes no job, and the view can be removed" {
    local id
    start_bridge one --kubeconfig bridge.conf
    wait_for 60 is_ready
    job long "sleep 60.$unique"
    job bad 'exit 3'
    job good 'sleep 1'
    shows long Running 60
    shows bad Failed 60
    shows good Succeeded
    id=$(field long .status.jobId)
    assert_equal "$(kubectl get pod long-job -o 'jsonpath={.spec.nodeName} {.status.containerStatuses[0].containerID}')" "$node slurm://$id"
    assert_equal "$(kubectl get pod bad-job -o 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}')" 3
    kubectl delete pod long-job --wait=false
    is_again() { has_phase long Running && [[ -z $(kubectl get pod long-job -o 'jsonpath={.metadata.deletionTimestamp}') ]]; }
    wait_for 40 is_again
    kubectl delete node "$node"
    wait_for 30 is_ready
    assert_equal "$(slurm squeue -h -j "$id" -o %T)" RUNNING
    # The object's deletion takes job and pod with it.
    kubectl delete slurmjob long good --wait=true --timeout=60s
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    are_gone() { ! kubectl get pod long-job 2>/dev/null && ! kubectl get pod good-job 2>/dev/null; }
    wait_for 40 are_gone
    # Without the view.
    job last "sleep 12.$unique"
    shows last Running 60
    stop_bridge one
    kubectl delete nodes,pods -A -l cybelectl.io/bridge=test --wait=false
    sed -i '/^virtual-nodes/d' bridge.yaml
    start_bridge two --kubeconfig bridge.conf
    ends last Succeeded 60
    run ! kubectl get node "$node"
    assert_equal "$(runs_of last)" 1
}

@test "a node shows the live capacity of its queue, is cordoned while the queue is stopped, and refuses pods of others" {
    write_view
    slurm scontrol update partitionname=batch state=DOWN
    start_bridge one --kubeconfig bridge.conf
    wait_for 60 is_ready
    # What the Site does not know: two nodes of four cores and 4000 MiB.
    is_live() { [[ $(of_node '.status.capacity.memory') == 8388608k && $(of_node .spec.unschedulable) == true ]]; }
    wait_for 60 is_live || { kubectl get node "$node" -o yaml && cat one.log && return 1; }
    assert_equal "$(of_node '.status.capacity.cpu')" 8
    # A pod that tolerates everything, as those of a DaemonSet do.
    printf '%s\n' '{apiVersion: v1, kind: Pod, metadata: {name: stray}, spec: {nodeName: slurm-hall-batch, tolerations: [{operator: Exists}],' \
        'automountServiceAccountToken: false, containers: [{name: c, image: x}]}}' | kubectl create -f -
    is_refused() { [[ $(kubectl get pod stray -o 'jsonpath={.status.reason} {.status.phase}') == 'NotServed Pending' ]]; }
    wait_for 60 is_refused || { cat one.log && return 1; }
    kubectl delete pod stray --force --grace-period=0
    stop_bridge one
    slurm scontrol update partitionname=batch state=UP
    start_bridge two --kubeconfig bridge.conf
    is_open() { [[ -z $(of_node .spec.unschedulable) ]]; }
    wait_for 60 is_open || { cat two.log && return 1; }
    assert_equal "$(grep -c Trouble two.log)" 0 || { cat two.log && return 1; }
}

@test "of two namespaces each keeps its pods when the bridge starts again" {
    local one
    write_view
    kubectl get namespace second || kubectl create namespace second
    sed -i "s/^namespaces: .*/namespaces: [default, second]/; s|^  - {namespace: default.*|&\n  - {namespace: second, account: $user, workdir: $place/work}|" bridge.yaml
    "$CYBELECTL" bridge install | kubectl apply -f - >&2
    start_bridge one --kubeconfig bridge.conf
    for one in default second; do space=$one job "there-$one" "while [ ! -e $place/enough ]; do sleep 1; done"; done
    for one in default second; do wait_for 60 pod_is "$one" Running; done
    stop_bridge one
    start_bridge two --kubeconfig bridge.conf
    wait_for 60 grep -q Leading two.log
    sleep 5 # each list was taken
    touch enough
    for one in default second; do wait_for 60 pod_is "$one" Succeeded || { kubectl get pods -A && cat two.log && return 1; }; done
}

@test "the account of the bridge makes no pod with Secrets or tokens, deletes no other pod, and changes no other node" {
    local plain='automountServiceAccountToken: false, containers: [{name: a, image: x, securityContext: {allowPrivilegeEscalation: false}}]'
    as_account() { kubectl --as=system:serviceaccount:cybelectl:cybelectl-bridge "$@"; }
    # tries LABELS SPEC: to make such a pod.
    tries() {
        echo "{apiVersion: v1, kind: Pod, metadata: {name: tried, namespace: default, labels: {$1}}, spec: {$2}}" |
            as_account create --dry-run=server -f - 2>refusal
    }
    is_denied() { ! tries "$@"; }
    wait_for 60 is_denied '' "$plain"
    grep -q 'its own pods only' refusal
    tries 'cybelectl.io/bridge: test' "$plain"
    local more words
    while IFS='|' read -r more words; do
        run ! tries 'cybelectl.io/collects-for: test' "$more"
        grep -q "$words" refusal || { cat refusal && return 1; }
    done <<END
$plain, volumes: [{name: v, secret: {secretName: s}}]|has no Secret
$plain, volumes: [{name: v, hostPath: {path: /}}]|no folder of its node
$plain, volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]|no token
$plain, volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]|has no Secret
$plain, hostNetwork: true|namespaces of its node
${plain/automountServiceAccountToken: false, /}|no token
${plain/image: x/image: x, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k\}\}\}]}|variables of Secrets
${plain/image: x/image: x, envFrom: [{secretRef: {name: s\}\}]}|variables of Secrets
$plain, initContainers: [{name: b, image: x}]|nor privileges
${plain/allowPrivilegeEscalation: false/allowPrivilegeEscalation: true}|nor privileges
END
    echo "{apiVersion: v1, kind: Pod, metadata: {name: others, namespace: default}, spec: {$plain}}" | kubectl create -f -
    run ! as_account delete pod others --wait=false
    kubectl get pod others
    kubectl delete pod others --force
    echo '{apiVersion: v1, kind: Node, metadata: {name: real, labels: {kubernetes.io/os: linux}}}' | kubectl create -f -
    # kubectl reads what it patches, for which the account has no right.
    local token server
    token=$(kubectl create token cybelectl-bridge -n cybelectl)
    server=$(kubectl config view -o 'jsonpath={.clusters[0].cluster.server}')
    patch() { # PATH BODY
        curl -sS --cacert kubernetes/ca.crt -H "Authorization: Bearer $token" -H 'Content-Type: application/merge-patch+json' \
            -X PATCH -d "$2" "$server/api/v1/nodes/$1"
    }
    local body
    for body in '{"spec": {"unschedulable": true}}' '{"metadata": {"labels": {"cybelectl.io/bridge": "test"}}}'; do
        patch real "$body" | grep -q 'virtual nodes only'
    done
    patch real/status '{"status": {"capacity": {"cpu": "1"}}}' | grep -q 'virtual nodes only'
    kubectl delete node real
}
