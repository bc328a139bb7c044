# SPDX-License-Identifier: Apache-2.0
# What goes wrong between a client and a TORQUE or OpenPBS server, under the rules of the real ones (tests/parts/torque-rules):
# answers that are missing, cut or late, clients that are killed, jobs that nothing is known of. Half a minute.
load ../parts/suite.bash
load torque.bash

once() { job once "script: echo x >>'$PWD/ran'" 'resources: {time: 1 min}'; }
ran() { if [[ -e ran ]]; then wc -l <ran; else echo 0; fi; }
has_run() { [[ $(ran) != 0 ]]; }

# patient_job SECONDS NAME FIELD…: a job that runs, of a Site with such a patience; its id is in $id.
patient_job() {
    printf '%s\n' 'kind: Site' 'name: here' "scheduler: {dialect: $dialect, patience: $1 s}" >site.yaml
    job "${@:2}" 'resources: {time: 10 min}'
    id=$("$CYBELECTL" submit "$2.yaml" --site site.yaml)
    wait_for 20 is_in_state "$id" running
}
# state_later SECONDS: what a client says so long after now.
state_later() { NO_FAKE_STAT=1 faketime -f "+$1" "$CYBELECTL" job status "$id" | awk '{ print $2 }'; }
patient() {
    local left
    patient_job 100 long 'command: [sleep, "300"]'
    fault unknown
    state_of "$id" # from now on it is missing
    left=$((100 - $(sql "$CYBELE_STATE_DIR/jobs.sqlite" "SELECT strftime('%s', 'now') - missing_since FROM jobs WHERE id = '$id'")))
    # The usual patience is 300 s; the client's clock is what counts, not how long this case takes.
    assert_equal "$(state_later $((left / 2)))" running
    assert_equal "$(state_later "$left")" lost
    fault none
    patient_job 2 soon 'command: [sleep, "300"]'
    fault unknown
    run timeout 120 "$CYBELECTL" job wait "$id" --monitoring-period 1 # 124: it was not lost in that time
    assert_equal "$status" 125
    assert_equal "$(state_of "$id")" lost
    job other 'command: [sleep, "1"]' 'resources: {time: 1 min}'
    fault none
    id=$(submit other)
    fault unknown # for a moment, as a server that starts again may
    run "$CYBELECTL" job status "$id"
    assert_success
    fault none
    run timeout 30 "$CYBELECTL" job wait "$id" --monitoring-period 1
    assert_success
}
@test "a job without any trace is lost after the Site's patience, and one that was missing for a moment is not" {
    on_both patient
}

cut_answer() {
    job code 'script: exit 27' 'resources: {time: 1 min}'
    id=$(submit code)
    ends "$id"
    rm -rf .cybelectl/*/exit.json .cybelectl/exit.json # only the server knows its code
    fault cut
    run "$CYBELECTL" job status "$id"
    assert_output --partial "the batch server's answer is cut"
    refute_output --partial 'failed'
    fault none
    run "$CYBELECTL" job status "$id"
    assert_line --regexp "^$id failed 27"
}
@test "an answer of qstat that is cut is none" {
    on_both cut_answer
}

away() {
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 20 is_in_state "$id" running
    fault down
    run "$CYBELECTL" job status "$id"
    assert_output --partial 'the batch server does not answer'
    run "$CYBELECTL" job cancel "$id" --no-wait
    assert_equal "$status" 6
    once
    run submit once
    assert_equal "$status" 5
    assert_output --partial 'nothing was submitted'
    refute_output --partial '\n'
    assert_equal "$(grep -c 'cannot connect' <<<"$output")" 1
    run "$CYBELECTL" job list --all
    assert_line --regexp ' once +[a-z]+ +not-submitted '
    refute_line --regexp ' not-submitted .*exit '
    fault none
    assert_equal "$(state_of "$id")" running
    assert_equal "$(ran)" 0
}
@test "a server that is away: nothing is submitted, cancelled or ended" {
    on_both away
}

restarted() {
    job long "script: until [ -e '$PWD/go' ]; do sleep 0.1; done; exit 3" 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 20 is_in_state "$id" running
    "$CYBELECTL" job wait "$id" --monitoring-period 1 >/dev/null 2>&1 3>&- &
    waiter=$!
    for word in down unknown cut down none; do # as one that stops, starts, and answers before it has read its jobs
        fault "$word"
        sleep 1.2
        "$CYBELECTL" job status "$id" >>states 2>/dev/null || true
    done
    fault down
    run "$CYBELECTL" job cancel "$id" --no-wait
    assert_equal "$status" 6
    fault none
    assert_equal "$(state_of "$id")" running
    run ! grep -E 'lost|cancelled|done|failed|not-submitted' states
    assert_file_contains states running
    touch go
    code=0
    wait "$waiter" || code=$?
    assert_equal "$code" 3
}
@test "a server that answers in the middle of a restart ends no job" {
    on_both restarted
}

strangers() {
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(submit long)
    number=${id%%.*}
    job parts 'command: [sleep, "300"]' 'array: 2-3' 'resources: {time: 10 min}'
    array=$(submit parts)
    for name in "slurm:$number" "$number.other" "${number}_1" "${number}[1].head" "${number}[].head" "${array%%[*}_1" \
        "${array/\[\]/[4]}"; do
        run "$CYBELECTL" job cancel "$name"
        assert_equal "$status" 3
        assert_output --regexp 'there is no job|has no element'
    done
    wait_for 20 is_in_state "$id" running
    job none 'command: ["true"]' 'array: 3-1'
    run submit none
    assert_equal "$status" 3
    assert_output --partial 'none.yaml:4:8'
    job none 'command: ["true"]' 'array: 0-2' 'output: {stdout: "one-%a", stderr: "two-%q"}'
    run submit none
    assert_equal "$status" 3
    assert_output --partial 'none.yaml:5:36'
    run submit none --array 5-4
    assert_equal "$status" 2
    assert_equal "$(qstat | grep -c 'Job Id: .*\[')" 2 # the elements that there were
    assert_equal "$(qstat | grep -c 'Job Id')" 3
    refute_regex "$("$CYBELECTL" job list --elements "$array")" cancelled
}
@test "ids of other schedulers, elements that are not there, empty ranges, broken names of outputs: refused, nothing is cancelled or submitted" {
    on_both strangers
}

looked_for_in_a_cut_answer() {
    once
    mkdir fake
    # shellcheck disable=SC2016 # for the shell there
    printf '%s\n' '#!/bin/sh' "$(command -v qsub) \"\$@\" >/dev/null" 'kill -KILL $PPID' >fake/qsub
    chmod +x fake/qsub
    PATH=$PWD/fake:$PATH run submit once
    assert_equal "$status" 137
    fault cut
    run timeout 4 "$CYBELECTL" submit once.yaml --scheduler "$dialect" --monitoring-period 1
    assert [ "$status" != 0 ]
    assert_output --partial 'looking for it before submitting'
    fault none
    run submit once
    assert_success
    assert_output --partial 'the earlier submission had arrived'
    assert_line '1.head' # the first, and only one
    ends 1.head
    assert_equal "$(ran)" 1
}
@test "a killed client's job is looked for in an answer of qstat that is cut: nothing is submitted by guess" {
    on_both looked_for_in_a_cut_answer
}

killed_clients() {
    local number name tries=${KILLS:-8}
    mkdir first whole
    cd first || return
    once
    submit once >/dev/null # makes the journal
    cd ../whole || return
    once
    strace -qq -y -e signal=none -o ../trace "$CYBELECTL" submit once.yaml --scheduler "$dialect" 3>&-
    cd ..
    # From the first call for the intent to the last before the id is in the journal.
    first=$(grep -n 'jobs\.sqlite-journal' trace | head -n 1 | cut -d: -f1)
    last=$(grep -n '^pwrite64(.*jobs\.sqlite-journal>, .*, 28, 0)' trace | tail -n 1 | cut -d: -f1)
    for ((number = 0; number < tries; number++)); do
        mkdir "try-$number" && cd "try-$number" || return
        once
        head -n $((first + (last - first) * number / tries)) ../trace >../until
        name=$(tail -n 1 ../until | sed 's/(.*//')
        run strace -qq -o /dev/null -e "trace=$name" -e "inject=$name:signal=KILL:when=$(grep -c "^$name(" ../until)" \
            "$CYBELECTL" submit once.yaml --scheduler "$dialect" 3>&-
        assert_equal "$status" 137
        cd ..
    done
    wait_for 20 nothing_waits
    # Two minutes later: it is known now of those that never came to the server that they did not.
    sql "$CYBELE_STATE_DIR/jobs.sqlite" "UPDATE jobs SET asked = asked - 120 WHERE state = 'submitting'"
    "$CYBELECTL" job list >/dev/null # finds the others; the repetition must take them up all the same
    for ((number = 0; number < tries; number++)); do
        cd "try-$number" || return
        submit once >/dev/null
        cd ..
    done
    wait_for 30 nothing_waits
    assert_equal "$(cat try-*/ran | wc -l) $(wc -l try-*/ran | grep -cE '^ *1 try')" "$tries $tries"
}
nothing_waits() { ! qstat | grep -q 'job_state = [QRH]'; }
@test "a client killed at its calls between intent and acknowledgement: with the repetition each job runs once" {
    on_both killed_clients
}

recorded_refusals() {
    job queued 'command: ["true"]' 'queue: nowhere'
    run submit queued
    assert_equal "$status" 6
    assert_output --partial 'Unknown queue'
    job queued 'command: ["true"]' 'queue: offq'
    run submit queued
    assert_equal "$status" 6
    assert_output --partial 'Queue is not enabled'
    job queued 'command: ["true"]' 'queue: shortq' 'resources: {time: 5 h}'
    run submit queued
    assert_equal "$status" 6
    assert_output --partial 'queue'
    job queued 'command: ["true"]' 'queue: shortq' 'resources: {time: 1 min}' 'mail: {to: a@b.example, on: [begin, end]}'
    run submit queued --wait
    assert_success
    # The record says how the job ended before the server's mail does.
    wait_for 10 grep -q '^e ' "$place/rules/mail"
    assert_equal "$(cut -d' ' -f1,3 "$place/rules/mail")" $'b a@b.example\ne a@b.example'
}
@test "queues refuse as the real ones do, and mail goes to whom the Job names" {
    on_both recorded_refusals
}

chained() {
    job first 'script: exit 4' 'resources: {time: 1 min}' 'hold: false'
    sed -i '/hold:/d' first.yaml
    first=$(submit first)
    job later 'command: ["true"]' "after: [{job: '$first', when: any}]" 'resources: {time: 1 min}'
    job never 'command: ["true"]' "after: [{job: '$first', when: ok}]" 'resources: {time: 1 min}'
    run submit later --wait
    assert_success
    run submit never --wait
    assert_equal "$status" 143
    assert_output --partial 'never started: a job that it was to follow'
    refute_output --partial 'exit code 143 ('
}
@test "OpenPBS: dependencies are met, or say that they cannot be" {
    products=openpbs on_both chained
}

graphics() {
    # shellcheck disable=SC2016
    job card 'script: echo "cards ${CUDA_VISIBLE_DEVICES:-none}"; sleep 2' 'resources: {gpus-per-node: 1, time: 1 min}'
    job render 'command: ["true"]' 'resources: {gpus-per-node: 1, time: 1 min}'
    run "$CYBELECTL" job render card.yaml --scheduler "$dialect"
    assert_success
    sed -n 's/^#PBS/#PBS/p' <<<"$output" >head
    { echo '#!/bin/bash'; cat head; echo 'echo "cards ${CUDA_VISIBLE_DEVICES:-none}" >"$PBS_O_WORKDIR/cards.$PBS_JOBID"
        until [ -e "$PBS_O_WORKDIR/go" ]; do sleep 0.1; done'; } >cards.sh
    rm -f go
    first=$(qsub cards.sh)
    second=$(qsub cards.sh)
    wait_for 20 test -s "cards.$first" -a -s "cards.$second" # both run at the same time
    touch go
    ends "$first"
    ends "$second"
    if [[ $product == torque ]]; then
        assert_equal "$(cat "cards.$first" "cards.$second")" $'cards 0\ncards 1'
        run qsub -l nodes=1:ppn=1:gpus=9 cards.sh
        assert_equal "$status" 190
    else
        assert_equal "$(cat "cards.$first" "cards.$second")" $'cards none\ncards none'
    fi
}
@test "GPUs: TORQUE gives each job its own, OpenPBS without cgroups says nothing of them" {
    on_both graphics
}

has_begun() { compgen -G 'talk-*.out' >/dev/null; }
stopped_server() {
    job talk 'script: sleep 2; echo first; sleep 1; echo last; sleep 2' 'resources: {time: 1 min}'
    submit talk --follow >talked 2>said 3>&- &
    follower=$!
    wait_for 20 has_begun
    fault stopped
    wait_for 10 grep -q last talked || true
    cp talked meanwhile
    fault none
    wait "$follower"
    assert_equal "$(cat meanwhile)" $'first\nlast'
}
@test "--follow shows what a job writes while its server does not answer" {
    products=torque on_both stopped_server
}

silent_qsub() {
    once
    fault silent
    "$CYBELECTL" submit once.yaml --scheduler "$dialect" --monitoring-period 1 --wait >id 2>said 3>&- &
    client=$!
    wait_for 20 has_run
    # The minute that a command has, shortened: the client's qsub ends without a word.
    pkill -TERM -P "$client" -f qsub
    wait "$client"
    assert_file_contains said 'looking for the job'
    assert_equal "$(cat id) $(ran)" '1.head 1'
}
@test "a qsub that takes the job and ends without a word: the job is found, and was submitted once" {
    products=torque on_both silent_qsub
}

said_once() {
    job list 'command: ["true"]' 'array: 1,4,7'
    run "$CYBELECTL" job check list.yaml --scheduler "$dialect"
    if [[ $product == openpbs ]]; then
        assert_equal "$status" 3
        assert_equal "$(grep -c '^error' <<<"$output")" 1
        refute_output --partial warning
    else
        assert_success
    fi
    job apart 'command: ["true"]' 'array: 1-2' 'resources: {time: 1 min}'
    "$CYBELECTL" job render apart.yaml --scheduler "$dialect" -o apart.sh
    id=$(qsub apart.sh)
    ends "${id/\[\]/[2]}"
    assert_file_exist ".cybelectl/apart-${id%%\[*}/2/exit.json" # as docs/reference/scripts.md says
    job lone 'command: [app.py]' 'launch: spark' 'resources: {memory-per-node: 4 GiB, time: 1 min}' 'environment: {SPARK_HOME: /nowhere, JAVA_HOME: /nowhere}'
    run submit lone --wait
    refute [ "$status" = 0 ]
    assert_file_contains "$(echo lone-*.err)" 'because: .*[a-z]'
}
@test "a list of indexes is refused once, an element's record is where the page says, a missing Spark has a reason" {
    products=openpbs on_both said_once
}
