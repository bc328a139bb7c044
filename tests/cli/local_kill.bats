# SPDX-License-Identifier: Apache-2.0
# The local scheduler when its processes are killed (KILL, which nobody can catch): at one system call after the other, by strace.
load ../parts/suite.bash

setup() { work_place; }
teardown() {
    touch "$place/go"
    leave_place
}

calls='pwrite64,fdatasync,fsync,unlink,openat,clone,clone3,fork,vfork,sendto,recvfrom,flock,write,linkat,mkdir'

# killed_at N COMMAND…: the command, killed at its Nth call of those above; false: it came to its end.
killed_at() {
    local code=0
    strace -qq -o /dev/null -e "trace=$calls" -e "inject=$calls:signal=KILL:when=$1" "${@:2}" 3>&- || code=$?
    [ "$code" -eq 137 ]
}

# parts WHERE: what the queue says.
parts() {
    sql "$CYBELE_STATE_DIR/local.sqlite" "SELECT count(*) FROM parts WHERE $1"
}

# settled: a turn of the scheduler; true when nothing waits or runs any more.
settled() {
    "$CYBELECTL" job list >/dev/null
    [ "$(parts 'phase < 2')" -eq 0 ]
}

@test "a client killed at each of its steps: a job that is in the queue runs once, another never" {
    printf '%s\n' 'kind: Job' 'name: once' 'script: echo "$PWD" >>"ran-$LOCAL_TRY"' >once.yaml
    LOCAL_TRY=0 "$CYBELECTL" submit once.yaml --scheduler local --wait
    step=1 try=0 stride=3
    while
        try=$((try + 1))
        # Each time from another folder: the same submission again would take up the one that was killed.
        mkdir "try-$try" && cp once.yaml "try-$try/job.yaml"
        LOCAL_TRY=$try killed_at "$step" "$CYBELECTL" submit "try-$try/job.yaml" --scheduler local
    do
        step=$((step + stride))
    done
    assert [ "$try" -gt 15 ]
    wait_for 60 settled
    for ((number = 1; number <= try; number++)); do
        record=$(find "try-$number/.cybelectl" -mindepth 1 -maxdepth 1 2>/dev/null || true)
        queued=0
        [ -z "$record" ] || queued=$(sql "$CYBELE_STATE_DIR/local.sqlite" "SELECT count(*) FROM jobs WHERE uuid='${record##*/}'")
        ran=0
        [ ! -e "try-$number/ran-$number" ] || ran=$(wc -l <"try-$number/ran-$number")
        assert_equal "try $number: $ran" "try $number: $queued"
    done
    assert_equal "$(parts "outcome <> 'done'")" 0
    assert [ "$(parts 1)" -ge 2 ]
}

@test "a client killed in a turn that starts other people's jobs: none is lost, none runs twice" {
    printf '%s\n' 'kind: Job' 'name: first' 'script: |' '  touch begun; while [ ! -e go ]; do sleep 0.05; done' >first.yaml
    printf '%s\n' 'kind: Job' 'name: next' 'script: echo x >>ran' >next.yaml
    for ((step = 1; step < 200; step += 4)); do
        rm -f go begun ran
        taskset -c 0 "$CYBELECTL" submit first.yaml --scheduler local
        taskset -c 0 "$CYBELECTL" submit next.yaml --scheduler local
        wait_for 10 test -e begun
        # Dead, the first one's supervisor cannot start the next: the client does.
        kill -KILL "$(sql "$CYBELE_STATE_DIR/local.sqlite" 'SELECT supervisor FROM parts WHERE phase = 1' | cut -d' ' -f1)"
        code=0
        killed_at "$step" "$CYBELECTL" job list >listed || code=$?
        wait_for 30 settled
        assert_equal "$step: $(wc -l <ran)" "$step: 1"
        [ "$code" -eq 0 ] || break
    done
    assert [ "$step" -gt 20 ]
    assert_equal "$(parts "outcome = 'done'")" "$(parts "outcome = 'lost'")"
}

@test "a supervisor killed at each step of its job's end: the end is known or lost, the next job runs once" {
    printf '%s\n' 'kind: Job' 'name: first' 'script: |' '  touch begun; while [ ! -e go ]; do sleep 0.02; done; echo x >>first-ran' >first.yaml
    printf '%s\n' 'kind: Job' 'name: next' 'script: echo x >>next-ran' >next.yaml
    for ((step = 1; step < 200; step += 3)); do
        rm -f go begun first-ran next-ran
        taskset -c 0 "$CYBELECTL" submit first.yaml --scheduler local
        taskset -c 0 "$CYBELECTL" submit next.yaml --scheduler local
        wait_for 10 test -e begun
        pid=$(sql "$CYBELE_STATE_DIR/local.sqlite" 'SELECT supervisor FROM parts WHERE phase = 1' | cut -d' ' -f1)
        strace -qq -o trace -p "$pid" -e "trace=$calls" -e "inject=$calls:signal=KILL:when=$step" 2>/dev/null 3>&- &
        tracer=$!
        wait_for 5 grep -q "^TracerPid:.[1-9]" "/proc/$pid/status"
        touch go
        wait $tracer || true
        wait_for 30 settled
        assert_equal "$step: $(wc -l <first-ran) $(wc -l <next-ran)" "$step: 1 1"
        ! grep -q '+++ exited' trace || break
    done
    assert [ "$step" -gt 10 ]
    assert_equal "$(parts "outcome NOT IN ('done', 'lost')")" 0
    assert [ "$(parts "outcome = 'done'")" -gt "$(parts "outcome = 'lost'")" ]
}

@test "who takes the turn for a job that ended is killed at each step: the end is known, the next job runs once" {
    turn='pwrite64,fdatasync,unlink,flock,sendto,recvfrom' # the supervisor itself and its script call none of these
    printf '%s\n' 'kind: Job' 'name: first' 'script: |' '  touch begun; while [ ! -e go ]; do sleep 0.02; done; echo x >>first-ran' >first.yaml
    printf '%s\n' 'kind: Job' 'name: next' 'script: echo x >>next-ran' >next.yaml
    for ((step = 1; step < 200; step += 3)); do
        rm -f go begun first-ran next-ran
        taskset -c 0 "$CYBELECTL" submit first.yaml --scheduler local
        taskset -c 0 "$CYBELECTL" submit next.yaml --scheduler local
        wait_for 10 test -e begun
        pid=$(sql "$CYBELE_STATE_DIR/local.sqlite" 'SELECT supervisor FROM parts WHERE phase = 1' | cut -d' ' -f1)
        strace -qq -f -o trace -p "$pid" -e "trace=$turn" -e "inject=$turn:signal=KILL:when=$step" 2>/dev/null 3>&- &
        tracer=$!
        wait_for 5 grep -q "^TracerPid:.[1-9]" "/proc/$pid/status"
        touch go
        wait $tracer || true
        wait_for 30 settled
        assert_equal "$step: $(wc -l <first-ran) $(wc -l <next-ran)" "$step: 1 1"
        grep -q '+++ killed' trace || break
    done
    assert [ "$step" -gt 10 ]
    assert_equal "$(parts "outcome <> 'done'")" 0
}

@test "a supervisor killed before its script begins: the job waits again, and runs once" {
    printf '%s\n' 'kind: Job' 'name: held' 'script: |' '  touch begun; while [ ! -e go ]; do sleep 0.05; done' >held.yaml
    printf '%s\n' 'kind: Job' 'name: unlucky' 'script: echo x >>ran' >unlucky.yaml
    taskset -c 0 "$CYBELECTL" submit held.yaml --scheduler local
    taskset -c 0 "$CYBELECTL" submit unlucky.yaml --scheduler local
    wait_for 10 test -e begun
    # As it stands where the supervisor died between the queue and the script.
    sql "$CYBELE_STATE_DIR/local.sqlite" \
        "UPDATE parts SET phase = 1, supervisor = '999999 1 none', cpus = '0' WHERE number = 2"
    taskset -c 0 "$CYBELECTL" job list >/dev/null
    assert_equal "$(sql "$CYBELE_STATE_DIR/local.sqlite" 'SELECT phase, attempt FROM parts WHERE number = 2')" '0|2'
    touch go
    wait_for 20 settled
    assert_equal "$(wc -l <ran)" 1
    assert_equal "$(find .cybelectl -name 'attempt-*' -printf '%f\n' | sort | xargs)" 'attempt-1 attempt-1 attempt-2'
}

@test "a supervisor that was killed: its script and what that started are ended, the job is lost" {
    printf '%s\n' 'kind: Job' 'name: doomed' 'script: |' '  trap "" TERM' "  sleep 654.$unique & touch begun; wait; sleep 655.$unique" >doomed.yaml
    id=$("$CYBELECTL" submit doomed.yaml --scheduler local)
    wait_for 10 test -e begun
    kill -KILL "$(sql "$CYBELE_STATE_DIR/local.sqlite" 'SELECT supervisor FROM parts' | cut -d' ' -f1)"
    run "$CYBELECTL" job wait "$id"
    assert_equal "$status" 125
    run pgrep -f "^sleep 65[45].$unique"
    assert_failure
}

# groups: folder of this shell's control group (version 2), where groups can be made in it; else the test is skipped.
groups() {
    group=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' /proc/self/cgroup)
    # shellcheck disable=SC2015
    [ -n "$group" ] && mkdir "$group/cybelectl-try.$$" 2>/dev/null && [ -e "$group/cybelectl-try.$$/cgroup.kill" ] ||
        skip 'no control group of version 2 can be made here'
    rmdir "$group/cybelectl-try.$$"
}

@test "a supervisor that was killed: what the script moved into a session of its own is ended, and no group stays" {
    groups
    printf '%s\n' 'kind: Job' 'name: away' 'script: |' "  setsid -f sleep 656.$unique" \
        "  cat /proc/self/cgroup; touch begun; sleep 657.$unique" >away.yaml
    id=$("$CYBELECTL" submit away.yaml --scheduler local)
    wait_for 10 test -e begun
    run grep -o '/cybelectl-.*' "away-$id.out"
    assert_output "/cybelectl-$(basename .cybelectl/*)"
    mine=$(<"$(echo .cybelectl/*/group)")
    assert [ -d "$mine" ]
    kill -KILL "$(sql "$CYBELE_STATE_DIR/local.sqlite" 'SELECT supervisor FROM parts' | cut -d' ' -f1)"
    run "$CYBELECTL" job wait "$id"
    assert_equal "$status" 125
    run pgrep -f "^sleep 65[67].$unique"
    assert_failure
    refute [ -e "$mine" ]
    refute [ -e "$(echo .cybelectl/*/group)" ]
}

@test "a job's group goes with it; a job that it submitted is in none of it" {
    groups
    printf '%s\n' 'kind: Job' 'name: inner' 'script: |' '  cat /proc/self/cgroup; while [ ! -e go ]; do sleep 0.05; done' >inner.yaml
    printf '%s\n' 'kind: Job' 'name: outer' 'script: |' '  mkdir "$(cat .cybelectl/*/group)/deeper"' \
        "  $CYBELECTL submit inner.yaml --scheduler local >inner-id" >outer.yaml
    run env "CYBELECTL=$CYBELECTL" "$CYBELECTL" submit outer.yaml --scheduler local --wait
    assert_success
    wait_for 10 test -s "inner-$(<inner-id).out"
    run "$CYBELECTL" job status "$(<inner-id)"
    assert_output --partial running
    inner=$(sed -n 's/^0:://p' "inner-$(<inner-id).out")
    assert_regex "$inner" '/cybelectl-[0-9a-f-]+$'
    assert_equal "$(find "$group" -maxdepth 1 -name 'cybelectl-*' -printf '%f\n' | grep -cxF "${inner##*/}")" 1
    assert_equal "$(find .cybelectl -name group | wc -l)" 1
    touch go
    run "$CYBELECTL" job wait "$(<inner-id)"
    assert_success
    refute [ -e "$group/${inner##*/}" ]
}

@test "a transaction is on the disk before its submission is reported: the end of SQLite's journal is synced" {
    printf '%s\n' 'kind: Job' 'name: kept' 'script: "true"' >kept.yaml
    strace -ff -y -qq -o trace -e trace=pwrite64,fsync,fdatasync,write -e signal=none "$CYBELECTL" submit kept.yaml --scheduler local 3>&-
    # After the zeros by which a transaction is committed, the same process next syncs the database's journal.
    run awk 'FNR == 1 { ended = "" }
        ended != "" { if ($0 !~ /^fdatasync\([0-9]+<[^>]*sqlite-journal>\) += 0/) print "not synced: " ended ", but " $0; ended = ""; synced++ }
        /^pwrite64\([0-9]+<[^>]*sqlite-journal>, "(\\0)+", 28, 0\) = 28/ { ended = $0 }
        END { if (ended != "" || synced < 3) print "only " synced " transactions" }' trace.*
    assert_output ''
}

@test "what a job starts from is on the disk when its id is printed, also where it begins immediately" {
    printf '%s\n' 'kind: Job' 'name: begins' 'script: sleep 60' >begins.yaml
    strace -f -y -qq -o trace -e trace=fsync,write -e signal=none "$CYBELECTL" submit begins.yaml --scheduler local >id 3>&-
    # Of each process, a call that another one interrupts in the record is complete where it is resumed.
    run awk 'match($0, /fsync\([0-9]+<.*\/local\/[0-9a-f-]+\/[a-z.]+>/) { file[$1] = substr($0, RSTART, RLENGTH - 1); sub(/.*\//, "", file[$1]) }
        /fsync.*\) += 0$/ && $1 in file { print file[$1]; delete file[$1] }
        /write\(1<.*"[0-9]+\\n"/ { print "id" }' trace
    assert_output $'job.sh\nenvironment\nid'
    run -0 "$CYBELECTL" job cancel "$(cat id)"
}
