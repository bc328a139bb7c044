# SPDX-License-Identifier: Apache-2.0
# Many runs of one Job, and texts that the node replaces, on the local scheduler.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

# host_job NAME FIELD...: a Job without an image.
host_job() { printf '%s\n' 'kind: Job' "name: $1" "${@:2}" >"$1.yaml"; }

print_values='echo "lr=$1"; echo "score=$(($1 * 10))"; [ "$1" -ne 3 ]'

@test "each row of a sweep is a run with its values, and its failures run again alone" {
    host_job rows "command: [sh, -c, '$print_values', sh, '@{lr}']" 'sweep: {lr: 1-4}'
    run --separate-stderr "$CYBELECTL" submit rows.yaml --wait
    assert_equal "$status" 1
    run --separate-stderr "$CYBELECTL" job list --elements 1
    assert_equal "$(grep -c 'done' <<<"$output") $(grep -c failed <<<"$output")" '3 1'
    run --separate-stderr "$CYBELECTL" job results 1 --csv
    assert_success
    assert_line --index 0 job,row,lr,state,code,wall,nodes,tasks,cpus,score
    assert_line --regexp '^1,0,1,done,0,[0-9]+,1,1,1,10$'
    assert_line --regexp '^1,2,3,failed,1,[0-9]+,1,1,1,30$'
    run --separate-stderr "$CYBELECTL" job results 1_2 --csv
    assert_line --regexp '^1_2,2,3,failed,1,[0-9]+,1,1,1,30$'
    run --separate-stderr "$CYBELECTL" job resubmit 1 --failed --wait
    assert_equal "$status" 1
    run --separate-stderr "$CYBELECTL" job results 2 --csv
    assert_equal "${#lines[@]}" 2
    assert_line --regexp '^2,2,3,failed'
}

@test "rows of a table; a ragged line is named" {
    printf 'lr,name\n1,"a, b"\n2,c\n' >runs.csv
    host_job table "command: [printf, '%s|%s', '@{lr}', '@{name}']" 'sweep: {table: runs.csv}' \
        'output: {stdout: "%a.txt"}'
    "$CYBELECTL" submit table.yaml --wait
    assert_equal "$(cat 0.txt) $(cat 1.txt)" '1|a, b 2|c'
    echo 3 >>runs.csv
    run "$CYBELECTL" submit table.yaml
    assert_failure 3
    assert_output --partial 'runs.csv:4: the line has 1 value, and the table has 2 columns'
}

@test "job check says how many runs a sweep has, and of what" {
    host_job rows "command: [echo, '@{lr}', '@{seed}']" 'sweep: {lr: [a, b], seed: 1-5}'
    run "$CYBELECTL" job check rows.yaml --scheduler slurm
    assert_success
    assert_line 'runs:    10 (2 lr x 5 seed)'
    host_job rows "command: [echo, '@{lr}', '@{seed}']" 'sweep: {lr: [a, b], seed: 1-5, pack: 4, exclude: [{lr: a, seed: 2}]}'
    run "$CYBELECTL" job check rows.yaml --scheduler slurm
    assert_line 'runs:    9 in 3 elements'
    host_job rows "script: echo @{SEED}" 'sweep: {seed: 1..5}'
    run "$CYBELECTL" job check rows.yaml --scheduler slurm
    assert_failure 3
    assert_line 'help: write `1-5`, or `["1..5"]` for this text'
    host_job rows "script: echo @{SEED}" 'sweep: {seed: 1-5}'
    run "$CYBELECTL" job check rows.yaml --scheduler slurm
    assert_line 'warning: `@{SEED}` is not replaced in `script`'
}

@test "packed rows run side by side, pinned, each with its own record and outputs" {
    host_job packed "command: [sh, -c, '$print_values; taskset -pc \$\$ >&2; sleep 0.3', sh, '@{lr}']" \
        'sweep: {lr: [1, 2, 4, 5, 6], pack: 3, at-once: 2}'
    refuses 3 "$CYBELECTL" submit packed.yaml -a 0
    assert_line 'because: each of its elements runs several rows'
    "$CYBELECTL" submit packed.yaml --wait
    run --separate-stderr "$CYBELECTL" job results 1 --csv
    assert_equal "${#lines[@]}" 6
    assert_line --regexp '^1,4,6,done,0,.*,60$'
    record=(.cybelectl/*/script/1/4/exit.json)
    [ -s "${record[0]}" ]
    if [ "$(nproc)" -gt 1 ]; then
        assert_equal "$(cat packed-*-row*.err | sed -n 's/.*list: //p' | sort -u | wc -l)" 2
    fi
}

@test "a packed row that fails fails its element, and the others run" {
    host_job packed "command: [sh, -c, '$print_values', sh, '@{lr}']" 'sweep: {lr: 1-5, pack: all, at-once: 2}'
    run "$CYBELECTL" submit packed.yaml --wait
    assert_failure 1
    run --separate-stderr "$CYBELECTL" job results 1 --csv
    assert_equal "$(grep -c ',done,0,' <<<"$output") $(grep -c ',failed,1,' <<<"$output")" '4 1'
    assert_output --partial "$(printf '\n1,2,3,failed,1,')"
    # The row's own errors hold no fault of the script, and its files are found by its name.
    assert_equal "$(cat packed-1-row2.err)" 'cybelectl: job packed, 1 node, 2 rows at a time, 1 thread each, no image'
    grep -q 'help: read them: cybelectl job results 1$' packed-1.err
    run -0 --separate-stderr "$CYBELECTL" job logs 1-row2
    assert_output $'lr=3\nscore=30'
    run -0 --separate-stderr "$CYBELECTL" job logs 1-row2 --stderr
    assert_output --partial 'cybelectl: job packed'
    run -0 --separate-stderr "$CYBELECTL" job status 1-row2 1
    assert_equal "$(awk '{ print $1, $2 }' <<<"$output" | paste -sd,)" '1-row2 failed,1 failed'
    run -0 --separate-stderr "$CYBELECTL" job list --elements 1
    assert_equal "${stderr##*errors of }" "job 1-row2 (packed) in $PWD/packed-1-row2.err"
    refuses 3 "$CYBELECTL" job logs 1-row7
    assert_line 'error: job 1 has no row 7'
    refuses 3 "$CYBELECTL" job status 1-rowx
    # Its script has fewer rows, and nothing else in it changed.
    run -0 --separate-stderr "$CYBELECTL" job resubmit 1 --failed --dry-run
    [[ $stderr != *'batch script'* ]]
}

@test "a packed sweep whose job is suspended again and again hears of the end of each row" {
    # shellcheck disable=SC2016 # of the shell of a row, whose parent is the shell that starts rows, a child of the job's own
    stops='main=$(cut -d " " -f 4 "/proc/$PPID/stat"); if [ $(($1 % 2)) = 0 ]; then kill -STOP "$main"; sleep 0.5; kill -CONT "$main"; else sleep 0.1; fi'
    host_job held "command: [sh, -c, '$stops', sh, '@{n}']" 'sweep: {n: 1-8, pack: all, at-once: 2}'
    run -0 timeout 30 "$CYBELECTL" submit held.yaml --wait
    run --separate-stderr "$CYBELECTL" job results 1 --csv
    assert_equal "$(grep -c ',done,0,' <<<"$output")" 8
}

@test "rows of a packed sweep are listed one by one, and those that failed run again alone under their numbers" {
    host_job packed "command: [sh, -c, 'echo ran=@{index}; echo \"lr=\$1\"; [ -e go ] || [ \"\$1\" -lt 13 ] || [ \"\$1\" -eq 15 ]', sh, '@{lr}']" \
        'sweep: {lr: 11-17, pack: 3, at-once: 2}'
    run "$CYBELECTL" submit packed.yaml --wait
    assert_failure 1
    run --separate-stderr "$CYBELECTL" job list --elements 1
    assert_equal "$(awk 'NR > 1 { print $1, $3, $4 }' <<<"$output" | paste -sd,)" \
        '1-row0 done 0,1-row1 done 0,1-row2 failed 1,1-row3 failed 1,1-row4 done 0,1-row5 failed 1,1-row6 failed 1'
    run --separate-stderr "$CYBELECTL" job list --elements --state failed --format json 1
    assert_equal "$(jq -c '[.jobs[] | .index]' <<<"$output")" '[2,3,5,6]'
    run "$CYBELECTL" job resubmit 1-row2
    assert_failure 3
    assert_output --partial 'help: name its job: 1'
    touch go
    run "$CYBELECTL" job resubmit 1 --failed --wait
    assert_success
    run --separate-stderr "$CYBELECTL" job results 2 --csv
    assert_equal "$(cut -d, -f 1-5,10 <<<"$output" | paste -sd' ')" \
        'job,row,lr,state,code,ran 2,2,13,done,0,2 2,3,14,done,0,3 2,5,16,done,0,5 2,6,17,done,0,6'
    run "$CYBELECTL" job resubmit 2 --failed
    assert_failure 3
    assert_output --partial 'each of its rows ended well'
    run --separate-stderr "$CYBELECTL" job list --elements 2
    assert_equal "$(grep -c '^2-row[2356] .* done ' <<<"$output")" 4
    sed -i 's/lr: 11-17/lr: 11-14/' packed.yaml
    run "$CYBELECTL" job resubmit 2
    assert_failure 3
    assert_output --partial 'the sweep has no rows 2,3,5,6'
}

@test "a job that reaches its time limit is continued, as often as it says, and no other end is" {
    host_job long "script: 'echo again >>turns; [ \"\$(wc -l <turns)\" -ge 3 ] || exec sleep 60'" 'resources: {time: 1 s}' \
        'continue: {on: [timeout], most: 5}'
    run --separate-stderr "$CYBELECTL" submit long.yaml --wait
    assert_success
    assert_equal "$(wc -l <turns) $(paste -sd' ' <<<"$output")" '3 1 2 3'
    assert_regex "$stderr" 'job 1 is continued \(1 of 5\).*job 2 is continued \(2 of 5\)'
    rm turns
    sed -i 's/most: 5/most: 1/' long.yaml
    run "$CYBELECTL" submit long.yaml --wait
    assert_failure 124
    assert_equal "$(wc -l <turns)" 2
    host_job fails 'script: echo again >>turns; exit 3' 'continue: {most: 5}'
    rm turns
    run "$CYBELECTL" submit fails.yaml --wait
    assert_failure 3
    assert_equal "$(wc -l <turns)" 1
    run --separate-stderr "$CYBELECTL" submit fails.yaml
    assert_success
    assert_regex "$stderr" 'needs a command that waits'
}

@test "of an array only the elements that reached their time limit are continued" {
    host_job parts "script: 'echo \$CYBELE_ARRAY_INDEX >>turns; [ \$CYBELE_ARRAY_INDEX != 1 ] || [ \"\$(grep -c 1 turns)\" = 2 ] || exec sleep 60'" \
        'array: 0-2' 'resources: {time: 1 s}' 'continue: {on: [timeout], most: 3}'
    run --separate-stderr "$CYBELECTL" submit parts.yaml --wait
    assert_success
    assert_equal "$(sort turns | paste -sd' ')" '0 1 1 2'
}

@test "a script of Slurm's arrays reads its index on the local scheduler too" {
    printf '%s\n' '#!/bin/bash' '#SBATCH --array=4-5' '#SBATCH --output=o-%a' 'for word in a b; do :; done' \
        'echo "part $SLURM_ARRAY_TASK_ID"' >parts.sh
    "$CYBELECTL" job convert parts.sh -o parts.yaml
    "$CYBELECTL" submit parts.yaml --scheduler local --wait
    assert_equal "$(cat o-4 o-5 | paste -sd' ')" 'part 4 part 5'
}

@test "runs as a drawing" {
    host_job rows "command: [sh, -c, '$print_values', sh, '@{lr}']" 'sweep: {lr: [1, 2], pack: all, at-once: 1}'
    "$CYBELECTL" submit rows.yaml --wait
    "$CYBELECTL" job results 1 --plot x=lr,y=score -o runs.svg
    assert_equal "$(grep -c '<circle' runs.svg)" 2
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("runs.svg")'
    run "$CYBELECTL" job results 1 --plot x=lr,y=missing
    assert_failure 3
    assert_output --partial 'the columns are job, row, lr, state'
    run "$CYBELECTL" job results 1 --plot z=lr
    assert_failure 2
}

@test "a cancelled packed job ends its rows, and each has a record" {
    host_job long "command: [sleep, '100']" 'sweep: {n: 1-3, pack: all, at-once: 2}'
    id=$("$CYBELECTL" submit long.yaml)
    wait_for 10 bash -c 'ls .cybelectl/*/script/1/output'
    "$CYBELECTL" job cancel "$id"
    run "$CYBELECTL" job wait "$id"
    wait_for 10 bash -c 'ls .cybelectl/*/script/0/exit.json .cybelectl/*/script/1/exit.json'
    assert_equal "$(cat .cybelectl/*/script/[01]/exit.json | grep -c cancelled)" 2
    run --separate-stderr "$CYBELECTL" job list --elements "$id" # the third row never began
    assert_equal "$(grep -c '^1-row[012] .* cancelled ' <<<"$output")" 3
}

@test "texts are expanded on the node where that is asked for, and plain text is not" {
    mkdir big
    echo hello >big/in.txt
    host_job there "command: [sh, -c, 'cat; echo \"\$CACHE|\$PLAIN|\${PWD##*/}\"']" \
        'environment: {CACHE: {expand: "$SCRATCH/a ${UNSET_ONE:-b}"}, PLAIN: $SCRATCH}' \
        'workdir: {expand: $SCRATCH/run}' 'make: [{expand: $SCRATCH/run}]' 'input: {expand: $SCRATCH/in.txt}' \
        'output: {stdout: {expand: $SCRATCH/out.txt}}'
    SCRATCH=$PWD/big "$CYBELECTL" submit there.yaml --wait
    assert_equal "$(cat big/out.txt)" "hello
$PWD/big/a b|\$SCRATCH|run"
    run env -u SCRATCH "$CYBELECTL" submit there.yaml --wait
    assert_failure 1
    grep -q 'the variable SCRATCH is not set on' there-2.err
    assert_equal "$(grep -c . big/out.txt)" 2
}

@test "set-up gives values that are expanded, and a script of one process has arguments" {
    host_job computed 'script: echo "$1 $#"' 'shell: bash' 'arguments: [a, b]' \
        'setup: export WHERE=$(echo place)' 'make: [{expand: "made/$WHERE"}]'
    "$CYBELECTL" submit computed.yaml --wait
    assert_equal "$(cat computed-1.out)" 'a 2'
    [ -d made/place ]
    "$CYBELECTL" submit computed.yaml --wait -- 'x y'
    assert_equal "$(cat computed-2.out)" 'x y 1'
}

@test "a job that runs again says first what differs today" {
    host_job again 'command: [echo, one]'
    "$CYBELECTL" submit again.yaml --wait
    run "$CYBELECTL" job resubmit 1 --wait
    refute_output --partial 'since job'
    host_job fails 'command: ["false"]' 'array: 0-1'
    run --separate-stderr "$CYBELECTL" submit fails.yaml --wait
    run "$CYBELECTL" job resubmit "$output" --failed --wait # all of them, so it is the same range
    assert_failure 1
    refute_output --partial 'since job'
    sed -i s/one/two/ again.yaml
    run "$CYBELECTL" job resubmit 1 --wait
    assert_success
    assert_output --partial 'since job 1, the batch script is another one'
}

@test "a packed sweep for more cores than there are is refused at \`pack\`, with the number that runs here" {
    host_job wide 'command: [echo, "@{s}"]' "sweep: {s: 1-$(($(nproc) + 1)), pack: all}"
    run "$CYBELECTL" submit wide.yaml
    assert_failure 3
    assert_line --regexp '^ --> wide.yaml:4:[0-9]+$'
    assert_line "help: run fewer rows side by side: \`at-once: $(nproc)\` under \`sweep\`"
    sed -i "s/pack: all/pack: all, at-once: $(nproc)/" wide.yaml # as the help says
    "$CYBELECTL" submit wide.yaml --wait
}

@test "the log of a job that writes to /dev/null is empty, and the reason is said" {
    host_job quiet 'command: [echo, a]' 'output: {stdout: /dev/null}'
    "$CYBELECTL" submit quiet.yaml --wait
    run --separate-stderr "$CYBELECTL" job logs 1
    assert_success
    assert_output ''
    assert_equal "$stderr" 'cybelectl: job 1 writes to /dev/null, which keeps nothing'
}
