# SPDX-License-Identifier: Apache-2.0
# Never twice, never lost, on real TORQUE and OpenPBS servers: clients that are killed, answers that are late, servers that restart.
# KILLS, 40 unless set, is how many clients a server loses. About eight minutes.
load ../parts/suite.bash
load servers.bash

setup_file() { start_servers; }
teardown_file() { stop_servers; }

once() { job once "script: echo x >>'$PWD/ran'" 'resources: {time: 2 min}'; }
# told LINE…: figures that are shown, whatever becomes of the case.
told() { echo "# $product: $*" >&3; }
nothing_waits() { ! server qstat -f | grep -qE 'job_state = [QRHE]'; }

# kill_clients: each in a folder try-N-CALL of its own, at one call after the other from the intent to the acknowledgement.
kill_clients() {
    local number name first last call
    server mkdir first whole
    cd first && once && submit once >/dev/null # makes the journal
    cd ../whole && once
    server strace -qq -y -e signal=none -o ../trace cybelectl submit once.yaml --scheduler "$dialect" 3>&-
    cd ..
    first=$(grep -n 'jobs\.sqlite-journal' trace | head -n 1 | cut -d: -f1)
    last=$(grep -n '^pwrite64(.*jobs\.sqlite-journal>, .*, 28, 0)' trace | tail -n 1 | cut -d: -f1)
    for ((number = 0; number < tries; number++)); do
        call=$((first + (last - first) * number / tries))
        until killed_at "$call"; do
            # This client made the call less often than the traced one did: it lived. One call earlier.
            assert_equal "$status" 0
            call=$((call - 1))
            assert [ "$call" -ge "$first" ]
        done
        tried+=("try-$number-$call")
    done
    calls=$((last - first))
}
killed_at() { # CALL: of the trace
    server mkdir "try-$number-$1"
    cd "try-$number-$1" && once
    head -n "$1" ../trace >"$BATS_TEST_TMPDIR/until"
    name=$(tail -n 1 "$BATS_TEST_TMPDIR/until" | sed 's/(.*//')
    run server strace -qq -o /dev/null -e "trace=$name" -e \
        "inject=$name:signal=KILL:when=$(grep -c "^$name(" "$BATS_TEST_TMPDIR/until")" cybelectl submit once.yaml --scheduler "$dialect" 3>&-
    cd ..
    [[ $status == 137 ]]
}

killed_clients() {
    local number calls tries=${KILLS:-40} name runs absent
    local -a tried=()
    kill_clients
    sleep 61 # it is known then of those that never came to the server that they did not
    for ((number = 0; number < tries; number++)); do
        # Half of them are found by another command first.
        ((number != tries / 2)) || server cybelectl job list >/dev/null
        cd "${tried[number]}" || return
        submit once >/dev/null
        cd ..
    done
    wait_for 120 nothing_waits
    sleep 1
    runs=$(cat "${tried[@]/%//ran}" | wc -l)
    absent=$(server cybelectl job list --all --cached | grep -c ' not-submitted ') || :
    told "$tries clients killed at $calls calls, $runs runs, $absent never reached the server"
    for name in "${tried[@]}"; do
        assert_equal "$name: $(wc -l <"$name/ran")" "$name: 1"
    done
}
# One case per server: each takes two minutes on an idle machine, and bats ends a case after five.
@test "TORQUE: clients killed at their calls between intent and acknowledgement: with the repetition each job runs once" {
    on torque killed_clients
}
@test "OpenPBS: clients killed at their calls between intent and acknowledgement: with the repetition each job runs once" {
    on openpbs killed_clients
}

silent_qsub() {
    once
    server mkdir slow
    printf '%s\n' '#!/bin/sh' "PATH=\${PATH#*:} qsub \"\$@\" >/dev/null && sleep 70" | server tee slow/qsub >/dev/null
    server chmod 755 slow/qsub
    # shellcheck disable=SC2016 # for the shell there
    behind "silent-$product" sh -c 'PATH=$PWD/slow:$PATH exec cybelectl submit once.yaml --scheduler "$1" --wait' sh "$dialect"
}
silent_ended() {
    folder=$place/$product/home/$BATS_TEST_NUMBER
    assert_equal "$1" 0
    assert_regex "$(cat "$BATS_TEST_TMPDIR/silent-$product.said")" 'is unclear .*looking for the job'
    assert_regex "$(cat "$BATS_TEST_TMPDIR/silent-$product.out")" '^[0-9]+\.head$'
    assert_equal "$(wc -l <"$folder/ran")" 1
}
@test "a qsub that is silent for 70 s: the job is found, and was submitted once" {
    local -A clients=()
    for product in "${given[@]}"; do
        on "$product" silent_qsub
        clients[$product]=$!
    done
    for product in "${given[@]}"; do
        code=0
        wait "${clients[$product]}" || code=$?
        silent_ended "$code"
    done
}

cancel_is_seen() {
    local before period=5
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 60 is_in_state "$id" running
    behind "waits-$product" cybelectl job wait "$id" --monitoring-period "$period"
    waiter=$!
    before=$SECONDS
    run server timeout 120 cybelectl job cancel "$id" --monitoring-period "$period"
    assert_success
    told "cancel of a running job: $((SECONDS - before)) s"
    before=$SECONDS
    wait "$waiter" || true
    assert [ $((SECONDS - before)) -le $((2 * period)) ]
    assert_equal "$(state_of "$id")" cancelled
    refute_regex "$(server qstat -f "$id" 2>&1)" 'job_state = R'
}
@test "a cancel of a running job is seen by each client within two poll periods" {
    on_each cancel_is_seen
}

restarts() {
    job long 'script: sleep 25; exit 3' 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 60 is_in_state "$id" running
    behind "waits-$product" cybelectl job wait "$id" --monitoring-period 1
    waiter=$!
    behind "states-$product" sh -c 'for i in $(seq 40); do cybelectl job status "$1" 2>/dev/null; sleep 0.2; done' sh "$id"
    looker=$!
    as_manager qterm -t quick
    sleep 3
    as_manager pbs_server </dev/null >/dev/null 2>&1 3>&-
    wait "$looker"
    code=0
    wait "$waiter" || code=$?
    assert_equal "$code" 3
    refute_regex "$(cat "$BATS_TEST_TMPDIR/states-$product.out")" 'lost|cancelled|done|not-submitted'
}
@test "a server that answers in the middle of a restart ends no job" {
    on_each restarts
}

lost_after_patience() {
    local before
    printf '%s\n' 'kind: Site' 'name: here' "scheduler: {dialect: $dialect, patience: 4 s}" | server tee site.yaml >/dev/null
    # shellcheck disable=SC2016
    job silent 'script: kill -KILL $PPID' 'resources: {time: 2 min}' # so its script cannot write a record
    id=$(server cybelectl submit silent.yaml --site site.yaml)
    before=$SECONDS
    run server timeout 120 cybelectl job wait "$id" --monitoring-period 1
    assert_equal "$status" 125
    told "lost after $((SECONDS - before)) s with a patience of 4 s"
    assert [ $((SECONDS - before)) -lt 60 ]
}
@test "a forgotten job without any trace is lost after the Site's patience" {
    on_each forgetting lost_after_patience
}

login_shell_is_asked_once() {
    job there 'script: exit 3' "workdir: $PWD" 'resources: {time: 2 min}'
    server rm -rf "$place/$product/home/state/ssh" # another case may have it by now
    server cp "$place/$product/home/.profile" "$place/$product/home/.profile.kept"
    # ssh's commands are no job: a job has PBS_ENVIRONMENT.
    printf '[ -n "${PBS_ENVIRONMENT:-}" ] || echo asked >>"%s"\n' "$PWD/asked" | server tee -a "$place/$product/home/.profile" >/dev/null
    run --separate-stderr submit there --host head --wait
    assert_equal "$status" 3
    run server cybelectl job status "$output"
    assert_success
    run --separate-stderr submit there --host head --wait
    assert_equal "$status" 3
    assert_equal "$(wc -l <asked)" 1
    echo /nowhere | server tee "$(echo "$place/$product"/home/state/ssh/path-*)" >/dev/null # it stops working
    run --separate-stderr submit there --host head --wait
    server mv "$place/$product/home/.profile.kept" "$place/$product/home/.profile"
    assert_equal "$status" 3
    assert_equal "$(wc -l <asked)" 2
}
@test "through ssh, a login shell is asked for its PATH once, and again where that stops working" {
    on_each login_shell_is_asked_once
}

has_begun() { compgen -G 'talk-*.out' >/dev/null; }
stopped_server() {
    job talk 'script: sleep 6; echo first; sleep 2; echo second; sleep 12; echo last' 'resources: {time: 2 min}'
    behind "talk-$product" cybelectl submit talk.yaml --scheduler "$dialect" --follow --monitoring-period 1
    follower=$!
    wait_for 40 has_begun
    as_manager pkill -STOP -x 'pbs_server(.bin)?'
    wait_for 14 grep -q second "$BATS_TEST_TMPDIR/talk-$product.out" || true
    cp "$BATS_TEST_TMPDIR/talk-$product.out" "$BATS_TEST_TMPDIR/meanwhile"
    as_manager pkill -CONT -x 'pbs_server(.bin)?'
    wait "$follower"
    assert_equal "$(cat "$BATS_TEST_TMPDIR/meanwhile")" $'first\nsecond'
    assert_equal "$(cat "$BATS_TEST_TMPDIR/talk-$product.out")" $'first\nsecond\nlast'
}
@test "--follow shows what a job writes while its server does not answer" {
    on_each stopped_server
}
