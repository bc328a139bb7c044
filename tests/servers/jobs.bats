# SPDX-License-Identifier: Apache-2.0
# A job's whole life on real TORQUE and OpenPBS servers with two nodes.
load ../parts/suite.bash
load servers.bash
load ../parts/own_scripts.bash

setup_file() { start_servers; }
teardown_file() { stop_servers; }

code_comes_back() {
    job nine 'script: echo said; exit 9' 'resources: {time: 2 min}'
    run --separate-stderr submit nine --wait
    assert_equal "$status" 9
    assert_output --regexp '^[0-9]+\.head$'
    assert_equal "$(cat "nine-${output%%.*}.out")" said
    assert_regex "$stderr" "nine-${output%%.*}\.out"
}
@test "the program's code is submit's, its output is where the message says" {
    on_each code_comes_back
}

follows() {
    job talk 'script: |' '  echo first' '  sleep 2' '  printf second' '  echo problem >&2' 'resources: {time: 2 min}'
    run --separate-stderr submit talk --follow
    assert_success
    assert_output $'first\nsecond'
    assert_regex "$stderr" 'problem'
}
@test "submit --follow shows what the job writes" {
    on_each follows
}

ranks_meet() {
    # shellcheck disable=SC2016
    job meet 'script: echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname) threads ${OMP_NUM_THREADS:-}' \
        'launch: {kind: mpi, guard: false}' 'resources: {nodes: 2, tasks-per-node: 2, cpus-per-task: 2, time: 2 min}'
    run submit meet --wait
    cat meet-*.err
    assert_success
    assert_equal "$(grep -cE '^rank [0-3] of 4 on n[12] threads 2$' meet-*.out)" 4
    assert_equal "$(sed -nE 's/^rank .* on (n[12]) .*/\1/p' meet-*.out | sort | uniq -c | tr -s ' \n' ' ')" ' 2 n1 2 n2 '
}
@test "two ranks with two threads on each of two nodes" {
    on_each ranks_meet
}

array_ends() {
    # shellcheck disable=SC2016
    job parts 'script: echo part $CYBELE_ARRAY_INDEX; [ $CYBELE_ARRAY_INDEX != 2 ] || exit 6' 'array: 0-3' 'resources: {time: 2 min}'
    run --separate-stderr submit parts --wait
    assert_equal "$status" 6
    assert_output --regexp '^[0-9]+\[\]\.head$'
    id=$output
    for index in 0 1 2 3; do
        run server cybelectl job logs "${id/\[\]/[$index]}"
        assert_success
        assert_output "part $index"
    done
    elements=$(server cybelectl job list --elements --format json "$id")
    assert_equal "$(jq -c '[.jobs[] | [.index, .state, .code]]' <<<"$elements")" '[[0,"done",0],[1,"done",0],[2,"failed",6],[3,"done",0]]'
    assert_equal "$(jq '.jobs | all(.node | test("^n[12]$"))' <<<"$elements")" true
    assert_equal "$(cat "$(jq -r '.jobs[3].stdout' <<<"$elements")")" 'part 3'
    run --separate-stderr server cybelectl job resubmit "$id" --array 2-3 --wait
    assert_equal "$status" 6
    assert_equal "$(server cybelectl job list --elements --format json "$output" | jq -c '[.jobs[].index]')" '[2,3]'
    run --separate-stderr server cybelectl job resubmit "$id" --failed --wait
    assert_equal "$status" 6
    assert_equal "$(server cybelectl job list --elements --format json "$output" | jq -c '[.jobs[].index]')" '[2]'
}
@test "an array is submitted, runs and ends with the code of the element that failed; each output is found" {
    on_each array_ends
}

array_with_index_in_its_output() {
    # shellcheck disable=SC2016
    job marked 'script: echo part $CYBELE_ARRAY_INDEX' 'array: 1-2' 'output: {stdout: "%x-%j-%a.log"}' 'resources: {time: 2 min}'
    run --separate-stderr submit marked --wait
    assert_success
    id=$output
    assert_file_exist "marked-${id%%\[*}-1.log"
    run server cybelectl job logs "${id/\[\]/[2]}"
    assert_output 'part 2'
}
@test "%a and %j in the name of an array's output mean the same to the script and to the client" {
    on_each array_with_index_in_its_output
}

nodes_write() {
    server mkdir -p fake/torch/distributed
    server tee fake/torch/distributed/run.py >/dev/null <<'END'
import os, sys
print("out of", os.uname().nodename, flush=True)
print("trouble of", os.uname().nodename, file=sys.stderr, flush=True)
sys.exit(5 if os.uname().nodename == "n2" else 0)
END
    job net 'command: [train.py]' 'launch: torch' 'resources: {nodes: 2, time: 2 min}' "environment: {PYTHONPATH: '$PWD/fake'}"
    run --separate-stderr submit net --follow
    assert_equal "$status" 5
    assert_line 'out of n1'
    assert_line 'out of n2'
    assert_regex "$stderr" 'trouble of n2'
    assert_equal "$(grep -c '^out of n[12]$' net-*.out)" 2
    assert_equal "$(grep -c '^trouble of n[12]$' net-*.err)" 2
}
@test "what a launch per node writes on each node is in the job's output, and is followed" {
    on_each nodes_write
}

# leaves_a_session SECONDS: a torchrun whose child has a session of its own; it ends after so many seconds.
leaves_a_session() {
    server mkdir -p fake/torch/distributed
    server tee fake/torch/distributed/run.py >/dev/null <<END
import os, subprocess, time
subprocess.Popen(["sleep", "7123"], start_new_session=True)
open("$PWD/began." + os.uname().nodename, "w").close()
time.sleep($1)
END
    job apart 'command: [train.py]' 'launch: torch' 'resources: {nodes: 2, time: 5 min}' "environment: {PYTHONPATH: '$PWD/fake'}"
}
no_sleeper() { ! as_manager pgrep -fx 'sleep 7123'; }
has_begun() { [[ -e began.n1 && -e began.n2 ]]; }
nothing_stays_behind() {
    leaves_a_session 1
    run submit apart --wait
    assert_success
    assert no_sleeper
    assert_equal "$(find . -name '.cybelectl-*')" ''
}
nothing_stays_behind_a_cancel() {
    leaves_a_session 100
    id=$(submit apart)
    wait_for 60 has_begun
    server cybelectl job cancel "$id"
    wait_for 20 no_sleeper
    wait_for 20 test -z "$(find . -name '.cybelectl-*')"
}
@test "what a launch per node started in a session of its own is ended on each node" {
    on_each nothing_stays_behind
}
@test "the same after a cancel" {
    on_each nothing_stays_behind_a_cancel
}

narrow_folders() {
    for name in 'com,ma' 'back\sl'; do
        cd "$folder" && server mkdir "$name"
        cd "$folder/$name" || return
        job here 'script: echo here; exit 3' 'resources: {time: 2 min}'
        if [[ $product == torque ]]; then
            run submit here
            assert_equal "$status" 3
            assert_output --partial 'comma or a backslash'
            assert_equal "$(find . -name .cybelectl)" ''
        else
            run submit here --wait
            assert_equal "$status" 3
            assert_equal "$(cat here-*.out)" here
        fi
    done
}
@test "a directory that TORQUE cannot hand on is refused, and OpenPBS runs there" {
    on_each narrow_folders
}

# runs ID: until cybelectl says that it runs.
runs() { wait_for 60 is_in_state "$1" running; }

cancels_what_is_forgotten() {
    local started
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    job waits 'command: [sleep, "300"]' 'resources: {nodes: 2, tasks-per-node: 1, cpus-per-task: 4, time: 10 min}' 'launch: {kind: mpi, guard: false}'
    id=$(submit long)
    runs "$id"
    pending=$(submit waits)
    started=$SECONDS
    run server timeout 60 cybelectl job cancel "$pending"
    assert_success
    assert_regex "$output" 'cancelled'
    run server timeout 60 cybelectl job cancel "$id"
    assert_success
    assert [ $((SECONDS - started)) -lt 50 ]
    assert_equal "$(state_of "$id") $(state_of "$pending")" 'cancelled cancelled'
}
ends_by_its_words() {
    # shellcheck disable=SC2016
    job silent 'script: kill -STOP $PPID; sleep 300' 'resources: {time: 3 s}' # its script cannot write a record
    run --separate-stderr timeout 200 "$parts_dir/batch-server" exec "$place" "$product" env CYBELE_STATE_DIR="$place/$product/home/state" \
        cybelectl submit silent.yaml --scheduler "$dialect" --wait
    assert_equal "$status" 124
    assert_regex "$stderr" 'walltime'
}
@test "cancelled jobs that the server has forgotten are cancelled, without five minutes" {
    on_each forgetting cancels_what_is_forgotten
}
@test "the server's own words tell the end of a job that it has forgotten" {
    on_each forgetting ends_by_its_words
}

# milliseconds: of the clock that only goes forward.
milliseconds() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }
# is_over ID: plain qstat does not show it as alive.
is_over() { ! server qstat -f "$1" 2>/dev/null | grep -qE 'job_state = [^CF]'; }
# How long a server itself takes to end a job is its own: OpenPBS waits for its kill delay of ten seconds, or does not.
cancel_is_seen_soon() {
    local began plain seen ours
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    id=$(printf 'sleep 300\n' | server qsub -l walltime=600)
    wait_for 60 sh -c "'$parts_dir/batch-server' exec '$place' '$product' qstat -f '$id' | grep -q 'job_state = R'"
    began=$(milliseconds)
    server qdel "$id"
    wait_for 60 is_over "$id"
    plain=$(($(milliseconds) - began))
    id=$(submit long)
    runs "$id"
    began=$(milliseconds)
    behind "cancels-$product" cybelectl job cancel "$id" --monitoring-period 2
    client=$!
    wait_for 60 is_over "$id"
    seen=$(($(milliseconds) - began))
    wait "$client"
    ours=$(($(milliseconds) - began))
    echo "$product: from qdel to the end in qstat $plain ms for a plain script, $seen ms for ours; job cancel took $ours ms" >&3
    assert [ "$ours" -lt "$((seen + 2 * 2000 + 1500))" ] # two periods, and the starts of the programs
}
@test "job cancel of a running job sees its end within two periods of the server's own" {
    on_each cancel_is_seen_soon
}

array_is_followed() {
    job many 'script: echo mine' 'array: 0-1' 'resources: {time: 2 min}'
    run --separate-stderr submit many --follow
    assert_success
    assert_regex "$stderr" "the output of an array is not shown; see .cybelectl job logs '[0-9]+\[0\]\.head'"
}
@test "--follow of an array says where its output is" {
    on_each array_is_followed
}

comment_is_no_reason() {
    job fails 'script: exit 4' 'resources: {time: 2 min}'
    run --separate-stderr submit fails --wait
    assert_equal "$status" 4
    refute_regex "$stderr" 'Job (started|run) '
    refute_regex "$(server cybelectl job list --all)" 'Job (started|run) '
}
@test "where a job was started is not shown as the reason of its end" {
    on_each comment_is_no_reason
}

through_ssh() {
    job there 'script: exit 3' "workdir: $PWD" 'resources: {time: 2 min}'
    run --separate-stderr submit there --host head --wait
    assert_equal "$status" 3
    assert_regex "$output" '^[0-9]+\.head$'
    server mv "$place/$product/home/.profile" "$place/$product/home/.profile.away"
    server sh -c 'rm "$CYBELE_STATE_DIR"/ssh/path-*' # else the PATH that is kept would do
    run submit there --host head
    server mv "$place/$product/home/.profile.away" "$place/$product/home/.profile"
    assert_equal "$status" 5
    assert_output --partial 'qsub is not in the PATH of any shell on head'
    refute_output --partial refused
}
# shellcheck disable=SC2016 # variables of the script
own_script_through_ssh() {
    printf '%s\n' '#!/bin/sh' '#PBS -N there' '#PBS -l walltime=00:01:00' 'echo "on $(uname -n) ${1:-}"' 'exit 7' | server tee old.pbs >/dev/null
    run --separate-stderr server cybelectl submit --script old.pbs --scheduler "$dialect" --host head --workdir "$PWD" --monitoring-period 1 --wait
    assert_equal "$status" "$(code_of_own 7)"
    id=$output
    assert_regex "$id" '^[0-9]+\.head$'
    run server cybelectl job logs "$id"
    assert_line --regexp '^on n[12] $'
}
@test "a batch script of one's own is submitted through ssh, and its output comes back" {
    on_each own_script_through_ssh
}

@test "through ssh, commands that only a login shell finds are found; none is no refusal of the job" {
    on_each through_ssh
}

elements_by_name() {
    # shellcheck disable=SC2016
    job parts 'script: test $CYBELE_ARRAY_INDEX = 0 && exit 7; sleep 200' 'array: 0-2' 'resources: {time: 5 min}'
    id=$(submit parts)
    wait_for 60 is_in_state "${id/\[\]/[0]}" failed
    runs "${id/\[\]/[1]}"
    assert_regex "$(server cybelectl job status "${id/\[\]/[0]}")" 'failed 7'
    run server cybelectl job cancel "${id/\[\]/[2]}"
    assert_success
    assert_equal "$(state_of "${id/\[\]/[2]}")" cancelled
    assert_equal "$(state_of "$id")" running
    run server cybelectl job status "${id/\[\]/[5]}"
    assert_equal "$status" 3
    assert_output --partial 'has no element 5'
    run server cybelectl job cancel "$id"
    assert_success
}
@test "an element of an array has a state, and is cancelled, by its own name" {
    on_each elements_by_name
}

dependency_fails() {
    job good 'command: ["true"]' 'resources: {time: 2 min}'
    id=$(submit good)
    server cybelectl job wait "$id"
    job later 'command: ["true"]' "after: [{job: '$id', when: failed}]" 'resources: {time: 2 min}'
    run --separate-stderr submit later --wait
    assert_equal "$status" 143
    assert_regex "$stderr" 'never started: a job that it was to follow'
}
@test "OpenPBS: a job whose dependency can no longer be met says so" {
    on openpbs dependency_fails
}

holds() {
    job runs 'command: [sleep, "100"]' 'resources: {time: 5 min}'
    id=$(submit runs)
    runs "$id"
    run server cybelectl job hold "$id"
    assert_equal "$status" 3
    assert_output --partial 'it does not wait: it is running'
    assert_equal "$(server qstat -f "$id" | sed -n 's/.*Hold_Types = //p')" n
    server cybelectl job cancel "$id"
}
@test "a job that runs cannot be held, and the server is not asked to" {
    on_each holds
}

stages() {
    server mkdir -p data work
    server sh -c 'seq 3 >data/numbers'
    job sum 'workdir: work' 'script: paste -sd+ in/numbers >sum.txt' 'stage-in: [{from: data, to: in}]' \
        'output: {results: [sum.txt]}' 'resources: {time: 2 min}'
    run --separate-stderr submit sum --wait
    assert_success
    server cybelectl job collect "$output"
    assert_equal "$(cat results/sum.txt)" 1+2+3
}
@test "inputs are brought, results are collected" {
    on_each stages
}

clients_at_once() {
    local number
    local -a clients=()
    job once 'command: ["true"]' 'resources: {time: 2 min}'
    for number in 1 2 3 4 5 6 7 8; do
        behind "once-$number" cybelectl submit once.yaml --scheduler "$dialect" --wait
        clients+=($!)
    done
    for number in "${clients[@]}"; do
        wait "$number"
    done
    assert_equal "$(cat "$BATS_TEST_TMPDIR"/once-?.out | sort -u | grep -c '\.head$')" 8
}
@test "eight clients at once submit eight jobs" {
    on_each clients_at_once
}

refused() {
    job nowhere 'command: ["true"]' 'queue: nowhere'
    run submit nowhere
    assert_equal "$status" 6
    assert_output --partial 'Unknown queue'
    assert_output --partial 'nothing was submitted'
}
@test "a refusal is passed on" {
    on_each refused
}

nodes_are_free() { [[ $(as_manager pbsnodes -a | grep -c '^ *state = free') == 2 ]]; }
server_is_down() {
    local here
    job none 'command: ["true"]'
    as_manager qterm
    wait_for 30 sh -c "! '$parts_dir/batch-server' root '$place' '$product' pgrep -f 'pbs_server(\.bin)?( |\$)'"
    run submit none
    here=$status$output
    as_manager pbs_server </dev/null >/dev/null 2>&1 3>&-
    wait_for 60 nodes_are_free # else OpenPBS looks at the job again after ten minutes
    assert_regex "$here" '^5error: .* cannot be reached; nothing was submitted'
    refute_regex "$here" '\\n'
    run server cybelectl job list --all
    assert_line --regexp ' none +[a-z]+ +not-submitted '
    refute_line --regexp ' not-submitted .*exit '
    run submit none --wait
    assert_success
}
@test "a server that is down: nothing is submitted, in one line, and the job list shows no exit code" {
    on_each server_is_down
}

# code_of_own CODE: what submit ends with; a script of one's own leaves no record, so where the server forgets at once, it is lost.
code_of_own() { [[ -z ${CYBELE_SERVERS_FORGET:-} ]] && echo "$1" || echo 125; }
# shellcheck disable=SC2016 # variables of the scripts
own_script() {
    local -a words=()
    [[ $product == openpbs ]] || words=(-- --level=3)
    printf '%s\n' '#!/bin/sh' '#PBS -N wheat' '#PBS -l nodes=1:ppn=2,walltime=00:01:00' '#PBS -v FLOUR=rye' \
        'echo "$FLOUR ${1:-none}"' 'echo trouble >&2' 'exit 7' | server tee old.pbs >/dev/null
    run --separate-stderr server cybelectl submit --script old.pbs --scheduler "$dialect" --monitoring-period 1 --wait "${words[@]}"
    assert_equal "$status" "$(code_of_own 7)"
    id=$output
    assert_equal "$(tail -n 1 "wheat.o${id%%.*}")" "rye ${words[1]:-none}"
    assert_equal "$(tail -n 1 "wheat.e${id%%.*}")" trouble
    run server cybelectl job logs "$id"
    assert_line "rye ${words[1]:-none}"
    run server cybelectl job status "$id"
    [[ $(code_of_own 7) == 125 ]] || assert_output --regexp "^$id failed 7"
    [[ $product == openpbs ]] && index=J || index=t
    printf '%s\n' '#!/bin/sh' "#PBS -$index 1-3" '#PBS -j oe' 'echo "part $PBS_ARRAYID$PBS_ARRAY_INDEX"' '[ "$PBS_ARRAYID$PBS_ARRAY_INDEX" != 2 ]' |
        server tee parts.sh >/dev/null
    run --separate-stderr server cybelectl submit --script parts.sh --scheduler "$dialect" --monitoring-period 1 --wait
    assert_equal "$status" "$(code_of_own 1)"
    id=$output
    for index in 1 2 3; do
        run server cybelectl job logs "${id/\[\]/[$index]}"
        assert_line "part $index"
    done
    sed "s/^#PBS -j oe/&\n#PBS -o named/" parts.sh | server tee named.sh >/dev/null
    run --separate-stderr server cybelectl submit --script named.sh --scheduler "$dialect" --monitoring-period 1 --wait
    run server cybelectl job logs "${output/\[\]/[3]}"
    if [[ $product == torque ]]; then
        assert_line 'part 3'
    else # all elements write into one file
        assert_failure 3
        assert_file_exist named
    fi
    printf '%s\n' '#!/bin/sh' 'sleep 300' | server tee long.sh >/dev/null
    id=$(server cybelectl submit --script long.sh --scheduler "$dialect")
    run server cybelectl job cancel "$id"
    assert_success
    run server cybelectl job status "$id"
    assert_output --regexp "^$id cancelled"
}
@test "a batch script of one's own is submitted unchanged: code, outputs, arguments, variables, elements, cancel" {
    on_each own_script
}

own_client() { server "$@"; }
own_put() { server tee "$1" >/dev/null; }
others_scripts() {
    own_submitted "$product" "$dialect"
    own_ended "$product" ${CYBELE_SERVERS_FORGET:+125}
}
@test "ten kinds of scripts of other people run unchanged" {
    on_each others_scripts
}

converted_csh() {
    own_text cshell "$product" | server tee csh.pbs >/dev/null
    run --separate-stderr server cybelectl job convert csh.pbs -o csh.yaml
    assert_success
    run grep '^shell:' csh.yaml
    assert_output 'shell: ["/bin/csh", "-f"]'
    run --separate-stderr submit csh --wait
    assert_equal "$status" 5
    run server cybelectl job logs "$output"
    assert_line 'grain wheat'
    assert_line 'the total is 6'
}
@test "a csh script that was converted runs under csh" {
    on_each converted_csh
}

strangers() {
    local number name
    job long 'command: [sleep, "300"]' 'resources: {time: 10 min}'
    job parts 'command: [sleep, "300"]' 'array: 2-3' 'resources: {time: 10 min}'
    id=$(submit long)
    array=$(submit parts)
    number=${id%%.*}
    for name in "slurm:$number" "$number.other" "${number}_1" "${number}[1].head" "${number}[].head" "${array%%[*}_1" "${array/\[\]/[4]}"; do
        run server cybelectl job cancel "$name"
        assert_equal "$status" 3
        assert_output --regexp 'there is no job|has no element'
    done
    runs "$id"
    refute_regex "$(server cybelectl job list --elements "$array")" cancelled
    job never 'command: ["true"]' 'array: 3-1'
    run submit never
    assert_equal "$status" 3
    assert_output --partial 'never.yaml:4:8'
    job never 'command: ["true"]' 'array: 0-2' 'output: {stdout: "one-%a", stderr: "two-%q"}'
    run submit never
    assert_equal "$status" 3
    assert_output --partial 'never.yaml:5:36'
    refute_regex "$(server qstat -f)" 'Job_Name = never'
    server cybelectl job cancel "$id" "$array"
}
@test "ids of other schedulers, elements that are not there, empty ranges, broken names of outputs: refused, nothing is cancelled or submitted" {
    on_each strangers
}

options_as_the_manual_says() {
    local prefix=CYBELE_${product^^}_PREFIX
    run "$parts_dir/option-tables" "$product=${!prefix}"
    assert_success
}
@test "the table by which scripts are read is that of the server's qsub" {
    on_each options_as_the_manual_says
}

named_as_the_log() {
    local number
    job both 'script: echo said; echo problem >&2' 'output: {stdout: "%x.o%j", stderr: "%x.e%j"}' 'resources: {time: 2 min}'
    job half 'launch: batch' 'script: echo said; echo problem >&2' 'output: {stdout: "%x-%j.out"}' 'resources: {time: 2 min}'
    job dots 'script: echo said; echo problem >&2' 'array: 1-2' 'output: {stdout: "%x.o%j.%a", stderr: "%x.o%j-%a"}' 'resources: {time: 2 min}'
    number=$(submit both --wait)
    assert_equal "$(server cat "both.o${number%%.*}") $(grep problem "both.e${number%%.*}")" 'said problem'
    number=$(submit half --wait)
    assert_equal "$(cat "half-${number%%.*}.out") $(cat "half.e${number%%.*}")" 'said problem'
    number=$(submit dots --wait)
    number=${number%%[.[]*}
    wait_for 30 grep -q said "dots.o$number.2"
    wait_for 30 grep -q problem "dots.o$number-2"
    # With a workdir, which is the folder of submission, and which is another one.
    server mkdir -p other
    job same "workdir: '$folder'" 'script: echo said' 'output: {stdout: "%x.o%j", stderr: "%x.o%j"}' 'resources: {time: 2 min}'
    job there 'workdir: other' 'script: echo said' 'output: {stdout: "%x.o%j", stderr: "%x.o%j"}' 'resources: {time: 2 min}'
    number=$(submit same --wait)
    grep -x said "same.o${number%%.*}"
    number=$(submit there --wait)
    grep -x said "other/there.o${number%%.*}"
}
@test "outputs that are named as the server names its own file are in it, and nothing replaces them" {
    on_each named_as_the_log
}
