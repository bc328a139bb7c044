# SPDX-License-Identifier: Apache-2.0
# The local scheduler's queue: what is given to whom, who waits and why, arrays, dependencies.
load ../parts/suite.bash

setup() {
    work_place
    cores=$(nproc)
}
teardown() {
    touch "$place/go"
    "$CYBELECTL" job list --format json 2>/dev/null | jq -r '.jobs[].id' | xargs -r timeout 30 "$CYBELECTL" job cancel -q || true
    leave_place
}

# host_job NAME LINE…: NAME.yaml, a Job of the host.
host_job() {
    printf '%s\n' 'kind: Job' "name: $1" "${@:2}" >"$1.yaml"
}

# waits_for_go NAME LINE…: a Job that runs until `go` is there.
waits_for_go() {
    host_job "$1" 'script: |' "  echo \$(date +%s%N) >begun-$1" '  while [ ! -e go ]; do sleep 0.05; done' "${@:2}"
}

submit() {
    "$CYBELECTL" submit "$1.yaml" --scheduler local "${@:2}"
}

# state_of ID: `pending (Resources)`.
state_of() {
    "$CYBELECTL" job status "$1" | cut -d' ' -f2-
}

@test "a job that does not fit waits with its reason, and starts when the one before has ended" {
    waits_for_go big "resources: {cpus-per-task: $cores}"
    waits_for_go next
    waits_for_go third
    big=$(submit big)
    next=$(submit next)
    third=$(submit third)
    wait_for 10 test -e begun-big
    assert_equal "$(state_of "$big")" running
    assert_equal "$(state_of "$next")" 'pending (Resources)'
    assert_equal "$(state_of "$third")" 'pending (Priority)'
    run "$CYBELECTL" job list
    assert_line --regexp "^$next +next +local +pending .* Resources"
    refute [ -e begun-next ]
    touch go # the supervisor of the first starts the others; nobody calls
    wait_for 20 test -s begun-third
    run "$CYBELECTL" job wait "$big" "$next" "$third"
    assert_success
}

@test "what can never fit is refused at its line, all at once, and nothing is written" {
    host_job wide 'command: ["true"]' 'resources: {cpus-per-task: 4096, memory-per-node: 4096 GiB, gpus-per-node: 99}'
    refuses 3 "$CYBELECTL" submit wide.yaml --scheduler local
    assert_output --partial 'the job needs 4096 cores, and this machine has'
    assert_output --partial 'the job needs 4 TiB of memory, and this machine has'
    assert_output --partial 'the job needs 99 GPUs, and this machine has'
    assert_output --partial ' --> wide.yaml:4:28'
    refute [ -e .cybelectl ]
    run --separate-stderr "$CYBELECTL" job list --all
    assert_equal "${#lines[@]}" 1
}

@test "memory is counted: two jobs of more than half of it never run together" {
    half=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) * 6 / 10 / 1024))
    waits_for_go one "resources: {memory-per-node: $half MiB}"
    waits_for_go two "resources: {memory-per-node: $half MiB}"
    one=$(submit one)
    two=$(submit two)
    wait_for 10 test -e begun-one
    assert_equal "$(state_of "$two")" 'pending (Resources)'
    touch go
    run "$CYBELECTL" job wait "$one" "$two"
    assert_success
}

@test "two jobs that run together are pinned to cores of their own; one alone sees its core only" {
    [ "$cores" -ge 2 ] || fail 'this test needs two cores'
    for name in a b; do
        host_job "$name" 'script: |' "  taskset -cp \$\$ | sed 's/.*: //' >cpus-$name; nproc >nproc-$name" \
            '  while [ ! -e cpus-a ] || [ ! -e cpus-b ]; do sleep 0.05; done'
    done
    a=$(submit a)
    b=$(submit b)
    run "$CYBELECTL" job wait "$a" "$b"
    assert_success
    assert_equal "$(cat nproc-a nproc-b | sort -u)" "$(wc -w <<<"$(lscpu -p=CPU,CORE | awk -F, '/^[^#]/ && $2 == 0 {print $1}')")"
    refute [ "$(cat cpus-a)" = "$(cat cpus-b)" ]
}

@test "the machine is what the client may use: in one core, jobs run one after the other" {
    for name in a b c; do
        host_job "$name" 'script: |' '  echo + >>trace; sleep 0.2; echo - >>trace'
        ids+=("$(taskset -c 0 "$CYBELECTL" submit "$name.yaml" --scheduler local)")
    done
    run taskset -c 0 "$CYBELECTL" job wait "${ids[@]}"
    assert_success
    assert_equal "$(tr -d '\n' <trace)" '+-+-+-'
    host_job wide 'command: ["true"]' 'resources: {cpus-per-task: 2}'
    run taskset -c 0 "$CYBELECTL" submit wide.yaml --scheduler local
    assert_equal "$status" 3
}

@test "backfill: a short job goes ahead of a wide one, one without a limit does not" {
    [ "$cores" -ge 2 ] || fail 'this test needs two cores'
    waits_for_go holder 'resources: {time: 1 h}'
    waits_for_go wide "resources: {cpus-per-task: $cores, time: 1 min}"
    waits_for_go endless
    host_job short 'command: [touch, short-ran]' 'resources: {time: 1 min}'
    holder=$(submit holder)
    wide=$(submit wide)
    endless=$(submit endless)
    short=$(submit short)
    run "$CYBELECTL" job wait "$short"
    assert_success
    assert_equal "$(state_of "$wide")" 'pending (Resources)'
    assert_equal "$(state_of "$endless")" 'pending (Priority)'
    touch go
    run "$CYBELECTL" job wait "$holder" "$wide" "$endless"
    assert_success
}

@test "an array: each element with its index, record and output; two at once where it says so" {
    host_job many 'script: |' '  echo + >>trace; echo "element $CYBELE_ARRAY_INDEX"; sleep 0.1; echo - >>trace' \
        'array: 1-5%1' 'output: {stdout: "%x-%j-%a.txt", stderr: "%x-%a.err"}'
    run "$CYBELECTL" submit many.yaml --scheduler local --wait
    assert_success
    assert_equal "$(cat many-1-[1-5].txt)" "$(printf 'element %s\n' 1 2 3 4 5)"
    assert_equal "$(tr -d '\n' <trace)" '+-+-+-+-+-'
    assert_equal "$(cat .cybelectl/*/[1-5]/exit.json | jq -r .state | sort | uniq -c | xargs)" '5 done'
    assert_equal "$("$CYBELECTL" job logs 1_3)" 'element 3'
    refuses 3 "$CYBELECTL" job logs 1
    assert_line 'help: name one: cybelectl job logs 1_1'
    refuses 3 "$CYBELECTL" job logs 1_6
    assert_line 'error: job 1 has no element 6'
    refuses 3 "$CYBELECTL" job status many
    assert_line 'help: job 1 was called so last: name its id'
    assert_equal "$(find "$CYBELE_STATE_DIR/local" -mindepth 1)" ''
}

@test "elements of an array never write into one file" {
    host_job plain 'script: echo "element $CYBELE_ARRAY_INDEX"' 'array: 0-3'
    run "$CYBELECTL" submit plain.yaml --scheduler local --wait
    assert_success
    assert_equal "$(cat plain-1_[0-3].out)" "$(printf 'element %s\n' 0 1 2 3)"
    assert_file_not_exists plain-1.out
    assert_equal "$("$CYBELECTL" job logs 1_2)" 'element 2'
}

@test "an array ends as its first bad element; lists and steps; cancelling ends all of it" {
    host_job some 'script: exit $CYBELE_ARRAY_INDEX' 'array: 0-6:3'
    run "$CYBELECTL" submit some.yaml --scheduler local --wait
    assert_equal "$status" 3
    waits_for_go stay 'array: 2,4,6,8,10,12,14,16,18,20'
    id=$(submit stay)
    wait_for 10 test -e begun-stay
    run "$CYBELECTL" job cancel "$id"
    assert_success
    run "$CYBELECTL" job wait "$id"
    assert_equal "$status" 143
    assert_equal "$(pgrep -cf "$place/.cybelectl" || true)" 0
}

@test "dependencies: ok, any, failed, started; by id, by name, by an array's element" {
    host_job good 'command: ["true"]'
    host_job bad 'command: ["false"]'
    host_job list 'script: exit $((CYBELE_ARRAY_INDEX - 1))' 'array: 1,2'
    waits_for_go gate "resources: {cpus-per-task: $cores}"
    submit gate
    good=$(submit good)
    bad=$(submit bad)
    list=$(submit list)
    host_job after-good 'command: [touch, ok]' "after: [{job: good}]"
    host_job after-bad 'command: [touch, failed]' "after: [{job: \"$bad\", when: failed}, {job: \"$good\", when: started}]"
    host_job after-any 'command: [touch, any]' "after: [{job: \"$bad\", when: any}, {job: \"${list}_1\"}]"
    host_job never 'command: [touch, never]' "after: [{job: \"$bad\"}]"
    host_job behind-never 'command: [touch, behind]' 'after: [{job: never, when: any}]'
    for name in after-good after-bad after-any never behind-never; do
        ids[${#ids[@]}]=$(submit "$name")
    done
    assert_equal "$(state_of "${ids[0]}")" 'pending (Dependency)'
    touch go
    run "$CYBELECTL" job wait "${ids[0]}" "${ids[1]}" "${ids[2]}" "${ids[4]}"
    assert_success
    for file in ok failed any behind; do
        assert [ -e "$file" ]
    done
    run "$CYBELECTL" job wait "${ids[3]}"
    assert_equal "$status" 143
    assert_equal "$(state_of "${ids[3]}")" "cancelled 143 (DependencyNeverSatisfied: ok:$bad)"
    refute [ -e never ]
    assert_equal "$(state_of "$list")" 'failed 1'
}

@test "a log that another job left under the name is not shown while a job waits" {
    waits_for_go first "resources: {cpus-per-task: $cores}"
    submit first
    echo 'of another job' | tee said.out >said.err
    host_job later 'script: echo mine; echo wrong >&2' 'output: {stdout: said.out, stderr: said.err}'
    "$CYBELECTL" submit later.yaml --scheduler local --follow >followed 2>told 3>&- &
    client=$!
    wait_for 10 test -s told
    run --separate-stderr "$CYBELECTL" job logs 2
    assert_output ''
    assert_equal "$stderr" 'cybelectl: job 2 has not begun, and has written nothing'
    sleep 0.5
    touch go
    wait $client
    assert_equal "$(cat followed)" mine
    run grep -c 'of another job\|was cut' told
    assert_output 0
    grep -qx wrong told
    assert_equal "$("$CYBELECTL" job logs 2)" mine
    echo 'of another job' >said.out
    rm go
    submit first
    never=$(submit later)
    "$CYBELECTL" job cancel -q "$never"
    run --separate-stderr "$CYBELECTL" job logs "$never"
    assert_equal "$status" 3
    assert_output ''
    assert_regex "$stderr" 'it was removed, or the job never started'
}

@test "a job that is held waits, and lets others pass; released, it starts" {
    waits_for_go first "resources: {cpus-per-task: $cores}"
    first=$(submit first)
    host_job later 'script: touch later-ran'
    held=$(submit later)
    host_job other 'script: test ! -e later-ran'
    other=$(submit other)
    run "$CYBELECTL" job hold "$held"
    assert_success
    assert_equal "$(state_of "$held")" 'held (JobHeldUser)'
    run "$CYBELECTL" job hold "$first" "$other" # one of two waits
    assert_success
    run "$CYBELECTL" job release "$other"
    assert_success
    refuses 6 "$CYBELECTL" job hold "$first"
    assert_output --partial 'the job does not wait: it runs, or has ended'
    touch go
    run "$CYBELECTL" job wait "$first" "$other"
    assert_success
    assert_equal "$(state_of "$held")" 'held (JobHeldUser)'
    "$CYBELECTL" job release "$held"
    run "$CYBELECTL" job wait "$held"
    assert_success
    refuses 3 "$CYBELECTL" job hold "$held" "$other"
    assert_line "because: it does not wait: it is done"
}

@test "an id that the scheduler never gave is refused at its line" {
    host_job lonely 'command: ["true"]' 'after: [{job: "77"}]'
    refuses 3 "$CYBELECTL" submit lonely.yaml --scheduler local
    assert_output --partial "the local scheduler has no job '77'"
    assert_output --partial ' --> lonely.yaml:4:15'
}

@test "the environment is that of the submission; it is kept privately, and only until the end" {
    waits_for_go first "resources: {cpus-per-task: $cores}"
    first=$(submit first)
    host_job later 'script: echo "$LOCAL_WORD" >word'
    later=$(LOCAL_WORD='one two' submit later)
    assert_equal "$(stat -c %a "$CYBELE_STATE_DIR"/local/*/environment | sort -u)" 600
    touch go
    run env LOCAL_WORD=other "$CYBELECTL" job wait "$first" "$later"
    assert_success
    assert_equal "$(cat word)" 'one two'
    assert_equal "$(find .cybelectl state -name environment)" ''
}

@test "a job that submits another: it sees the whole machine, and what it submitted outlives it" {
    [ "$cores" -ge 2 ] || fail 'this test needs two cores'
    host_job inner 'script: |' '  sleep 1; touch inner-ran' "resources: {cpus-per-task: $((cores - 1))}"
    host_job outer 'script: cybelectl submit inner.yaml --scheduler local >inner-id'
    run "$CYBELECTL" submit outer.yaml --scheduler local --wait
    assert_success
    run "$CYBELECTL" job wait "$(cat inner-id)"
    assert_success
    assert [ -e inner-ran ]
}

@test "nothing stays behind: no process while jobs wait for each other or none is there" {
    local one journal
    host_job one 'command: ["true"]'
    one=$(submit one)
    "$CYBELECTL" job wait "$one"
    wait_for 5 no_supervisor
    # Of each database SQLite's journal stays, with the header of a transaction that was ended: zeros.
    for journal in "$CYBELE_STATE_DIR"/{jobs,local}.sqlite-journal; do
        assert_equal "$(head -c 28 "$journal" | tr -d '\0' | wc -c) $(head -c 28 "$journal" | wc -c)" '0 28'
    done
}

@test "a queue of another version is refused" {
    host_job one 'command: ["true"]'
    submit one
    sql "$CYBELE_STATE_DIR/local.sqlite" 'PRAGMA user_version=9'
    refuses 5 "$CYBELECTL" submit one.yaml --scheduler local
    assert_output --partial 'queue is of version 9'
    assert_line 'help: call that one, or keep another queue: CYBELE_STATE_DIR=DIR'
}

@test "the queue's lock in the hands of a stopped process is reported; released, jobs start again" {
    host_job one 'command: ["true"]'
    submit one --wait
    wait_for 5 no_supervisor
    exec {lock}<>"$CYBELE_STATE_DIR/local.lock"
    flock "$lock"
    # A minute of the client's is a second here.
    refuses 5 faketime -f '+0 x60' "$CYBELECTL" submit one.yaml --scheduler local
    assert_line --partial "because: the local scheduler's queue stays locked"
    assert_line 'help: look for a stopped cybelectl, or try again'
    exec {lock}>&-
    run submit one --wait
    assert_success
}
