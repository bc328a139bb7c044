# SPDX-License-Identifier: Apache-2.0
# Results that `cybelectl bridge run` brings back, and how often it writes and asks, on a real API server and a real Slurm. It has the rights
# of `bridge install` and no more. A minute.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    sed -i "s|workdir: \(.*\)}|workdir: \1, results-roots: [$place/results]}|" bridge.yaml
    echo 'namespaces: [default]' >>bridge.yaml
    install_rights
}
setup() {
    enter_nodes
    mkdir -p results
    rm -f ran calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# job_with_results NAME FROM TARGET LINE…
job_with_results() {
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1}" 'spec:' \
            "  results: {from: \"$2\", mount: {name: data, hostPath: {path: $3}}}" '  batch: |' '    #!/bin/sh'
        printf '    %s\n' "${@:4}"
    } >"$1.yaml"
    kubectl apply -f "$1.yaml"
}
is_settled() { [[ -n $(condition "$1" ResultsCollected status) ]]; }

@test "results are copied below an admitted root, after success and failure, with digests and the tail of the output" {
    local id
    start_bridge one
    job_with_results good made "$place/results/good" 'mkdir -p made/deep' 'echo one >made/a' \
        'head -c 2000000 /dev/zero >made/deep/b' 'echo said'
    job_with_results bad 'bad-*' "$place/results/bad" 'echo x >bad-1' 'echo trouble >&2' 'exit 3'
    ends good Succeeded
    ends bad Failed
    wait_for 30 is_settled good
    wait_for 30 is_settled bad
    id=$(field good .status.jobId)
    assert_equal "$(condition good ResultsCollected status) $(condition bad ResultsCollected status)" 'True True'
    assert_equal "$(cat results/good/made/a results/bad/bad-1)" $'one\nx'
    assert_equal "$(stat -c %U results/good/made/a)" "$user"
    assert_equal "$(field good '.status.results[?(@.name=="made/deep/b")].sha256')" \
        "$(sha256sum <work/made/deep/b | cut -d ' ' -f 1)"
    assert_equal "$(field good .status.resultsCount)" 3
    assert_equal "$(field good .status.tail.stdout)" said
    assert_equal "$(field bad .status.tail.stdout)" trouble
    assert_equal "$(field good .status.output.stdout)" "$place/work/slurm-$id.out"
    cmp "work/slurm-$id.out" "results/good/slurm-$id.out"
    # shellcheck disable=SC2317 # called by wait_for
    is_free() { [[ -z $(field good .metadata.finalizers) ]]; }
    wait_for 10 is_free
}

@test "results that are missing, or that lead out of the root, are reported, and the end of the job stays" {
    start_bridge one
    ln -sfn "$place" results/link
    job_with_results lost nosuch "$place/results/lost" true
    job_with_results astray 'ran*' "$place/results/link/out" 'echo x >>ran-astray'
    ends lost Succeeded
    ends astray Succeeded
    wait_for 30 is_settled lost
    wait_for 30 is_settled astray
    assert_equal "$(condition lost ResultsCollected reason)" ResultsMissing
    [[ $(condition lost ResultsCollected message) == *nosuch* ]]
    assert_equal "$(condition astray ResultsCollected reason)" RootNotAdmitted
    job_with_results refused a /etc/cybele true
    is_refused() { [[ $(condition refused Accepted reason) == ResultsRootNotAdmitted ]]; }
    wait_for 20 is_refused
    [[ $(condition refused Accepted message) == *"[$place/results]"*/etc/cybele* ]]
}

@test "at most four copies of an account's results are under way at the same time, and the others follow" {
    local one
    touch hold
    printf '%s\n' '#!/bin/sh' "echo copy >>'$place/copies'" "while [ -e '$place/hold' ]; do sleep 0.2; done" \
        'exec /usr/bin/sha256sum "$@"' >commands/sha256sum
    chmod +x commands/sha256sum
    start_bridge one
    for one in 1 2 3 4 5 6 7; do job_with_results "many-$one" "made-$one" "$place/results/many" "echo $one >made-$one"; done
    for one in 1 2 3 4 5 6 7; do ends "many-$one" Succeeded 120; done
    has_four() { (($(wc -l <copies) >= 4)); }
    wait_for 60 has_four || { cat one.log && return 1; }
    sleep 8
    assert_equal "$(wc -l <copies)" 4
    rm hold
    for one in 1 2 3 4 5 6 7; do
        wait_for 60 is_settled "many-$one"
        assert_equal "$(condition "many-$one" ResultsCollected status) $(cat "results/many/made-$one")" "True $one"
    done
    rm commands/sha256sum
}

# requests VERB RESOURCE: how many the API server has counted.
requests() {
    kubectl get --raw /metrics | grep "^apiserver_request_total{.*resource=\"$2\".*verb=\"$1\"" | awk '{ sum += $NF } END { print sum + 0 }'
}

@test "a job costs at most six writes and two Events" {
    local before events one count=5
    sed -i 's/^poll: .*/poll: 2 s/' bridge.yaml
    start_bridge one
    wait_for 60 grep -q Leading one.log
    before=$(requests PATCH slurmjobs) events=$(requests POST events)
    for one in $(seq $count); do job "cost-$one" 'sleep 4'; done
    for one in $(seq $count); do ends "cost-$one" Succeeded 60; done
    is_free() { for one in $(seq "$count"); do [[ -z $(field "cost-$one" .metadata.finalizers) ]] || return 1; done; }
    wait_for 20 is_free
    stop_bridge one
    echo "$(($(requests PATCH slurmjobs) - before)) writes and $(($(requests POST events) - events)) Events for $count jobs"
    (($(requests PATCH slurmjobs) - before <= 6 * count && $(requests PATCH slurmjobs) - before >= 4 * count))
    (($(requests POST events) - events <= 2 * count && $(requests POST events) - events >= count))
}

@test "with a poll of 15 seconds the queue is asked at most four times per minute, while jobs come and go" {
    local one
    sed -i 's/^poll: .*/poll: 15 s/' bridge.yaml
    start_bridge one
    wait_for 60 grep -q Leading one.log
    rm -f calls
    for one in 1 2 3; do job "slow-$one" 'sleep 20'; done
    sleep 58
    (($(asked squeue) >= 3 && $(asked squeue) <= 4))
    stop_bridge one
    sed -i 's/^poll: .*/poll: 1 s/' bridge.yaml
    start_bridge one
    for one in 1 2 3; do ends "slow-$one" Succeeded 60; done
}
