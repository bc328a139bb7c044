# SPDX-License-Identifier: Apache-2.0
# Jobs handed over by REST services: Slurm's own with its tokens, and rimrock with its two lies; and a mirror of one, as a pod runs it.
# About four minutes.
load ../parts/suite.bash
load nodes.bash
load jobs.bash

setup_file() {
    start_nodes
    mkdir -m 777 there
    write_site rest "{slurmrestd: \"$("$parts_dir/slurm" rest "$place")\", token-command: scontrol token lifespan=600}"
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# write_site NAME THROUGH
write_site() {
    printf '%s\n' 'kind: Site' "name: $1" "scheduler: {dialect: slurm, through: $2}" >"$1.yaml"
}

# host_job NAME LINE…: a Job NAME.yaml whose program is the host's, in the folder that all share.
host_job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "workdir: $place/there" "$@" >"$name.yaml"
}

# cluster ARG…: the program on the head node, with its helper.
cluster() { slurm env CYBELE_LIBEXEC="${CYBELE_LIBEXEC:-$(dirname "$CYBELECTL")/../libexec}" cybelectl "$@"; }
# submit NAME SITE OPTION…
submit() { cluster submit "$1.yaml" --site "$2.yaml" "${@:3}"; }

@test "slurmrestd: submitted and followed with its output; the id alone, the program's code" {
    host_job four 'script: |' '  echo from-there; exit 4'
    run --separate-stderr submit four rest --wait
    assert_equal "$status" 4
    assert_output --regexp '^[0-9]+$'
    id=$output
    run cluster job logs "$id"
    assert_output from-there
    run --separate-stderr cluster job list --all --format json
    jq -e '.jobs[-1] | .state == "failed" and .code == 4 and (.login | startswith("slurmrestd+http://127.0.0.1"))' <<<"$output"
    run --separate-stderr submit four rest --follow
    assert_equal "$status" 4
    assert_output from-there
}

@test "slurmrestd: what the Job asks for reaches Slurm, which reads no directives there" {
    host_job asks 'command: [sleep, "60"]' 'resources: {cpus-per-task: 2, memory-per-node: 1 GiB, time: 150 s}'
    id=$(submit asks rest)
    run slurm scontrol -o show job "$id"
    assert_output --regexp 'NumNodes=1(-1)? NumCPUs=2 NumTasks=1 CPUs/Task=2 '
    assert_output --partial 'MinMemoryNode=1G'
    assert_output --partial 'TimeLimit=00:03:00'
    assert_output --partial 'Requeue=0'
    assert_output --partial "StdOut=$place/there/asks-$id.out"
    run cluster job cancel "$id"
    assert_success
    assert is_in_state asks CANCELLED
    run cluster job wait "$id"
    assert_equal "$status" 143
}

@test "slurmrestd: a refusal of Slurm is passed on whole, and nothing was submitted" {
    host_job nowhere 'command: ["true"]' 'queue: nowhere'
    refuses 6 submit nowhere rest
    assert_output --partial 'Invalid partition name specified'
    assert_equal "$(jobs_named nowhere)" 0
    host_job lazy 'command: ["true"]'
    sed -i '/^workdir/d' lazy.yaml
    refuses 3 submit lazy rest
    assert_output --partial 'names no folder'
}

@test "slurmrestd: an array, its elements' own ends, the code of the first that failed" {
    host_job many 'script: exit $((CYBELE_ARRAY_INDEX % 2 * 7))' 'array: 0-3'
    run --separate-stderr submit many rest --wait
    assert_equal "$status" 7
    record=$(cluster job status --details "$output" --format json | jq -r '.jobs[0].record')
    assert_equal "$(jq -r .code "$record"/[0-3]/exit.json | tr '\n' ' ')" '0 7 0 7 '
}

@test "slurmrestd: where no folder is shared, how it ended is Slurm's own word" {
    host_job apart 'script: exit 9'
    id=$(submit apart rest)
    wait_for 30 is_in_state apart FAILED
    rm -r there/.cybelectl
    run cluster job wait "$id"
    assert_equal "$status" 9
}

# token_in_turn FIRST: a token command that gives FIRST once, and good tokens after it, each noted in `calls`.
token_in_turn() {
    printf '%s\n' '#!/bin/sh' "echo x >>'$place/calls'" "[ -e '$place/once' ] || { : >'$place/once'; echo '$1'; exit; }" \
        'exec scontrol token lifespan=600' >token
    chmod +x token
    rm -f calls once
    write_site turn "{slurmrestd: \"$("$parts_dir/slurm" rest "$place")\", token-command: $place/token}"
}

@test "slurmrestd: a token that has expired, or is refused, is renewed by the command" {
    host_job again 'command: ["true"]'
    local old
    old=$(slurm scontrol token lifespan=1)
    sleep 2
    token_in_turn "$old"
    run --separate-stderr submit again turn --wait
    assert_success
    assert [ "$(wc -l <calls)" -ge 2 ]
    # Its claims are good, its signature is not: only the service knows.
    token_in_turn "$(slurm scontrol token lifespan=600 | sed 's/[^.]*$/c2lnbmF0dXJl/')"
    run --separate-stderr submit again turn --wait
    assert_success
    assert [ "$(wc -l <calls)" -ge 2 ]
}

@test "slurmrestd: without a token, and with one that nobody takes, one sentence says it" {
    host_job refused 'command: ["true"]'
    write_site bare "{slurmrestd: \"$("$parts_dir/slurm" rest "$place")\"}"
    refuses 5 submit refused bare
    assert_output --partial 'asks for a token, and there is none'
    refuses 5 slurm env SLURM_JWT=a.b.c CYBELE_LIBEXEC="$(dirname "$CYBELECTL")/../libexec" cybelectl submit refused.yaml --site bare.yaml
    refute_output --partial 'a.b.c'
    assert_equal "$(jobs_named refused)" 0
    run --separate-stderr submit refused bare --token-command 'scontrol token lifespan=600' --wait
    assert_success
    write_site far '{slurmrestd: "http://slurm.example:6820"}'
    refuses 3 submit refused far
    assert_output --partial 'is not a valid address for a token'
    printf '%s\n' 'SLURM_JWT=from-a-file' >token.txt
    refuses 5 slurm env CYBELE_TOKEN_FILE="$place/none" cybelectl submit refused.yaml --site bare.yaml
}

@test "slurmrestd: a client killed behind the submission finds its job again, once" {
    mkdir -p helper
    printf '%s\n' '#!/bin/bash' "\"$(dirname "$CYBELECTL")/../libexec/cybelectl-http\" <<<\"\$(tee '$place/asked')\"" \
        "! grep -q job/submit '$place/asked' || kill -KILL \$PPID" >helper/cybelectl-http
    chmod +x helper/cybelectl-http
    host_job killed 'script: sleep 2; exit 5'
    CYBELE_LIBEXEC=$place/helper run submit killed rest
    assert_equal "$status" 137
    run --separate-stderr submit killed rest --wait
    assert_equal "$status" 5
    assert_regex "$stderr" 'the earlier submission had arrived'
    assert_equal "$(jobs_named killed)" 1
}

# start_rimrock: the service on the head node, until the test ends.
start_rimrock() {
    rm -f rimrock.in rimrock.port hide lose
    mkfifo rimrock.in
    "$parts_dir/slurm" exec "$place" "$parts_dir/rimrock" 'a proxy' <rimrock.in >rimrock.port 2>rimrock.errors 3>&- &
    exec {rimrock_in}>rimrock.in
    wait_for 20 test -s rimrock.port
    printf '%s\n' '#!/bin/sh' 'printf "a proxy"' >proxy
    chmod +x proxy
    printf '%s\n' '-----BEGIN CERTIFICATE-----' >proxy.pem
    write_site rim "{rimrock: \"http://127.0.0.1:$(cat rimrock.port)\", host: n1, token-command: $place/encoded}"
    printf '%s\n' '#!/bin/sh' 'printf "a proxy" | base64' >encoded
    chmod +x encoded
}
teardown() { [[ -z ${rimrock_in:-} ]] || exec {rimrock_in}>&-; }

@test "rimrock: submitted and followed; the code is that of the job's own record" {
    start_rimrock
    host_job rim-five 'script: |' '  echo by-rimrock; exit 5'
    run --separate-stderr submit rim-five rim --follow
    assert_equal "$status" 5
    assert_output by-rimrock
    host_job rim-nowhere 'command: ["true"]' 'queue: nowhere'
    refuses 6 submit rim-nowhere rim
    assert_output --partial 'invalid partition specified: nowhere'
}

@test "rimrock: a job that it does not find is FINISHED, it says; it is not" {
    start_rimrock
    host_job rim-hidden 'script: sleep 8; exit 6'
    touch hide
    run --separate-stderr submit rim-hidden rim --wait
    assert_equal "$status" 6
    assert_equal "$(jobs_named rim-hidden)" 1
}

@test "rimrock: a cancelled job is RUNNING, it says; it is cancelled" {
    start_rimrock
    host_job rim-long 'command: [sleep, "300"]'
    id=$(submit rim-long rim)
    wait_for 20 is_in_state rim-long RUNNING
    slurm scancel "$id"
    run cluster job wait "$id"
    assert_equal "$status" 143
    host_job rim-cancel 'command: [sleep, "300"]'
    id=$(submit rim-cancel rim)
    run cluster job cancel "$id"
    assert_success
    assert is_in_state rim-cancel CANCELLED
}

@test "rimrock: a submission whose answer is lost is found, once" {
    start_rimrock
    touch lose
    host_job rim-lost 'script: exit 3'
    run --separate-stderr submit rim-lost rim --wait
    assert_equal "$status" 3
    assert_regex "$stderr" 'is unclear'
    assert_equal "$(jobs_named rim-lost)" 1
}

# mirrored NAME LINE…: hpc-connector's two ConfigMaps as folders, for slurmrestd.
mirrored() {
    local name=$1
    shift
    mkdir -p backend "$name"
    printf Slurmrestd >backend/name
    printf '{"url": "%s"}\n' "$("$parts_dir/slurm" rest "$place")" >backend/configuration
    host_job "$name" "$@"
    "$CYBELECTL" job render "$name.yaml" --scheduler slurm | jq -Rs '{script: .}' >"$name/job"
    printf 1 >"$name/monitoring_period"
    (umask 077 && slurm scontrol token username=nobody lifespan=600 >token.txt)
    chown nobody token.txt
}
# as_pod ARG…: as an ordinary user with no privilege, on a read-only root, as the pod of a mirror Job is.
as_pod() {
    slurm unshare --mount sh -c 'mount -o remount,bind,ro / && exec "$@"' sh setpriv --reuid=65534 --regid=65534 --clear-groups \
        --no-new-privs --bounding-set=-all --inh-caps=-all env -i PATH="$PATH" CYBELE_LIBEXEC="$(dirname "$CYBELECTL")/../libexec" \
        CYBELE_TOKEN_FILE="$place/token.txt" CYBELECTL_UID="${uid:-$BATS_TEST_NUMBER}" \
        sh -c 'touch ./written 2>/dev/null && exit 99; echo $$ >&7; exec "$@"' sh "$@" 7>pod.pid
}

@test "a mirror: an ordinary user on a read-only root; logs while it runs, states line by line, the job's code" {
    mirrored seen 'script: |' '  echo first; sleep 3; echo last; exit 7'
    run --separate-stderr as_pod cybelectl job mirror --backend backend --job seen --print-logs
    assert_equal "$status" 7
    assert_output $'first\nlast'
    assert_regex "$stderr" 'job [0-9]+ (pending|running)'
    # The pod that comes in its place finds it, and submits nothing.
    run --separate-stderr as_pod cybelectl job mirror --backend backend --job seen
    assert_equal "$status" 7
    assert_regex "$stderr" 'exists already'
    assert_equal "$(jobs_named seen)" 1
}

@test "a mirror told to end: the Slurm job is cancelled, and its word comes within the grace period" {
    mirrored told 'command: [sleep, "300"]'
    as_pod cybelectl job mirror --backend backend --job told --grace 30 2>told.said 3>&- &
    pid=$!
    wait_for 30 is_in_state told RUNNING
    before=$SECONDS
    slurm kill -TERM "$(cat pod.pid)"
    code=0
    wait "$pid" || code=$?
    assert_equal "$code" 143
    assert is_in_state told CANCELLED
    assert [ $((SECONDS - before)) -le 30 ]
}

@test "a mirror's configuration: every fault at once" {
    mkdir -p bad-backend bad-job
    printf LSF >bad-backend/name
    printf '[]' >bad-backend/configuration
    printf '{"script": 3}' >bad-job/job
    printf soon >bad-job/monitoring_period
    refuses 255 "$CYBELECTL" job mirror --backend bad-backend --job bad-job
    assert_equal "$(grep -c '^error: ' <<<"$output")" 5
}
