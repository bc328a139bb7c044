# SPDX-License-Identifier: Apache-2.0
# Jobs submitted and followed under the rules of real TORQUE and OpenPBS servers, replayed by tests/parts/torque-rules: the cases of
# tests/servers/jobs.bats that need no server. A minute and a half.
load ../parts/suite.bash
load torque.bash
load ../parts/own_scripts.bash

array_ends() {
    # shellcheck disable=SC2016
    job parts 'script: echo part $CYBELE_ARRAY_INDEX; [ $CYBELE_ARRAY_INDEX != 2 ] || exit 6' 'array: 0-2' 'resources: {time: 1 min}'
    run --separate-stderr submit parts --wait
    assert_equal "$status" 6
    id=$output
    for index in 0 1 2; do
        run "$CYBELECTL" job logs "${id/\[\]/[$index]}"
        assert_output "part $index"
    done
}
@test "an array is submitted, ends as the element that failed, and each element's output is found" {
    on_both array_ends
}

elements_one_by_one() {
    job sweep 'command: [sh, -c, "echo of $1; test $1 -lt 2 || exit 6", run, "@{index}"]' 'array: 1-3' 'resources: {time: 1 min}'
    run --separate-stderr submit sweep --wait
    assert_equal "$status" 6
    assert_regex "$stderr" '2 of 3 elements failed, index 2-3'
    id=$output number=${output%%[*}
    run jq -c '.jobs[] | [.id, .index, .state, .code, .stdout]' <<<"$("$CYBELECTL" job list --elements --format json "$id")"
    assert_output "$(printf '%s\n' "[\"${id/\[\]/[1]}\",1,\"done\",0,\"$PWD/sweep-$number-1.out\"]" \
        "[\"${id/\[\]/[2]}\",2,\"failed\",6,\"$PWD/sweep-$number-2.out\"]" \
        "[\"${id/\[\]/[3]}\",3,\"failed\",6,\"$PWD/sweep-$number-3.out\"]")"
    assert_equal "$("$CYBELECTL" job list --elements --format json "$id" | jq '[.jobs[].node] | all(length > 0)')" true
    assert_equal "$(cat "sweep-$number-2.out")" 'of 2'
    for name in "${id/\[\]/[2]}" "${number}[2]" "${number}_2"; do
        run "$CYBELECTL" job status "$name"
        assert_output "${id/\[\]/[2]} failed 6"
    done
    run "$CYBELECTL" job cancel "${number}[9]"
    assert_failure 3
    assert_line "error: job $id has no element 9"
    run --separate-stderr "$CYBELECTL" job resubmit "$id" --failed --wait
    assert_equal "$status" 6
    assert_equal "$("$CYBELECTL" job list --elements --format json "$output" | jq -c '[.jobs[].index]')" '[2,3]'
}
resubmitted_once() {
    job sweep 'command: [sh, -c, "echo $1 >>ran; exit $1", run, "@{index}"]' 'array: 0-1' 'resources: {time: 1 min}'
    run --separate-stderr submit sweep --wait
    assert_equal "$status" 1
    id=$output
    mkdir -p fake
    printf '%s\n' '#!/bin/sh' 'rm "$0"' "$(command -v qsub) \"\$@\" >/dev/null" 'kill -KILL $PPID' >fake/qsub
    chmod +x fake/qsub
    run env PATH="$PWD/fake:$PATH" "$CYBELECTL" job resubmit "$id" --failed
    assert_equal "$status" 137
    run --separate-stderr "$CYBELECTL" job resubmit "$id" --failed --wait
    assert_equal "$status" 1
    assert_regex "$stderr" 'the earlier submission had arrived'
    assert_output --regexp '^[0-9]+\[\]\.head$' # the array, not the element that was seen
    assert_equal "$(sort ran | tr '\n' ' ')" '0 1 1 '
}
@test "a resubmission whose client is killed after qsub is taken up by the next one, and runs once" {
    on_both resubmitted_once
}

@test "each element of an array is listed, named in each form, and run again" {
    on_both elements_one_by_one
}

array_with_index_in_its_output() {
    # shellcheck disable=SC2016
    job marked 'script: echo part $CYBELE_ARRAY_INDEX' 'array: 1-2' 'output: {stdout: "%x-%j-%a.log"}' 'resources: {time: 1 min}'
    run --separate-stderr submit marked --wait
    assert_success
    id=$output
    assert_file_exist "marked-${id%%\[*}-1.log"
    run "$CYBELECTL" job logs "${id/\[\]/[2]}"
    assert_output 'part 2'
}
packed_rows_one_by_one() {
    # shellcheck disable=SC2016
    job packed 'command: [sh, -c, "echo ran=$1; [ $1 -lt 3 ] || [ $1 = 4 ]", sh, "@{n}"]' 'sweep: {n: 1-5, pack: 2, at-once: 2}' \
        'resources: {time: 1 min}'
    run --separate-stderr submit packed --wait
    assert_equal "$status" 1
    id=$output
    run --separate-stderr "$CYBELECTL" job list --elements --format json "$id"
    assert_equal "$(jq -c '.jobs[] | [.index, .state, .code]' <<<"$output" | paste -sd' ')" \
        '[0,"done",0] [1,"done",0] [2,"failed",1] [3,"done",0] [4,"failed",1]'
    jq -e --arg id "$id" 'all(.jobs[]; .id | startswith($id))' <<<"$output"
}
@test "the rows of a packed sweep are listed one by one from their records" {
    on_both packed_rows_one_by_one
}

@test "%a and %j in the name of an array's output mean the same to the script and to the client" {
    on_both array_with_index_in_its_output
}

nodes_write() {
    mkdir -p fake/torch/distributed
    cat >fake/torch/distributed/run.py <<'END'
import os, sys
print("out of", os.uname().nodename, flush=True)
print("trouble of", os.uname().nodename, file=sys.stderr, flush=True)
sys.exit(5 if os.uname().nodename == "n2" else 0)
END
    job net 'command: [train.py]' 'launch: torch' 'resources: {nodes: 2, time: 1 min}' "environment: {PYTHONPATH: '$PWD/fake'}"
    run --separate-stderr submit net --follow
    assert_equal "$status" 5
    assert_line 'out of n1'
    assert_line 'out of n2'
    assert_regex "$stderr" 'trouble of n2'
    assert_equal "$(grep -c '^out of n[12]$' net-*.out)" 2
}
@test "what a launch per node writes on each node is in the job's output, and is followed" {
    on_both nodes_write
}

nothing_stays_behind() {
    mkdir -p fake/torch/distributed
    cat >fake/torch/distributed/run.py <<'END'
import subprocess, time
subprocess.Popen(["sleep", "7124"], start_new_session=True)
time.sleep(1)
END
    job apart 'command: [train.py]' 'launch: torch' 'resources: {nodes: 2, time: 1 min}' "environment: {PYTHONPATH: '$PWD/fake'}"
    run submit apart --wait
    assert_success
    run ! pgrep -fx 'sleep 7124'
}
@test "what a launch per node started in a session of its own is ended on each node" {
    on_both nothing_stays_behind
}

have_begun() { [[ -e began.n1 && -e began.n2 ]]; }
no_sleeper() { ! pgrep -fx 'sleep 7125' >/dev/null; }
no_private_folder() { [[ -z $(find . -name '.cybelectl-*') ]]; }
nothing_stays_behind_a_cancel() {
    mkdir -p fake/torch/distributed
    cat >fake/torch/distributed/run.py <<END
import os, subprocess, time
subprocess.Popen(["sleep", "7125"], start_new_session=True)
open("$PWD/began." + os.uname().nodename, "w").close()
time.sleep(100)
END
    job apart 'command: [train.py]' 'launch: torch' 'resources: {nodes: 2, time: 5 min}' "environment: {PYTHONPATH: '$PWD/fake'}"
    id=$(submit apart)
    wait_for 60 have_begun
    run ! no_sleeper
    run "$CYBELECTL" job cancel "$id"
    assert_success
    wait_for 20 no_sleeper
    wait_for 20 no_private_folder
}
@test "the same after a cancel" {
    on_both nothing_stays_behind_a_cancel
}

narrow_folders() {
    for name in 'com,ma' 'back\sl'; do
        mkdir "$place/jobs/$name"
        cd "$place/jobs/$name" || return
        job here 'script: echo here; exit 3' 'resources: {time: 1 min}'
        run submit here --wait
        if [[ $product == torque ]]; then
            assert_equal "$status" 255
            assert_output --partial 'comma or a backslash'
            assert_equal "$(find . -name .cybelectl)" ''
        else
            assert_equal "$status" 3
            assert_equal "$(cat here-*.out)" here
        fi
    done
}
@test "a directory that TORQUE cannot hand on is refused, and OpenPBS runs there" {
    on_both narrow_folders
}

forgotten_ends() {
    keep 0
    # shellcheck disable=SC2016
    job limit 'script: kill -STOP $PPID; sleep 60' 'resources: {time: 2 s}' # so its script cannot write a record
    run --separate-stderr submit limit --wait
    assert_equal "$status" 124
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 20 sh -c "'$CYBELECTL' job status '$id' | grep -q running"
    run timeout 30 "$CYBELECTL" job cancel "$id"
    assert_success
    run "$CYBELECTL" job status "$id"
    assert_line --regexp "^$id cancelled 143"
}
@test "a job that the server has forgotten has ended by its record, our word, or the server's, without a wait" {
    on_both forgotten_ends
}

# shellcheck disable=SC2016 # variables of the scripts
own_script() {
    local -a words=()
    [[ $product == openpbs ]] || words=(-- --level=3)
    printf '%s\n' '#!/bin/sh' '#PBS -N wheat' '#PBS -l nodes=1:ppn=2,walltime=00:01:00' '#PBS -v FLOUR=rye' \
        'echo "$FLOUR ${1:-none}"' 'echo trouble >&2' 'exit 7' | tee old.pbs >/dev/null
    run --separate-stderr "$CYBELECTL" submit --script old.pbs --scheduler "$dialect" --monitoring-period 1 --wait "${words[@]}"
    assert_equal "$status" 7
    id=$output
    assert_equal "$(tail -n 1 "wheat.o${id%%.*}")" "rye ${words[1]:-none}"
    assert_equal "$(tail -n 1 "wheat.e${id%%.*}")" trouble
    run "$CYBELECTL" job logs "$id"
    assert_line "rye ${words[1]:-none}"
    run "$CYBELECTL" job status "$id"
    assert_output --regexp "^$id failed 7"
    [[ $product == openpbs ]] && index=J || index=t
    printf '%s\n' '#!/bin/sh' "#PBS -$index 1-3" '#PBS -j oe' 'echo "part $PBS_ARRAYID$PBS_ARRAY_INDEX"' '[ "$PBS_ARRAYID$PBS_ARRAY_INDEX" != 2 ]' |
        tee parts.sh >/dev/null
    run --separate-stderr "$CYBELECTL" submit --script parts.sh --scheduler "$dialect" --monitoring-period 1 --wait
    assert_equal "$status" 1
    id=$output
    for index in 1 2 3; do
        run "$CYBELECTL" job logs "${id/\[\]/[$index]}"
        assert_line "part $index"
    done
    sed "s/^#PBS -j oe/&\n#PBS -o named/" parts.sh | tee named.sh >/dev/null
    run --separate-stderr "$CYBELECTL" submit --script named.sh --scheduler "$dialect" --monitoring-period 1 --wait
    run "$CYBELECTL" job logs "${output/\[\]/[3]}"
    if [[ $product == torque ]]; then
        assert_line 'part 3'
    else # all elements write into one file
        assert_failure 3
        assert_file_exist named
    fi
    printf '%s\n' '#!/bin/sh' 'sleep 300' | tee long.sh >/dev/null
    id=$("$CYBELECTL" submit --script long.sh --scheduler "$dialect")
    run "$CYBELECTL" job cancel "$id"
    assert_success
    run "$CYBELECTL" job status "$id"
    assert_output --regexp "^$id cancelled"
}
@test "a batch script of one's own is submitted unchanged: code, outputs, arguments, variables, elements, cancel" {
    on_both own_script
}

others_scripts() {
    own_submitted "$product" "$dialect"
    own_ended "$product"
}
@test "ten kinds of scripts of other people run unchanged" {
    on_both others_scripts
}

converted_csh() {
    own_text cshell "$product" | tee csh.pbs >/dev/null
    run --separate-stderr "$CYBELECTL" job convert csh.pbs -o csh.yaml
    assert_success
    run grep '^shell:' csh.yaml
    assert_output 'shell: ["/bin/csh", "-f"]'
    run --separate-stderr submit csh --wait
    assert_equal "$status" 5
    run "$CYBELECTL" job logs "$output"
    assert_line 'grain wheat'
    assert_line 'the total is 6'
}
@test "a csh script that was converted runs under csh" {
    on_both converted_csh
}

# The next cases are those of tests/servers/jobs.bats and once.bats of the same names.
holds() {
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 20 is_in_state "$id" running
    run "$CYBELECTL" job hold "$id"
    assert_equal "$status" 3
    assert_output --partial 'it does not wait: it is running'
    assert_equal "$(qstat -f "$id" | sed -n 's/.*Hold_Types = //p')" n # the server was not asked to
    job waits 'script: echo ran >ran' "after: [{job: '$id', when: any}]" 'resources: {time: 1 min}'
    if [[ $product == openpbs ]]; then
        waits=$(submit waits)
        assert_equal "$(state_of "$waits")" held # for the other one
        run "$CYBELECTL" job hold "$waits"
        assert_success
        assert_equal "$(qstat -f "$waits" | sed -n 's/.*Hold_Types = //p')" u
        "$CYBELECTL" job cancel "$id"
        assert_equal "$(state_of "$waits")" held
        run "$CYBELECTL" job release "$waits"
        assert_success
        run "$CYBELECTL" job wait "$waits" --monitoring-period 1
        assert_success
        assert_file_exist ran
    else
        "$CYBELECTL" job cancel "$id"
    fi
}
@test "a job that runs cannot be held, and the server is not asked to; one that waits is held and released" {
    on_both holds
}

comment_is_no_reason() {
    job fails 'script: exit 4' 'resources: {time: 2 min}'
    run --separate-stderr submit fails --wait
    assert_equal "$status" 4
    refute_regex "$stderr" 'Job (started|run) '
    refute_regex "$("$CYBELECTL" job list --all)" 'Job (started|run) '
    job many 'script: echo mine' 'array: 0-1' 'resources: {time: 2 min}'
    run --separate-stderr submit many --follow
    assert_success
    assert_regex "$stderr" "the output of an array is not shown; see .cybelectl job logs '[0-9]+\[0\]\.head'"
}
@test "where a job was started is not the reason of its end; --follow of an array says where its output is" {
    on_both comment_is_no_reason
}

clients_at_once() {
    local number
    local -a clients=()
    job once 'script: echo x >>ran' 'resources: {time: 2 min}'
    for number in 1 2 3 4 5 6 7 8; do
        submit once --wait >"id.$number" 2>/dev/null 3>&- &
        clients+=($!)
    done
    for number in "${clients[@]}"; do
        wait "$number"
    done
    assert_equal "$(sort -u id.? | grep -c '\.head$') $(wc -l <ran)" '8 8'
}
@test "eight clients at once submit eight jobs" {
    on_both clients_at_once
}

cancel_is_seen() {
    local waiter asked
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(submit long)
    wait_for 20 is_in_state "$id" running
    mkdir fake
    printf '%s\n' '#!/bin/sh' "echo >>'$PWD/polls'" "exec $(command -v qstat) \"\$@\"" >fake/qstat
    chmod +x fake/qstat
    PATH=$PWD/fake:$PATH "$CYBELECTL" job wait "$id" --monitoring-period 2 >/dev/null 2>&1 3>&- &
    waiter=$!
    wait_for 20 test -s polls
    run "$CYBELECTL" job cancel "$id" --monitoring-period 2
    assert_success
    asked=$(wc -l <polls)
    wait "$waiter" || true
    assert [ $(($(wc -l <polls) - asked)) -le 2 ]
    assert_equal "$(state_of "$id")" cancelled
}
@test "a cancel of a running job is seen by each client with its second question at the latest" {
    on_both cancel_is_seen
}
