# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge logs | orphans | forget | accept` between a real API server and a real Slurm. Two minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() { start_bridge_parts; }
setup() {
    enter_nodes
    rm -f ran calls ./*.log
    write_bridge
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

bridge() { as_bridge "$CYBELECTL" bridge "$@"; }
has_job() { [[ -n $(field "$1" .status.jobId) ]]; }

@test "logs prints the output of an object's job, follows it until the end, and says what is missing" {
    start_bridge one
    directive='#SBATCH --job-name=spoken' job talks 'echo first' 'echo trouble >&2' 'sleep 4' 'echo last'
    wait_for 30 reaches talks Running
    run -0 timeout 60 "$CYBELECTL" bridge logs --follow default/talks
    assert_equal "$output" $'first\ntrouble\nlast'
    ends talks Succeeded
    run -0 bridge logs default/talks --stderr
    assert_equal "$output" $'first\ntrouble\nlast' # Slurm writes both into slurm-ID.out
    run -0 bridge logs default/talks --format json
    assert_equal "$(jq -r .text <<<"$output")" $'first\ntrouble\nlast'
    directive="#SBATCH --output=logs-%x-%j --error=errors-%j" job apart 'echo out' 'echo err >&2'
    ends apart Succeeded
    run -0 bridge logs default/apart
    assert_equal "$output" out
    run -0 bridge logs --stderr default/apart
    assert_equal "$output" err
    rm work/errors-*
    run -3 bridge logs --stderr default/apart
    assert_line --partial 'does not exist'
    run -3 bridge logs default/nosuch
    assert_line 'error: SlurmJob default/nosuch does not exist'
    run -2 bridge logs nosuch
    assert_line --partial 'NAMESPACE/NAME'
}

@test "orphans lists jobs without an object, not those that are to run on, and --cancel ends them" {
    local lost kept
    start_bridge one
    job lost "sleep 300.$unique"
    on_delete=Orphan job kept "sleep 300.$unique"
    job stays "sleep 300.$unique"
    for name in lost kept stays; do wait_for 30 has_job "$name"; done
    lost=$(field lost .status.jobId)
    kept=$(field kept .status.jobId)
    run -0 bridge orphans
    assert_equal "$output" ''
    kubectl delete slurmjob kept --wait=true --timeout=20s
    stop_bridge one KILL
    kubectl patch slurmjob lost --type merge -p '{"metadata": {"finalizers": []}}'
    kubectl delete slurmjob lost --wait=true --timeout=20s
    run -0 bridge orphans
    assert_output --regexp "^job $lost of $user, [A-Z]+, of default/lost, uid [0-9a-f-]{36}\$"
    run -0 bridge orphans --format json
    assert_equal "$(jq -r '.job + " " + .object' <<<"$output")" "$lost default/lost"
    # A restart does not cancel it: it is merely missing.
    start_bridge one
    wait_for 60 grep -q Leading one.log
    # It is reported once, in the log and as an Event.
    wait_for 60 grep -q "Orphans: jobs without an object: 1; one is job $lost of $user" one.log || { cat one.log && return 1; }
    is_reported() { [[ $(kubectl get events -A -o json | jq -r '.items[] | select(.reason == "JobsWithoutObject") | .involvedObject.name') == cybelectl-bridge-test ]]; }
    wait_for 30 is_reported
    sleep 4
    assert_equal "$(grep -c Orphans: one.log)" 1
    run -0 slurm squeue -h -j "$lost" -o %i
    assert_equal "$output" "$lost"
    run -0 bridge orphans --cancel
    assert_line '1 cancelled'
    assert_equal "$(slurm squeue -h -t all -j "$lost" -o %T)" CANCELLED
    run -0 bridge orphans
    assert_equal "$output" ''
    slurm scancel "$kept"
    kubectl delete slurmjob stays --wait=true --timeout=60s
}

@test "forget releases a deleted object only, and its job is an orphan then" {
    local id
    start_bridge one
    job held "sleep 300.$unique"
    wait_for 30 has_job held
    id=$(field held .status.jobId)
    run -3 bridge forget default/held
    assert_line 'error: default/held was not deleted'
    stop_bridge one KILL
    kubectl delete slurmjob held --wait=false
    run -0 bridge forget default/held
    assert_output "default/held forgotten; job $id of $user may still exist"
    run ! kubectl get slurmjob held
    run -0 bridge orphans
    assert_line --partial "job $id of $user"
    run -0 bridge orphans --cancel
    assert_equal "$(in_queue)" ''
}

@test "an object that is older than the records waits until an administrator accepts it" {
    sed -i 's/^poll:.*/poll: 1 s\nkeep-records: 3 s/' bridge.yaml
    job old
    sleep 5
    start_bridge one
    is_too_old() { [[ $(condition old Accepted reason) == TooOldToBeSure ]]; }
    wait_for 60 is_too_old
    [[ $(condition old Accepted message) == *'cybelectl bridge accept'* ]]
    assert_equal "$(asked sbatch)" 0
    run -0 bridge accept default/old
    ends old Succeeded
    assert_equal "$(runs_of old)" 1
    run -3 bridge accept default/old
    assert_line 'error: default/old does not wait to be accepted'
}
