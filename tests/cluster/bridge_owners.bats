# SPDX-License-Identifier: Apache-2.0
# Two Kubernetes clusters, each with a Bridge of the same name, that submit to one Slurm as one account. A minute and a half.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    "$parts_dir/kubernetes" start "$place/second" >&2
    at_second wait_for 30 has_kind
}
setup() {
    enter_nodes
    rm -f calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() {
    "$parts_dir/kubernetes" stop "$place/second"
    stop_bridge_parts
}

# at_second COMMAND…: with the second API server.
at_second() { KUBECONFIG=$place/second/kubernetes/kubeconfig "$@"; }
has_kind() { "$CYBELECTL" kube crd SlurmJob | kubectl apply -f - && kubectl wait --for=condition=Established crd/slurmjobs.cybelectl.io --timeout=10s; }
bridge() { as_bridge "$CYBELECTL" bridge "$@" --config bridge.yaml; }

@test "two API servers with Bridges of one name and one account: neither takes the other's jobs for orphans, and check says so" {
    local mine other
    start_bridge one
    job mine "sleep 300.$unique"
    wait_for 40 reaches mine Running
    mine=$(field mine .status.jobId)
    # The second one has not run yet.
    run -0 at_second bridge orphans --cancel
    assert_output ''
    run -3 at_second bridge check
    assert_line "error: account $user has jobs of another Bridge named test: 1"
    assert_line --regexp '^because: the uid of its Lease is [0-9a-f-]{36}, and this Bridge has no Lease yet'
    assert_line --partial 'help: give each Bridge that submits to this cluster a `name` of its own'
    at_second start_bridge two
    at_second job other "sleep 300.$unique"
    at_second wait_for 40 reaches other Running
    other=$(at_second field other .status.jobId)
    for side in at_first at_second; do
        run -0 $side bridge orphans --cancel
        assert_output ''
        run -3 $side bridge check
        assert_line "error: account $user has jobs of another Bridge named test: 1"
    done
    assert_equal "$(slurm squeue -h -o '%i %T' | sort)" "$(printf '%s RUNNING\n' "$mine" "$other" | sort)"
    # With a name of its own: this is said, and no error.
    sed 's/^name: test/name: third/' bridge.yaml >third.yaml
    run -0 at_second as_bridge "$CYBELECTL" bridge check --config third.yaml
    assert_line "ok: account $user: jobs of another Bridge named test: 1"
    # A job that lost its object is still found by the Bridge that handed it over, and by that one only.
    stop_bridge one KILL
    kubectl patch slurmjob mine --type merge -p '{"metadata": {"finalizers": []}}'
    kubectl delete slurmjob mine --wait=true --timeout=20s
    run -0 at_second bridge orphans --cancel
    assert_output ''
    run -0 bridge orphans --cancel
    assert_line --partial "job $mine of $user"
    assert_equal "$(in_queue)" "$other"
    at_second kubectl delete slurmjob other --wait=true --timeout=60s
    assert_equal "$(in_queue)" ''
}
at_first() { "$@"; }
