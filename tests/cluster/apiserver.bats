# SPDX-License-Identifier: Apache-2.0
# The client of API servers (apiserver/) against a real one with etcd, and through a proxy that cuts, delays and refuses. Two minutes;
# the first time on a machine seven more, for the server is built.
# shellcheck disable=SC2094 # an identity and the file of its output have one name
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    export KUBECONFIG=$place/kubernetes/kubeconfig
    # `plains` has no watch cache: its watches are etcd's, which forgets by compaction.
    APISERVER_OPTIONS='--watch-cache-sizes=plains.test.example#0' "$parts_dir/kubernetes" start "$place" >&2
    export client=${APISERVER_CLIENT:-$(dirname "$CYBELECTL")/../tests/apiserver_client}
    export things=/apis/test.example/v1/namespaces/default/things plains=/apis/test.example/v1/namespaces/default/plains
    define things thing Thing
    define plains plain Plain
    printf '{"apiVersion": "test.example/v1", "kind": "Thing", "metadata": {}, "spec": {"text": "%0500d"}}' 0 >thing.json
    mkdir proxy
    mkfifo proxy/life
    "$parts_dir/apiserver-proxy" "$place/kubernetes" "$place/proxy" <proxy/life >/dev/null 2>proxy/errors 3>&- &
    exec {life}>proxy/life
    : "$life"
    wait_for 20 test -e proxy/kubeconfig
}
setup() {
    cd "$place" || return
    exec {life}>proxy/life # the proxy ends with the last writer
    : >proxy/control
    rm -f proxy/log proxy/upstream seen one two three
    followers=()
}
teardown() {
    local pid
    for pid in "${followers[@]}"; do end_process "$pid"; done
}
teardown_file() {
    "$parts_dir/kubernetes" stop "$place"
    "$parts_dir/kubernetes" stop "$place/past"
    leave_place
}

kubectl() { "$parts_dir/kubernetes" kubectl 1.34 "$@"; }

# define PLURAL SINGULAR KIND
define() {
    kubectl create -f - >&2 <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $1.test.example}
spec:
  group: test.example
  scope: Namespaced
  names: {plural: $1, singular: $2, kind: $3}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {text: {type: string}}}
          status: {type: object, properties: {word: {type: string}}}
END
    wait_for 30 kubectl wait --for=condition=Established "crd/$1.test.example" --timeout=10s
}

# thing NAME [KIND]: creates one.
thing() { kubectl create -f - <<<"{apiVersion: test.example/v1, kind: ${2:-Thing}, metadata: {name: $1}}"; }
mark() { kubectl patch thing "$1" --subresource status --type merge -p "{\"status\": {\"word\": \"$2\"}}"; }
through_proxy() { KUBECONFIG=$place/proxy/kubeconfig "$@"; }
fault() { echo "$1 $2" >proxy/control; }
is_used_up() { [[ ! -s proxy/control ]]; }

# follow FILE ARG…: a follower in the background whose output goes into FILE.
follow() {
    "$client" follow "${@:2}" >"$1" 2>&1 3>&- &
    followers+=($!)
    wait_for 20 grep -q '^listed' "$1"
}
# shows FILE SECONDS LINE: the follower has printed that line.
shows() {
    wait_for "$2" grep -qxF -- "$3" "$1" || { cat "$1" && return 1; }
}
# follow_through_proxy FILE ARG…
follow_through_proxy() {
    KUBECONFIG=$place/proxy/kubeconfig "$client" follow "${@:2}" >"$1" 2>&1 3>&- &
    followers+=($!)
    wait_for 20 grep -q '^listed' "$1"
}

@test "1,500 objects are listed in pages, additions, changes and deletions are seen, within a bounded memory" {
    run "$client" create "$things" thing.json 1500
    assert_output 'done 1500'
    follow_through_proxy seen "$things" 60000
    grep -q '^listed 1500' seen
    [[ $(grep -c 'limit=500' proxy/log) == 3 && $(grep -c 'continue=' proxy/log) == 2 ]]
    (($(sed -n 's/.*resident *\([0-9]*\) kB/\1/p' seen) < 40000))
    thing extra
    mark extra hello
    kubectl delete thing extra
    shows seen 10 '- extra'
    assert_equal "$(grep -c trouble seen)" 0
    assert_equal "$(grep '[+-] extra' seen)" "$(printf '%s\n' '+ extra' '+ extra hello' '- extra')"
}

@test "a watch whose revision etcd has forgotten: the 410 inside of an HTTP 200 leads to a new list" {
    local revision
    thing one Plain
    follow_through_proxy seen "$plains" 2000
    fault 503 1000 # until the changes are made and forgotten
    wait_for 20 grep -q 503 proxy/log
    thing two Plain
    thing three Plain
    revision=$(kubectl get plain three -o 'jsonpath={.metadata.resourceVersion}')
    curl -fsS "http://127.0.0.1:$(cat kubernetes/etcd.port)/v3/kv/compaction" -d "{\"revision\": $revision}"
    is_listed_again() { : >proxy/control && grep -q '^listed 3' seen; } # each time: the proxy may just be counting down
    wait_for 30 is_listed_again
    assert_equal "$(grep -c '^begin' seen)" 2
}

@test "a cut stream, half a line, half a list, 429 and 503 as plain text: no change is missed" {
    local name turn=0
    thing watched
    follow_through_proxy seen "$things" 3000
    for name in half down 429 503 half; do
        turn=$((turn + 1))
        fault "$name" 2
        mark watched "turn-$turn"
        wait_for 30 is_used_up
        shows seen 20 "+ watched turn-$turn"
    done
    for name in cut short 429 503 down; do
        fault "$name" 1
        follow_through_proxy "list-$name" "$things" 3000
        grep -q "^listed $(kubectl get things -o name | wc -l)" "list-$name"
    done
    assert_equal "$(grep -c '^begin' seen)" 1
}

@test "the store of the server is put back to the past: this is reported, and all is listed again" {
    local now
    thing of-today
    follow_through_proxy seen "$things" 3000
    now=$(kubectl get thing of-today -o 'jsonpath={.metadata.resourceVersion}')
    "$parts_dir/kubernetes" start "$place/past"
    (
        export KUBECONFIG=$place/past/kubernetes/kubeconfig
        define things thing Thing
        thing of-the-past
    )
    echo "$place/past/kubernetes" >proxy/upstream
    fault down 1
    wait_for 30 grep -q '^rewound from' seen
    (($(sed -n 's/rewound from [0-9]* to //p' seen) < now))
    wait_for 20 grep -q '^listed 1,' seen
    "$parts_dir/kubernetes" stop "$place/past"
}

@test "two writers of one state: one wins, the other gets a conflict" {
    thing raced
    run "$client" race "$things/raced"
    assert_line 'conflict 1'
    assert_line 'done 1'
}

@test "a patch that was lost is repeated; one whose answer was lost is not" {
    thing patched
    revision() { kubectl get thing patched -o 'jsonpath={.metadata.resourceVersion}'; }
    fault lost 1
    run through_proxy "$client" once "$things/patched" "$(revision)"
    assert_line 'done 1'
    assert_equal "$(cut -d ' ' -f 1,3 proxy/log)" "$(printf '%s\n' 'PATCH lost' 'GET 200' 'PATCH 200')"
    rm proxy/log
    mark patched other
    fault unanswered 1
    run through_proxy "$client" once "$things/patched" "$(revision)"
    assert_line 'conflict 1'
    assert_equal "$(cut -d ' ' -f 1,3 proxy/log)" "$(printf '%s\n' 'PATCH unanswered' 'GET 200')"
    assert_equal "$(kubectl get thing patched -o 'jsonpath={.status.word}')" once
}

@test "status, finalizers and deletions reach the object with the right uid only, and the status only where it is as it was seen" {
    thing fenced
    run "$client" fences "$things/fenced" 00000000-0000-0000-0000-000000000000
    assert_output - <<'END'
status, other uid: conflict
status, a word in place of the status: conflict
status, not valid: refused
status, its uid, none yet: done
status, none yet: conflict
status, no word yet: conflict
status, another word: conflict
status, another revision: conflict
status, its word, its revision, nothing else: done
finalizer, old state: conflict
finalizer: done
deletion, other uid: conflict
deletion: done
is being deleted
removal, other uid: conflict
removal: done
status, of nothing: gone
END
}

@test "a token that is replaced in its file leaves no gap; a revoked one is reported, a new one is accepted" {
    local account name
    mkdir account
    cp kubernetes/ca.crt account/
    printf default >account/namespace
    kubectl create clusterrole things-reader --verb=get,list,watch --resource=things.test.example
    for account in a b c; do
        kubectl create serviceaccount "$account"
        kubectl create clusterrolebinding "things-$account" --clusterrole=things-reader "--serviceaccount=default:$account"
        kubectl create token "$account" --duration=10m >"$account.token"
    done
    put() { cp "$1.token" account/token.new && mv account/token.new account/token; }
    put a
    (
        unset KUBECONFIG
        export HOME=/nonexistent SERVICE_ACCOUNT=$place/account KUBERNETES_SERVICE_HOST=127.0.0.1
        KUBERNETES_SERVICE_PORT=$(sed -n 's/.*127.0.0.1:\([0-9]*\)".*/\1/p' kubernetes/kubeconfig)
        export KUBERNETES_SERVICE_PORT
        exec "$client" follow "$things" 2000
    ) >seen 2>&1 3>&- &
    followers+=($!)
    wait_for 20 grep -q '^listed' seen
    put b
    kubectl delete serviceaccount a
    sleep 12 # the server remembers a token for ten seconds
    thing after-replacement
    shows seen 10 '+ after-replacement'
    assert_equal "$(grep -c trouble seen)" 0
    kubectl delete serviceaccount b
    wait_for 30 grep -q '^trouble: it answered with status 401' seen
    run grep -F "$(cut -c 1-20 b.token)" seen
    assert_failure
    put c
    wait_for 30 grep -q '^recovered' seen
    thing after-revocation
    shows seen 10 '+ after-revocation'
}

@test "kubeconfigs: a token and its file, a program, certificates as text" {
    local port user
    port=$(sed -n 's/.*127.0.0.1:\([0-9]*\)".*/\1/p' kubernetes/kubeconfig)
    kubectl create serviceaccount reader
    kubectl create clusterrolebinding things-of-reader --clusterrole=cluster-admin --serviceaccount=default:reader
    kubectl create token reader >reader.token
    printf '#!/bin/sh\n[ "$KIND" = x ] && printf %s "{\\"status\\": {\\"token\\": \\"$(cat reader.token)\\"}}"\n' '%s' >give
    sed -i "s/printf %s /printf '%s' /" give
    chmod +x give
    for user in "token: $(cat reader.token)" 'tokenFile: reader.token' \
        'exec: {apiVersion: client.authentication.k8s.io/v1, command: ./give, env: [{name: KIND, value: x}]}' \
        "client-certificate-data: $(base64 -w 0 kubernetes/admin.crt), client-key-data: $(base64 -w 0 kubernetes/admin.key)"; do
        cat >one.kubeconfig <<END
current-context: one
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port", certificate-authority-data: $(base64 -w 0 kubernetes/ca.crt)}}]
users: [{name: u, user: {$user}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
END
        KUBECONFIG=one.kubeconfig run "$client" follow "$plains" 2000 3
        assert_line --regexp '^listed [0-9]'
    done
    # Another authority: the server is not trusted.
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=other -keyout other.key -out other.crt 2>/dev/null
    sed -i "s/certificate-authority-data: [^}]*/certificate-authority: other.crt/" one.kubeconfig
    KUBECONFIG=one.kubeconfig run "$client" follow "$plains" 2000 5
    assert_line --partial 'trouble: SSL certificate problem'
}

@test "a Lease passes on when its holder is killed, not before it was still for its time, and at once when it is given back" {
    local first died held
    "$client" lease default leader one 6000 1000 4000 600 >one 2>&1 3>&- &
    first=$!
    wait_for 10 grep -q held one
    "$client" lease default leader two 6000 1000 4000 600 >two 2>&1 3>&- &
    followers+=($!)
    sleep 8
    assert_equal "$(cat two)" ''
    kill -KILL "$first"
    died=$(awk '{print int($1 * 1000)}' /proc/uptime)
    wait_for 20 grep -q held two
    held=$(sed -n 's/held //p' two)
    # Still for 6 s after its last renewal, which is at most 1 s old; seen at most 0.66 s late.
    ((held - died >= 4500 && held - died <= 7500))
    assert_equal "$(kubectl get lease leader -o 'jsonpath={.spec.holderIdentity} {.spec.leaseTransitions}')" 'two 1'
    "$client" lease default leader three 6000 1000 4000 600 >three 2>&1 3>&- &
    followers+=($!)
    sleep 2
    end_process "${followers[0]}"
    grep -q released two
    wait_for 3 grep -q held three
}

@test "a holder that is stopped for longer than its time has lost the Lease when it goes on" {
    local first
    "$client" lease default sleepers one 4000 500 2500 500 >one 2>&1 3>&- &
    first=$!
    followers+=("$first")
    wait_for 10 grep -q held one
    "$client" lease default sleepers two 4000 500 2500 500 >two 2>&1 3>&- &
    followers+=($!)
    kill -STOP "$first"
    wait_for 15 grep -q held two
    kill -CONT "$first"
    wait_for 5 grep -q lost one
    sleep 3
    assert_equal "$(wc -l <one) $(wc -l <two)" '2 1'
}

@test "one Event counts what happened again; in a namespace that is being deleted none is left waiting" {
    run "$client" events default 3
    assert_output 'written 3, dropped 0'
    run kubectl get events.events.k8s.io -o 'jsonpath={range .items[?(@.reason=="Tried")]}{.series.count} {.note} {.type}{end}'
    assert_output '3 a note Normal'
    kubectl create namespace going
    kubectl -n going create configmap keeper
    kubectl -n going patch configmap keeper --type merge -p '{"metadata": {"finalizers": ["test.example/keeper"]}}'
    kubectl delete namespace going --wait=false
    run "$client" events going 1
    assert_line 'written 0, dropped 1'
    kubectl -n going patch configmap keeper --type merge -p '{"metadata": {"finalizers": null}}'
}

@test "status patches on a connection that stays open" {
    run "$client" status "$things" 300 1
    assert_line 'done 300'
    (($(sed -n 's/ patches per second.*//p' <<<"$output") >= 25))
}
