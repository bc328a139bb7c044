# SPDX-License-Identifier: Apache-2.0
# The certificate of the bridge's listener from the cluster itself, by the commands of docs/reference/bridge.md, on an API server that
# accepts no other (--kubelet-certificate-authority), and a real Slurm. A minute.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    APISERVER_OPTIONS='--kubelet-certificate-authority=STATE/ca.crt' start_bridge_parts
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: slurm' 'queues: [{name: batch, nodes: 2, max-time: 1 h}]' >site.yaml
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: hall-a}' >>bridge.yaml
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# listens NAME PLACE…: starts the bridge with this listener, and waits until the API server knows it.
listens() {
    sed -i '/^listen/d' bridge.yaml
    echo "listen: {address: 127.0.0.1, port: 0$2}" >>bridge.yaml
    start_bridge "$1"
    wait_for 60 grep -q Listening "$1.log" || { cat "$1.log" && return 1; }
    port=$(sed -n 's/.* Listening: .*://p' "$1.log")
    is_told() { [[ $(kubectl get node hall-a-batch -o 'jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}') == "$port" ]]; }
    wait_for 60 is_told
}

# recipe: the commands of the page, for this address.
recipe() {
    sed -n '/^<!-- recipe: certificate -->$/,/^<!-- recipe: end -->$/p' "$repo/docs/reference/bridge.md" |
        sed '/^<!--/d; /^```/d; s/10\.1\.2\.3/127.0.0.1/' >recipe.sh
}

@test "the API server refuses the self-signed certificate, and accepts the one that the cluster signed by the page's commands" {
    listens one ''
    job said 'echo hello'
    pod_is() { [[ $(kubectl get pod said-job -o 'jsonpath={.status.phase}') == Succeeded ]]; }
    ends said Succeeded
    wait_for 30 pod_is
    run kubectl logs said-job
    assert_failure
    assert_output --partial x509
    stop_bridge one
    recipe
    grep -q 'kubernetes.io/kubelet-serving' recipe.sh
    mkdir -p bin
    printf '%s\n' '#!/bin/sh' "exec '$parts_dir/kubernetes' kubectl 1.34 \"\$@\"" >bin/kubectl
    chmod +x bin/kubectl
    PATH=$place/bin:$PATH bash -e recipe.sh
    is_signed() { openssl x509 -in listener.pem -noout -issuer | grep -q 'CN = ca'; }
    is_signed
    listens two ", certificate: $place/listener.pem, key: $place/listener.key"
    assert_equal "$(kubectl logs said-job)" hello
    run ! grep -q 'PRIVATE KEY' two.log
}
