# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge install | check | status` on a real API server, and a bridge with the rights that they give and no more. A minute.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    kubectl create namespace physics >&2
    write_bridge
    sed -i 's/namespace: default/namespace: physics/; s/^poll/namespaces: [physics]\npoll/' bridge.yaml
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log
    export space=physics
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# as_account: bridge.conf, the kubeconfig of the bridge's service account.
as_account() {
    sed "s|users:.*|users: [{name: admin, user: {token: \"$(kubectl create token cybelectl-bridge -n cybelectl)\"}}]|; \
        s|user: admin}|user: admin, namespace: cybelectl}|" kubernetes/kubeconfig >bridge.conf
}

@test "install prints the same bytes each time, the server accepts all of them, and no right has a wildcard" {
    run -0 --separate-stderr "$CYBELECTL" bridge install --image registry.example.org/cybelectl:1
    "$CYBELECTL" bridge install --image registry.example.org/cybelectl:1 -o again.yaml
    assert_equal "$output" "$(cat again.yaml)"
    refute_line --partial '"*"'
    refute_line --regexp '(verbs|resources|apiGroups): \[\*'
    kubectl create namespace cybelectl
    kubectl apply --dry-run=server --validate=strict -f again.yaml
    assert_equal "$(kubectl apply --dry-run=server -f again.yaml -o 'jsonpath={.items[?(@.kind=="Deployment")].spec.replicas}')" 1
    # Two pods, and a queue of requests of its own, which the requests of the service account then enter.
    "$CYBELECTL" bridge install --image registry.example.org/cybelectl:1 --ha --flow-schema -o two.yaml
    assert_equal "$(kubectl apply --dry-run=server --validate=strict -f two.yaml -o 'jsonpath={.items[?(@.kind=="Deployment")].spec.replicas}')" 2
    assert_equal "$(diff again.yaml two.yaml | grep -c '^<')" 1 # the number of pods
    # Applied by itself, it is what kubectl would apply.
    run -0 "$CYBELECTL" bridge install --flow-schema --apply
    assert_line 'CustomResourceDefinition/slurmjobs.cybelectl.io applied'
    assert_line 'FlowSchema/cybelectl-bridge applied'
    "$CYBELECTL" bridge install --flow-schema | kubectl diff --server-side --field-manager cybelectl -f -
    run -2 "$CYBELECTL" bridge install --apply -o nowhere.yaml
    sleep 1
    kubectl get --raw /api/v1/namespaces/physics --as system:serviceaccount:cybelectl:cybelectl-bridge -v 8 >flow 2>&1 || :
    grep -qi "X-Kubernetes-Pf-Flowschema-Uid: $(kubectl get flowschema cybelectl-bridge -o 'jsonpath={.metadata.uid}')" flow
    # No bridge runs: what a RoleBinding waits for is removed by hand, as the page says.
    kubectl patch rolebinding cybelectl-bridge-test -n physics --type merge -p '{"metadata": {"finalizers": null}}'
    "$CYBELECTL" bridge install --flow-schema | kubectl delete --timeout=60s -f - >&2
    assert_equal "$(kubectl get clusterroles,rolebindings,roles,crds,validatingadmissionpolicies -A -o name | grep cybelectl || true)" ''
    run -0 --separate-stderr "$CYBELECTL" bridge install
    refute_line 'kind: Deployment'
    refute_line 'kind: FlowSchema'
    run -2 "$CYBELECTL" bridge install --ha
}

@test "install warns of what a pod does not have, of the account root, and of rows that are not served" {
    mkdir -p warned
    cp site.yaml warned/
    printf '%s\n' 'kind: Bridge' 'name: warned' 'site: site.yaml' 'namespaces: [physics]' 'reader: {ssh: reader@login.example, key: keys/reader}' \
        'accounts:' '  - {namespace: physics, account: root, workdir: /root/jobs}' \
        '  - {namespace: chemistry, account: eve, way: {ssh: eve@login.example, key: /etc/cybelectl-keys/eve}, workdir: /home/eve}' >warned/bridge.yaml
    run -0 --separate-stderr "$CYBELECTL" bridge install --config warned/bridge.yaml --image registry.example.org/cybelectl:1
    grep -q 'kind: Deployment' <<<"$output"
    local what
    while read -r what; do
        grep -qF "warning: $what" <<<"$stderr"
    done <<'WARNINGS'
jobs would run as root
namespace 'chemistry' is not served
the pod has no commands of a batch system
the pod has no file 'reader' there
WARNINGS
    assert_equal "$(grep -c '^warning: ' <<<"$stderr")" 4
    run -0 --separate-stderr "$CYBELECTL" bridge install --config warned/bridge.yaml
    assert_equal "$(grep -c '^warning: ' <<<"$stderr")" 2
}

@test "install and check refuse a login as root or as another user, results in each folder, and a Policy that nodes would not find" {
    mkdir -p refused
    {
        cat site.yaml
        echo 'verify: policy.yaml'
    } >refused/site.yaml
    printf '%s\n' 'kind: Bridge' 'name: refused' 'site: site.yaml' 'reader: {ssh: root@login.example}' 'managed-jobs: true' 'accounts:' \
        '  - {namespace: physics, account: alice, way: {ssh: bob@login.example}, workdir: /home/alice}' \
        '  - {namespace: physics, account: eve, way: {ssh: root@login.example, sudo: true}, workdir: /home/eve, results-roots: [/]}' >refused/bridge.yaml
    local what verb
    for verb in install check; do
        run "$CYBELECTL" bridge "$verb" --config refused/bridge.yaml
        assert_equal "$status" 3
        refute_line 'kind: ClusterRole'
        while read -r what; do
            assert_line "error: $what"
        done <<'ERRORS'
the reader would log in as root
account alice is reached as the user bob
the bridge would log in as root
'/' admits results in each folder
'policy.yaml' would not be found on the nodes
ERRORS
        assert_line 'help: write `ssh: alice@login.example`'
    done
    [[ ! -e refused/out.yaml ]]
    run -3 "$CYBELECTL" bridge install --config refused/bridge.yaml -o refused/out.yaml
    [[ ! -e refused/out.yaml ]]
    # Images whose tag names whatever was pushed last.
    run -0 --separate-stderr "$CYBELECTL" bridge install --image registry.example.org/cybelectl:latest
    grep -qF "warning: image 'registry.example.org/cybelectl:latest' names no version" <<<"$stderr"
}

@test "with the rights of install and no more, check finds nothing and a job runs from apply to its end" {
    "$CYBELECTL" bridge install | kubectl apply -f -
    as_account
    run -0 as_bridge "$CYBELECTL" bridge check --kubeconfig bridge.conf
    assert_line 'ok: 14 rights on the API server'
    assert_line "ok: account $user for namespace physics, this machine"
    assert_line --regexp '^ok: queue: [0-9]+ jobs? of all users'
    run "$CYBELECTL" bridge status --kubeconfig kubernetes/kubeconfig -n cybelectl
    assert_equal "$status" 6
    assert_line --regexp '^leader: none, no bridge holds the Lease cybelectl/cybelectl-bridge-.*; -n NAME looks in another namespace$'
    start_bridge one --kubeconfig bridge.conf
    job able
    ends able Succeeded
    # The order of what it did, and that it was able to write an Event.
    kubectl get events.events.k8s.io -n physics -o 'jsonpath={.items[*].reason}' | grep -q Submitted
    run -0 "$CYBELECTL" bridge status --kubeconfig kubernetes/kubeconfig -n cybelectl
    assert_line --regexp '^leader: .*_'
    assert_line '  Succeeded: 1'
    run -0 "$CYBELECTL" bridge status --kubeconfig kubernetes/kubeconfig -n cybelectl --format json
    assert_equal "$(jq -r '.phases.Succeeded' <<<"$output")" 1
    # The Deployment's probe asks no server: while none answers, the bridge is well.
    grep -F 'command: [cybelectl, bridge, status, --alive, ' <("$CYBELECTL" bridge install --image registry.example.org/c:1)
    run -0 "$CYBELECTL" bridge status --alive --kubeconfig /dev/null
    assert_output ''
    kill -s STOP "$(cat one.pid)"
    touch -d '6 minutes ago' "$CYBELE_STATE_DIR"/bridge-*.alive
    run -5 "$CYBELECTL" bridge status --alive
    assert_line --partial 'was not renewed within five minutes'
    kill -s CONT "$(cat one.pid)"
    # shellcheck disable=SC2317 # called by wait_for
    is_alive() { "$CYBELECTL" bridge status --alive; }
    wait_for 20 is_alive
}

@test "a namespace that the bridge may not read yet: the others are served meanwhile, and its own objects when it may" {
    cp bridge.yaml both.yaml
    sed -i "s/^namespaces: .*/namespaces: [physics, later]/; s|^  - {namespace: physics.*|&\n  - {namespace: later, account: $user, workdir: $place/work}|" both.yaml
    PATH=$place/commands:$PATH "$CYBELECTL" bridge run --config both.yaml --kubeconfig bridge.conf >>one.log 2>&1 3>&- &
    echo $! >one.pid
    job meanwhile
    ends meanwhile Succeeded 60
    wait_for 20 grep -q 'Trouble: .*later' one.log || { cat one.log && return 1; }
    kubectl create namespace later
    "$CYBELECTL" bridge install --config both.yaml | kubectl apply -f - >&2
    space=later job afterwards
    space=later ends afterwards Succeeded 120
    kill -0 "$(cat one.pid)"
}

# serves_also NAMESPACE: the bridge serves one more, with the rights of install.
serves_also() {
    sed -i "s/^namespaces: .*/namespaces: [physics, $1]/; s|^  - {namespace: physics.*|&\n  - {namespace: $1, account: $user, workdir: $place/work}|" bridge.yaml
    kubectl create namespace "$1"
    "$CYBELECTL" bridge install | kubectl apply -f - >&2
}
is_gone() { ! kubectl get "$@" 2>/dev/null; }

@test "a namespace that is deleted: the bridge keeps its rights there until its jobs have ended, also one that starts later" {
    local id usual
    usual=$(cat bridge.yaml)
    serves_also fleeting
    as_account
    start_bridge one --kubeconfig bridge.conf
    job stays "sleep 300.$unique"
    space=fleeting job lives "sleep 300.$unique"
    ends stays Running
    space=fleeting ends lives Running
    id=$(space=fleeting field lives .status.jobId)
    kubectl delete namespace fleeting --wait=false
    wait_for 120 is_gone namespace fleeting || { kubectl get slurmjobs,rolebindings -n fleeting -o yaml && cat one.log && return 1; }
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    grep -q 'Released: the RoleBinding in fleeting' one.log
    reaches stays Running
    # Made again while the bridge runs, and deleted while none does.
    kubectl create namespace fleeting
    "$CYBELECTL" bridge install | kubectl apply -f - >&2
    space=fleeting job again "sleep 300.$unique"
    space=fleeting ends again Running 120
    id=$(space=fleeting field again .status.jobId)
    stop_bridge one
    kubectl delete namespace fleeting --wait=false
    is_leaving() { [[ $(kubectl get rolebinding cybelectl-bridge-test -n fleeting -o 'jsonpath={.metadata.deletionTimestamp}') == 20* ]]; }
    wait_for 60 is_leaving
    start_bridge two --kubeconfig bridge.conf
    wait_for 120 is_gone namespace fleeting || { kubectl get slurmjobs,rolebindings -n fleeting -o yaml && cat two.log && return 1; }
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    # Deleted by itself, a RoleBinding waits for the jobs of its namespace.
    kubectl delete rolebinding cybelectl-bridge-test -n physics --wait=false
    sleep 3
    reaches stays Running
    kubectl get rolebinding cybelectl-bridge-test -n physics
    kubectl delete slurmjob stays -n physics --wait=true --timeout=60s
    wait_for 30 is_gone rolebinding cybelectl-bridge-test -n physics
    printf '%s\n' "$usual" >bridge.yaml
}

@test "the policies: an account needs the verb use, and the finalizer is the bridge's alone" {
    "$CYBELECTL" bridge install | kubectl apply -f -
    is_refused() { # until the policies are loaded
        ! kubectl patch slurmjob -n physics able --type merge -p '{"metadata": {"finalizers": ["cybelectl.io/batch-job"]}}' 2>refusal
    }
    job able
    wait_for 20 is_refused
    grep -q 'only the bridge' refusal
    kubectl create serviceaccount -n physics eve
    kubectl create rolebinding -n physics eve --clusterrole=edit --serviceaccount=physics:eve
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: named, namespace: physics}' \
        "spec: {account: $user, batch: \"#!/bin/sh\\ntrue\\n\"}" >named.yaml
    as_eve() { kubectl --as=system:serviceaccount:physics:eve "$@"; }
    is_denied() { ! as_eve create -f named.yaml --dry-run=server 2>refusal && grep -q 'needs the verb use' refusal; }
    wait_for 20 is_denied
    kubectl create role -n physics users --verb=use --resource=accounts.cybelectl.io --resource-name="$user" || kubectl create -f - <<END
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: users, namespace: physics},
 rules: [{apiGroups: [cybelectl.io], resources: [accounts], resourceNames: [$user], verbs: [use]}]}
END
    kubectl create rolebinding -n physics users --role=users --serviceaccount=physics:eve
    is_allowed() { as_eve create -f named.yaml --dry-run=server; }
    wait_for 10 is_allowed
    # Who has the verb forget may release a deleted object; who may edit objects may not.
    job stuck
    kubectl --as=system:serviceaccount:cybelectl:cybelectl-bridge patch slurmjob -n physics stuck --type merge \
        -p '{"metadata": {"finalizers": ["cybelectl.io/batch-job"]}}'
    kubectl delete slurmjob -n physics stuck --wait=false
    run ! as_eve patch slurmjob -n physics stuck --type merge -p '{"metadata": {"finalizers": []}}'
    run -0 "$CYBELECTL" bridge forget physics/stuck
    run ! kubectl get slurmjob -n physics stuck
    run ! as_eve patch slurmjob -n physics able --subresource status --type merge -p '{"status": {"jobId": "1"}}'
}

@test "check finds a missing right, a missing definition, a wrong account and a missing folder, each with its remedy" {
    kubectl create serviceaccount -n physics nobody
    as_account
    sed -i "s|token: \".*\"|token: \"$(kubectl create token nobody -n physics)\"|" bridge.conf
    run as_bridge "$CYBELECTL" bridge check --kubeconfig bridge.conf
    assert_equal "$status" 5
    assert_line 'error: 14 of 14 rights are missing'
    assert_line --partial 'help: apply what `cybelectl bridge install` prints'
    cp bridge.yaml wrong.yaml
    sed -i "s/account: $user/account: nobody/" wrong.yaml
    run as_bridge "$CYBELECTL" bridge check --config wrong.yaml
    assert_equal "$status" 5
    assert_line "error: commands for nobody run as $user"
    cp bridge.yaml wrong.yaml
    sed -i 's|/work}|/nowhere}|' wrong.yaml
    run as_bridge "$CYBELECTL" bridge check --config wrong.yaml
    assert_equal "$status" 5
    assert_line --partial 'nowhere'
    sed 's/scheduler: slurm/scheduler: torque/' site.yaml >torque.yaml
    sed 's/site.yaml/torque.yaml/' bridge.yaml >wrong.yaml
    kubectl delete crd torquejobs.cybelectl.io
    run as_bridge "$CYBELECTL" bridge check --config wrong.yaml
    assert_line 'error: the API server does not know the kind TorqueJob'
    assert_line 'help: cybelectl kube crd TorqueJob | kubectl apply -f -'
    run as_bridge "$CYBELECTL" bridge check --kubeconfig /nonexistent
    assert [ "$status" -ne 0 ]
    # A definition of an older version, which would drop what the bridge writes.
    "$CYBELECTL" kube crd SlurmJob | sed 's/^\( *\)submitToken:$/\1oldToken:/' | kubectl apply -f -
    is_outdated() {
        run as_bridge "$CYBELECTL" bridge check
        [[ $status == 3 && $output == *'the resource definition of SlurmJob is not that of this version'* ]]
    }
    wait_for 30 is_outdated
    assert_line 'because: it has no fields status.submitToken'
    assert_line 'help: cybelectl kube crd SlurmJob | kubectl apply -f -'
    "$CYBELECTL" kube crd SlurmJob | kubectl apply -f -
    is_current() { as_bridge "$CYBELECTL" bridge check; }
    wait_for 30 is_current
}

@test "check reports a login host whose key is not known, with the remedy" {
    # An sshd is on each node; this machine has never seen its key, and sees nothing but the nodes' network.
    sed "s|workdir: |way: {ssh: \"root@10.77.0.11\"}, &|" bridge.yaml >unknown.yaml
    run "$parts_dir/slurm" net "$place" "$CYBELECTL" bridge check --config unknown.yaml
    assert_failure
    assert_line --partial 'Host key verification failed'
    assert_line --partial 'ssh root@10.77.0.11'
}

@test "check --probe submits a held job, finds it and cancels it, and says what the site does to it" {
    local before
    write_bridge
    before=$(find work -path '*/claim-1' | wc -l)
    run -0 as_bridge "$CYBELECTL" bridge check --probe
    assert_line "ok: probe of account $user: a held job was found and cancelled"
    assert_equal "$(in_queue)" ''
    # A site whose sbatch replaces the comment, and one that refuses the job.
    mv commands/sbatch commands/real
    printf '%s\n' '#!/bin/bash' 'set -- "${@/--comment=*/--comment=site}"' "exec '$place/commands/real' \"\$@\"" >commands/sbatch
    chmod +x commands/sbatch
    run as_bridge "$CYBELECTL" bridge check --probe
    assert_equal "$status" 5
    assert_line --regexp '^error: job [0-9]+ of .* lost its token$'
    printf '%s\n' '#!/bin/bash' "echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2" 'exit 1' >commands/sbatch
    run as_bridge "$CYBELECTL" bridge check --probe
    assert_equal "$status" 5
    assert_line "error: $user cannot submit a held job"
    assert_line --partial 'Invalid account'
    # One that does not hold jobs.
    printf '%s\n' '#!/bin/bash' 'for one; do shift; [[ $one == --hold ]] || set -- "$@" "$one"; done' "exec '$place/commands/real' \"\$@\"" >commands/sbatch
    run as_bridge "$CYBELECTL" bridge check --probe
    assert_equal "$status" 5
    assert_line --regexp '^error: job [0-9]+ of .* is not held$'
    assert_line --partial 'help: ask the site'
    mv commands/real commands/sbatch
    assert_equal "$(in_queue)" ''
    assert_equal "$(find work -path '*/claim-1' | wc -l)" "$before"
}
