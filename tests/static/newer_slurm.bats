# SPDX-License-Identifier: Apache-2.0
# Slurm 24.11 of Debian 13, in its own root file system with the static program: by its commands and by its REST service.
# A minute, and two more the first time.
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/jobs.bash
load ../cluster/directives.bash
load ../cluster/conversions.bash

setup_file() {
    enter_place
    export place
    mkdir programs
    cp "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}" programs/cybelectl
    root=$("$parts_dir/fixture" slurm-24.11)
    PART_OWNER=$PPID "$parts_dir/slurm" start "$place" 2 "$root" >&2
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

@test "it is Slurm 24.11; submitted and waited for: the id alone, the program's code" {
    run slurm sinfo --version
    assert_output --partial '24.11'
    host_job three 'script: |' '  echo from-there; exit 3'
    run --separate-stderr submit three --wait
    assert_equal "$status" 3
    assert_output --regexp '^[0-9]+$'
    run slurm cybelectl job logs "$output"
    assert_output from-there
    assert_equal "$(jobs_named three)" 1
    host_job nowhere 'command: ["true"]' 'queue: nowhere'
    refuses 6 submit nowhere
    assert_output --partial 'Invalid partition name specified'
}

@test "listed with its reason, cancelled with Slurm's word" {
    host_job long 'command: [sleep, "300"]'
    long=$(submit long)
    wait_for 20 is_in_state long RUNNING
    host_job later 'command: ["true"]' "after: [{job: '$long'}]"
    later=$(submit later)
    run slurm cybelectl job list
    assert_line --regexp "^$long +long +slurm +running"
    assert_line --regexp "^$later +later +slurm +pending .*Dependency"
    run slurm cybelectl job cancel "$long" "$later"
    assert_success
    assert is_in_state long CANCELLED
    assert is_in_state later CANCELLED
    run slurm cybelectl job wait "$later"
    assert_equal "$status" 143
}

@test "Slurm has what the fields and the directives of a Job ask for" {
    directives_are_seen
}

@test "scripts as people write them leave the same before and after \`job convert\`" {
    scripts_run_the_same '^#!.*csh\|apptainer' # csh and Apptainer are not in this root file system
    [ "$count" -ge 21 ]
}

@test "an array; a job that Slurm alone tells the end of" {
    host_job many 'script: exit $((CYBELE_ARRAY_INDEX % 2 * 7))' 'array: 0-3'
    run --separate-stderr submit many --wait
    assert_equal "$status" 7
    host_job alone 'script: exit 9'
    id=$(submit alone)
    wait_for 20 is_in_state alone FAILED
    rm -r .cybelectl
    run slurm cybelectl job wait "$id"
    assert_equal "$status" 9
}

@test "each element of an array is a job: listed, its output, one of them cancelled, the failed ones run again" {
    local id elements index
    host_job parts 'script: |' '  echo "of $CYBELE_ARRAY_INDEX"; [ "$CYBELE_ARRAY_INDEX" != 2 ] || sleep 300; exit $((CYBELE_ARRAY_INDEX % 2 * 7))' \
        'array: 0-3' 'output: {stdout: parts-%a.out}'
    id=$(submit parts)
    ended() {
        [[ $(slurm cybelectl job list --elements --format json "$1" | jq -r '[.jobs[].state] | map(select(. == "done" or . == "failed")) | length') == "$2" ]]
    }
    wait_for 30 ended "$id" 3
    assert_equal "$(slurm cybelectl job list --elements --format json "$id" | jq -r '.jobs[] | "\(.id) \(.state)"' | sed "s/^$id/ID/")" \
        $'ID_0 done\nID_1 failed\nID_2 running\nID_3 failed'
    run slurm cybelectl job cancel "${id}_2"
    assert_success
    run slurm cybelectl job wait "$id"
    assert_failure
    elements=$(slurm cybelectl job list --elements --format json "$id")
    assert_equal "$(jq -r '.jobs[] | "\(.index) \(.state) \(.code)"' <<<"$elements")" $'0 done 0\n1 failed 7\n2 cancelled 143\n3 failed 7'
    for index in 0 1 3; do
        assert_equal "$(cat "$(jq -r ".jobs[$index].stdout" <<<"$elements")")" "of $index"
    done
    run --separate-stderr slurm cybelectl job resubmit "$id" --failed --array 1,3
    assert_success
    assert_regex "$output" '^[0-9]+$'
    run slurm cybelectl job wait "$output"
    assert_equal "$status" 7
}

@test "srun --mpi=pmix in a job of two nodes: two ranks, each with its number" {
    host_job ranks "command: [sh, -c, 'echo \$(hostname) \$PMIX_RANK']" "launch: {kind: mpi, launcher: srun, pmi: pmix$(root_too)}" \
        'resources: {nodes: 2, tasks-per-node: 1}'
    run --separate-stderr submit ranks --follow
    assert_success
    assert_equal "$(sort <<<"$output")" $'n1 0\nn2 1'
}

@test "its REST service, the newest version that both know: submitted, followed, cancelled" {
    mkdir -p there
    printf '%s\n' 'kind: Site' 'name: rest' \
        "scheduler: {dialect: slurm, through: {slurmrestd: \"$("$parts_dir/slurm" rest "$place")\"}}" >rest.yaml
    (umask 077 && slurm scontrol token lifespan=600 >credential)
    export CYBELE_TOKEN_FILE=$place/credential
    host_job by-rest "workdir: $place/there" 'script: |' '  echo from-there; exit 4'
    run --separate-stderr "$parts_dir/slurm" net "$place" "$CYBELECTL" submit by-rest.yaml --site rest.yaml --follow
    assert_equal "$status" 4
    assert_output from-there
    host_job rest-long "workdir: $place/there" 'command: [sleep, "300"]' 'resources: {cpus-per-task: 2, memory-per-node: 1 GiB, time: 90 s}'
    id=$("$parts_dir/slurm" net "$place" "$CYBELECTL" submit rest-long.yaml --site rest.yaml)
    run slurm scontrol -o show job "$id"
    assert_output --regexp 'TimeLimit=00:02:00.* NumNodes=1(-1)? NumCPUs=2 .*MinMemoryNode=1G'
    run "$parts_dir/slurm" net "$place" "$CYBELECTL" job cancel "$id"
    assert_success
    wait_for 20 is_in_state rest-long CANCELLED # it is COMPLETING first
}
