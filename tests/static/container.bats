# SPDX-License-Identifier: Apache-2.0
# The container image of the bridge: written without Docker, pushed to a registry by skopeo, unpacked by umoci, and started by crun in the
# way that the Deployment of `bridge install` says, between a real API server and a real Slurm. A minute; the dev preset is built before.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../parts/serve.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() {
    start_bridge_parts
    archive=$("$repo/packaging/release" -o "$place/out")
    image=$("$repo/packaging/oci" -o "$place/out" "$archive")
    version=$("$CYBELECTL" --version | awk 'NR == 1 {print $2}')
    export archive image version
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log
}
teardown() {
    end_servers
    [[ -z ${container:-} ]] || run_crun delete --force "$container" 2>/dev/null || true
    [[ ! -e sshd.pid ]] || end_process "$(cat sshd.pid)"
    rm -f sshd.pid
}
teardown_file() { stop_bridge_parts; }

# push_and_unpack: the image by way of a registry becomes the bundle `bundle`.
push_and_unpack() {
    [[ ! -e bundle ]] || return 0
    serve registry docker-registry open "$place/registry"
    skopeo copy -q --dest-tls-verify=false "oci-archive:$image" "docker://127.0.0.1:$registry/cybelectl:$version"
    skopeo copy -q --src-tls-verify=false "docker://127.0.0.1:$registry/cybelectl:$version" "oci:pulled:$version"
    as_root_here umoci unpack --image "pulled:$version" bundle
    as_root_here cp bundle/config.json config.json
}

as_root_here() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo -E "$@"; fi; }

# run_crun WORD…: where both versions of control groups are mounted, it starts nothing: it sees one of them.
run_crun() {
    as_root_here unshare --mount sh -ec 'mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || mount -t tmpfs none /sys/fs/cgroup
        exec crun --cgroup-manager=disabled "$@"' crun "$@"
}

# in_container NAME [COMMAND…]: what config.json says, with another command.
in_container() {
    container=$1-$unique
    jq --argjson words "$({ (($# == 1)) || printf '%s\n' "${@:2}"; } | jq -Rn '[inputs]')" \
        '.process.terminal = false | .root.readonly = true | .mounts |= map(select(.type != "cgroup"))
        | if $words == [] then . else .process.args = $words end' config.json | as_root_here tee bundle/config.json >/dev/null
    run_crun run --bundle bundle "$container"
}

@test "made again it has the same bytes; it is a valid layout with one layer, for an ordinary user, and names its packages" {
    touch again "$archive"
    cmp "$image" "$("$repo/packaging/oci" -o "$place/again.d" "$archive")"
    run -0 skopeo inspect --config "oci-archive:$image"
    assert_equal "$(jq -r '.config.User, .config.Entrypoint[0], .architecture, (.rootfs.diff_ids | length)' <<<"$output" | paste -sd ' ')" \
        '65532:65532 cybelectl amd64 1'
    run -0 skopeo inspect "oci-archive:$image"
    assert_equal "$(jq -r '.Labels["org.opencontainers.image.version"]' <<<"$output")" "$version"
    (($(stat -c %s "$image") < 40000000))
}

@test "by way of a registry crun starts it: cybelectl, its helper's libraries, ssh with its libraries, certificates; no shell" {
    push_and_unpack
    run -0 in_container help cybelectl bridge --help
    assert_line --partial 'cybelectl bridge'
    assert_line --regexp '^  +(bridge )?run '
    run -0 in_container ssh ssh -V
    assert_output --partial OpenSSH_
    assert_equal "$(grep -c 'BEGIN CERTIFICATE' bundle/rootfs/etc/ssl/certs/ca-certificates.crt)" \
        "$(find /usr/share/ca-certificates/mozilla -name '*.crt' | wc -l)"
    cmp bundle/rootfs/usr/local/bin/cybelectl <(tar -xOf "$archive" --wildcards '*/bin/cybelectl')
    assert_not_exist bundle/rootfs/usr/bin/sh
    grep -qx 'Package: openssh-client' bundle/rootfs/var/lib/dpkg/status.d/openssh-client
    assert_exist bundle/rootfs/usr/share/doc/openssh-client/copyright
    # Nothing that its user could change, and nothing that changes users.
    run find bundle/rootfs ! -type l \( -perm /6000 -o -perm /022 \) ! -path bundle/rootfs/tmp
    assert_output ''
}

# start_login: an sshd of this machine's loopback, where Slurm's commands are; keys/ is the Secret of the bridge's keys.
start_login() {
    mkdir -p keys
    [[ -e keys/alice ]] || ssh-keygen -q -t ed25519 -N '' -f keys/alice
    [[ -e host ]] || ssh-keygen -q -t ed25519 -N '' -f host
    login=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf '%s\n' "Port $login" 'ListenAddress 127.0.0.1' "HostKey $place/host" "AuthorizedKeysFile $place/keys/alice.pub" 'StrictModes no' \
        'UsePAM no' 'PermitRootLogin yes' 'PasswordAuthentication no' 'PidFile none' "SetEnv PATH=$place/commands:$PATH" >sshd
    mkdir -p /run/sshd
    /usr/sbin/sshd -D -f "$place/sshd" -E "$place/sshd.log" 3>&- &
    echo $! >sshd.pid
    printf '[127.0.0.1]:%s %s\n' "$login" "$(cut -d ' ' -f 1,2 host.pub)" >keys/known_hosts
    printf '%s\n' 'Host 127.0.0.1' "  Port $login" >keys/config
    as_root_here chgrp 65532 keys/* && chmod 440 keys/* # as a kubelet does for fsGroup
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'namespaces: [default]' 'poll: 1 s' 'accounts:' \
        "  - {namespace: default, account: $user, way: {ssh: $user@127.0.0.1, key: /etc/cybelectl-keys/alice}, workdir: $place/work}" >bridge.yaml
}

# as_pod NAME [WORD…]: what a kubelet makes of the Deployment, with another command.
as_pod() {
    become_pod
    in_container "$@"
}

# become_pod: config.json has the Deployment's arguments, variables and volumes, the token of its account.
become_pod() {
    local server
    kubectl get deployment -n cybelectl cybelectl-bridge-test -o json >deployment.json
    mkdir -p etc account
    kubectl get configmap -n cybelectl cybelectl-bridge-test -o json | jq -r '.data["bridge.yaml"]' >etc/bridge.yaml
    kubectl get configmap -n cybelectl cybelectl-bridge-test -o json | jq -r '.data["site.yaml"]' >etc/site.yaml
    kubectl create token cybelectl-bridge -n cybelectl >account/token
    cp kubernetes/ca.crt account/ca.crt && printf cybelectl >account/namespace
    server=$(kubectl config view -o 'jsonpath={.clusters[0].cluster.server}')
    push_and_unpack
    cp config.json plain.json
    jq --slurpfile deployment deployment.json --arg place "$place" --arg port "${server##*:}" '
        def bind(from; to): {type: "bind", source: "\($place)/\(from)", destination: to, options: ["rbind", "ro"]};
        def memory(to): {type: "tmpfs", source: "tmpfs", destination: to, options: ["mode=1777"]};
        $deployment[0].spec.template.spec.containers[0] as $pod
        | .process.args = .process.args[:1] + $pod.args
        | .process.env += [$pod.env[] | "\(.name)=\(.value)"] + ["KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=\($port)"]
        | .process.capabilities = {} | .process.noNewPrivileges = true
        | .linux.namespaces |= map(select(.type != "network"))
        | .mounts += [bind("etc"; "/etc/cybelectl"), bind("keys"; "/etc/cybelectl-keys"), memory("/run/cybelectl"), memory("/tmp"),
            bind("account"; "/var/run/secrets/kubernetes.io/serviceaccount")]' plain.json >config.json
}

@test "as the pod of its Deployment check finds nothing, and a job runs from apply to its end by ssh with the Secret's keys" {
    local pid
    start_login
    kubectl create namespace cybelectl
    "$CYBELECTL" bridge install --image "registry.example.org/cybelectl:$version" | kubectl apply -f -
    run -0 as_pod check cybelectl bridge check --config /etc/cybelectl/bridge.yaml
    assert_line 'ok: 14 rights on the API server'
    assert_line --regexp "^ok: account $user for namespace default, .*ssh"
    cp plain.json config.json
    as_pod run >pod.log 2>&1 3>&- &
    pid=$!
    wait_for 60 grep -q Leading pod.log || { cat pod.log && return 1; }
    job carried 'echo by a container'
    ends carried Succeeded 90
    assert_equal "$(field carried .status.account)" "$user"
    container=run-$unique
    # The Deployment's probe, as a kubelet starts it: by the user of the container.
    run -0 run_crun exec --user "$(jq -r '.process.user | "\(.uid):\(.gid)"' config.json)" "$container" \
        cybelectl bridge status --alive --config /etc/cybelectl/bridge.yaml
    run -0 run_crun exec "$container" cybelectl bridge status --config /etc/cybelectl/bridge.yaml
    assert_line '  Succeeded: 1'
    run_crun kill "$container" TERM
    wait "$pid"
    assert_equal "$(kubectl get lease -n cybelectl cybelectl-bridge-test -o 'jsonpath={.spec.holderIdentity}')" ''
}

@test "of the two pods of --ha one leads and the other waits; when the first is killed, the other carries the next job" {
    local start pods=()
    start_login
    kubectl create namespace cybelectl --dry-run=client -o yaml | kubectl apply -f -
    "$CYBELECTL" bridge install --image "registry.example.org/cybelectl:$version" --ha | kubectl apply -f -
    assert_equal "$(kubectl get deployment -n cybelectl cybelectl-bridge-test -o 'jsonpath={.spec.replicas}')" 2
    become_pod
    in_container first >first.log 2>&1 3>&- &
    pods+=($!)
    wait_for 60 grep -q Leading first.log || { cat first.log && return 1; }
    in_container second >second.log 2>&1 3>&- &
    pods+=($!)
    wait_for 60 grep -q 'Standby.*the Lease is held by' second.log || { cat second.log && return 1; }
    job of-first
    ends of-first Succeeded 90
    run_crun kill "first-$unique" KILL
    start=$SECONDS
    job of-second
    wait_for 60 grep -q Leading second.log || { cat second.log && return 1; }
    echo "the second pod leads $((SECONDS - start)) s after the first was killed" >&3
    ((SECONDS - start <= 36))
    ends of-second Succeeded 90
    assert_equal "$(runs_of of-first) $(runs_of of-second) $(asked sbatch)" '1 1 2'
    run ! grep of-second first.log
    run_crun kill "second-$unique" TERM
    run_crun delete --force "first-$unique" || true
    wait "${pods[@]}" || true
    cp plain.json config.json
}

@test "what is not a release archive does not become an image" {
    touch other.tar.xz cybelectl-1.0-linux-x86_64.tar.xz
    run -1 "$repo/packaging/oci" -o "$place/none" other.tar.xz
    assert_output --partial 'is not named cybelectl-VERSION-linux-ARCHITECTURE.tar.xz'
    run -1 "$repo/packaging/oci" -o "$place/none" cybelectl-1.0-linux-x86_64.tar.xz
    assert_output --partial 'cannot be read'
    assert_equal "$(find none -type f 2>/dev/null)" ''
}
