# SPDX-License-Identifier: Apache-2.0
# A job's whole life by one command, on a real Slurm: never twice, never lost. About six minutes.
load ../parts/suite.bash
load nodes.bash
load jobs.bash
load ../parts/own_scripts.bash

setup_file() {
    start_nodes
    mkdir fake
    # The time limit of Slurm is a minute: this job runs while the other tests do.
    enter_nodes
    host_job limit 'command: [sleep, "300"]' 'resources: {time: 1 min}'
    slurm cybelectl submit limit.yaml --scheduler slurm >limit.id
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

@test "submit prints the native id alone; job wait gives the program's code" {
    host_job zero 'command: ["true"]'
    host_job three 'script: exit 3'
    run --separate-stderr submit zero
    assert_success
    assert_output --regexp '^[0-9]+$'
    assert_equal "$stderr" ''
    zero=$output
    run --separate-stderr submit three
    three=$output
    run slurm cybelectl job wait "$zero"
    assert_success
    run slurm cybelectl job wait "$three"
    assert_equal "$status" 3
    run slurm cybelectl job wait "$zero" "$three" --format json
    assert_equal "$status" 3
    run slurm cybelectl job status "$zero" "$three"
    assert_line "$zero done 0"
    assert_line --regexp "^$three failed 3"
}

@test "submit --wait gives the program's code, and the id first" {
    host_job four 'script: exit 4'
    run --separate-stderr submit four --wait
    assert_equal "$status" 4
    assert_output --regexp '^[0-9]+$'
    assert_regex "$stderr" 'failed.*: exit code 4; output in .*/four-[0-9]+\.out'
}

@test "submit --follow shows what the job writes, and the id on standard error" {
    host_job talk 'script: |' '  echo first' '  sleep 2' '  printf second' '  echo problem >&2'
    run --separate-stderr submit talk --follow
    assert_success
    assert_output $'first\nsecond'
    assert_regex "$stderr" '^[0-9]+'
    assert_regex "$stderr" 'problem'
}

@test "a log that another job left under the name is not shown" {
    echo 'of another job' | tee said.out >said.err
    host_job late 'script: sleep 1; echo mine; echo wrong >&2' 'output: {stdout: said.out, stderr: said.err}'
    run --separate-stderr submit late --follow
    assert_success
    assert_output mine
    refute_regex "$stderr" 'of another job|was cut'
    assert_regex "$stderr" wrong
}

@test "a job is held and released, by Slurm's commands and by its qhold and qrls" {
    host_job keeps 'command: ["true"]'
    for scheduler in slurm slurm-torque; do
        host_job full 'command: [sleep, "100"]' 'resources: {exclusive: true}'
        full=("$(slurm cybelectl submit full.yaml --scheduler slurm)" "$(slurm cybelectl submit full.yaml --scheduler slurm)")
        id=$(slurm cybelectl submit keeps.yaml --scheduler "$scheduler")
        run slurm cybelectl job hold "$id"
        assert_success
        assert_regex "$(slurm squeue -h -j "${id%%.*}" -o %r)" '^JobHeld'
        run slurm cybelectl job status "$id"
        [ "$scheduler" = slurm-torque ] || assert_output --partial held # that qstat has no letter for it
        slurm cybelectl job cancel -q "${full[@]}"
        run slurm cybelectl job release "$id"
        assert_success
        run slurm cybelectl job wait "$id"
        assert_success
    done
}

@test "settings of squeue that change its columns do not reach the query" {
    host_job columns 'command: ["true"]'
    run slurm env SBATCH_PARTITION=nowhere SBATCH_OUTPUT=nowhere.out \
        SQUEUE_FORMAT=%j SQUEUE_STATES=RUNNING cybelectl submit columns.yaml --scheduler slurm --wait -p batch
    assert_success
}

@test "a refusal of Slurm is passed on whole, and nothing was submitted" {
    host_job nowhere 'command: ["true"]' 'queue: nowhere'
    refuses 6 submit nowhere
    assert_output --partial 'Invalid partition name specified'
    assert_output --partial 'invalid partition specified: nowhere'
    refuses 255 submit nowhere --wait
    assert_equal "$(jobs_named nowhere)" 0
    run slurm cybelectl job list
    refute_output --partial nowhere
}

@test "job cancel waits for Slurm's word, of a job that runs and of one that waits" {
    host_job long 'command: [sleep, "300"]'
    long=$(submit long)
    host_job later 'command: ["true"]' "after: [{job: '$long', when: ok}]"
    wait_for 20 sh -c "'$parts_dir/slurm' exec '$place' cybelectl job status $long | grep -q running"
    later=$(submit later)
    run slurm cybelectl job list
    assert_line --regexp "^$later +later +slurm +pending .*Dependency"
    run slurm cybelectl job cancel "$long" "$later"
    assert_success
    assert_equal "$(slurm squeue -h -t all -j "$long,$later" -o %T | sort -u)" CANCELLED
    run slurm cybelectl job status "$long" "$later"
    assert_line --regexp "^$long cancelled 143"
    assert_line --regexp "^$later cancelled 143"
    run slurm cybelectl job wait "$later"
    assert_equal "$status" 143
    run slurm cybelectl job cancel "$later"
    assert_success
    assert_output --partial 'has ended'
}

@test "a job comes after another by its name; a condition that can never be met is refused" {
    local first later
    host_job prepare 'command: [sleep, "300"]'
    first=$(submit prepare)
    host_job train 'command: ["true"]' 'after: [{job: prepare}]'
    later=$(submit train)
    run slurm scontrol show job "$later"
    assert_output --regexp "Dependency=afterok:$first"
    run slurm cybelectl submit train.yaml --scheduler slurm -d "afterany:prepare" --dry-run
    assert_line "#SBATCH --dependency=afterany:$first"
    slurm cybelectl job cancel "$first" "$later"
    refuses 3 submit train
    assert_output --partial "job $first ended as cancelled, so this job would wait for ever"
    assert_output --partial 'train.yaml:4:15'
    refuses 3 submit train -d afterok:nobody
    assert_output --partial 'no job of this name was submitted'
    refuses 2 submit train -d sometime:prepare
    assert_output --partial "-d does not read 'sometime:prepare'"
}

# waiting NAME SIGNAL: starts submit --wait, sends it the signal when the job runs, gives its code.
waiting() {
    local pid
    host_job "$1" 'command: [sleep, "300"]'
    "$parts_dir/slurm" exec "$place" sh -c "echo \$\$ >'$place/$1.pid'
        exec cybelectl submit '$1.yaml' --scheduler slurm --wait" >"$1.id" 2>"$1.said" &
    pid=$!
    wait_for 30 sh -c "'$parts_dir/slurm' exec '$place' squeue -h --name=$1 -o %T | grep -q RUNNING"
    slurm kill -s "$2" "$(cat "$1.pid")"
    wait "$pid"
}

@test "INT and TERM cancel and wait for Slurm's word; HUP leaves the job" {
    code=0
    waiting by-int INT || code=$?
    assert_equal "$code" 130
    assert_equal "$(slurm squeue -h -t all --name=by-int -o %T)" CANCELLED
    code=0
    waiting by-term TERM || code=$?
    assert_equal "$code" 143
    code=0
    waiting by-hup HUP || code=$?
    assert_equal "$code" 129
    assert_equal "$(slurm squeue -h --name=by-hup -o %T)" RUNNING
    run slurm cybelectl job cancel "$(cat by-hup.id)"
    assert_success
}

# fake_sbatch LINE…: an sbatch in front of the real one.
fake_sbatch() {
    printf '%s\n' '#!/bin/bash' "real=$(command -v sbatch)" "$@" >fake/sbatch
    chmod +x fake/sbatch
}

@test "a client killed between Slurm's word and its note of it: one job, found again" {
    host_job killed 'script: sleep 2; exit 5'
    fake_sbatch '"$real" "$@" >/dev/null' 'kill -KILL $PPID'
    run slurm env PATH="$place/fake:$PATH" cybelectl submit killed.yaml --scheduler slurm
    assert_equal "$status" 137
    run slurm cybelectl job list
    assert_line --regexp '^[0-9]+ +killed +slurm +(pending|running)'
    run slurm cybelectl job wait "$(slurm squeue -h -t all --name=killed -o %A)"
    assert_equal "$status" 5
    assert_equal "$(jobs_named killed)" 1
}

@test "submitted again after a kill, the job that is there is taken up" {
    host_job again 'script: sleep 2; exit 5'
    fake_sbatch '"$real" "$@" >/dev/null' 'kill -KILL $PPID'
    run slurm env PATH="$place/fake:$PATH" cybelectl submit again.yaml --scheduler slurm
    assert_equal "$status" 137
    run --separate-stderr submit again --wait
    assert_equal "$status" 5
    assert_regex "$stderr" 'the earlier submission had arrived'
    assert_equal "$(jobs_named again)" 1
}

@test "an sbatch that submits and then reports a time-out: one job" {
    host_job timeout 'script: exit 6'
    fake_sbatch '"$real" "$@" >/dev/null' \
        'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2' 'exit 1'
    run --separate-stderr slurm env PATH="$place/fake:$PATH" cybelectl submit timeout.yaml --scheduler slurm --wait
    assert_equal "$status" 6
    assert_regex "$stderr" 'is unclear .*Socket timed out'
    assert_equal "$(jobs_named timeout)" 1
}

@test "job attach takes a job up from its record alone, with its true end" {
    host_job recorded 'script: exit 7'
    run submit recorded
    id=$output
    run slurm cybelectl job wait "$id"
    record=$(slurm cybelectl job status --details "$id" --format json | jq -r '.jobs[0].record')
    run --separate-stderr slurm env CYBELE_STATE_DIR="$place/other" cybelectl job attach "$record" --wait
    assert_equal "$status" 7
    assert_line "$id"
}

@test "slurmctld hangs while a job is submitted: the job is found when it goes on, once" {
    host_job hung 'script: exit 8'
    "$parts_dir/slurm" signal "$place" STOP
    behind_impatient hung cybelectl submit hung.yaml --scheduler slurm --wait
    pid=$!
    wait_for 30 grep -q 'is unclear' hung.said
    "$parts_dir/slurm" signal "$place" CONT
    ends_with 8 "$pid"
    assert_equal "$(jobs_named hung)" 1
}

@test "slurmctld hangs while a job is followed: the query fails, the job does not" {
    host_job followed 'script: |' '  while [ ! -e followed.go ]; do sleep 0.1; done' '  exit 9'
    behind_impatient followed cybelectl submit followed.yaml --scheduler slurm --wait --monitoring-period 1
    pid=$!
    wait_for 20 is_in_state followed RUNNING
    "$parts_dir/slurm" signal "$place" STOP
    wait_for 30 grep -q 'does not answer: .*; asking again' followed.said
    touch followed.go
    ends_with 9 "$pid"
    "$parts_dir/slurm" signal "$place" CONT
}

@test "the local scheduler beside it, and both in one list" {
    host_job here 'command: [sleep, "200"]'
    run slurm cybelectl submit here.yaml --scheduler local
    assert_output --regexp '^[0-9]+$'
    here=local:$output # Slurm may have a job of that number, too
    run slurm cybelectl job list --format json
    assert_equal "$(jq -r '[.jobs[].scheduler] | unique | join(" ")' <<<"$output")" 'local slurm'
    run slurm cybelectl job cancel "$here"
    assert_success
    run slurm cybelectl job wait "$here"
    assert_equal "$status" 143
}

@test "Slurm's qsub and qstat: submitted, followed, cancelled" {
    host_job by-qsub 'script: exit 11' 'queue: batch' 'resources: {time: 5 min}'
    run --separate-stderr slurm cybelectl submit by-qsub.yaml --scheduler slurm-torque --wait
    assert_equal "$status" 11
    assert_output --regexp '^[0-9]+$'
    host_job by-qdel 'script: touch by-qdel.began; exec sleep 200' 'queue: batch' 'resources: {time: 5 min}'
    run --separate-stderr slurm cybelectl submit by-qdel.yaml --scheduler slurm-torque
    id=$output
    wait_for 20 test -e by-qdel.began
    run slurm cybelectl job status "$id"
    assert_output --partial running
    run slurm cybelectl job cancel "$id"
    assert_success
    wait_for 20 is_in_state by-qdel CANCELLED # the flag COMPLETING, which its qstat does not show, may still be set
}

@test "a client killed before sbatch: nothing was submitted, and the next submission is the first" {
    host_job early 'script: exit 0'
    fake_sbatch 'kill -KILL $PPID' 'sleep 60'
    run slurm env PATH="$place/fake:$PATH" cybelectl submit early.yaml --scheduler slurm
    assert_equal "$status" 137
    assert_equal "$(jobs_named early)" 0
    run slurm cybelectl job list --format json
    assert_equal "$(jq -r '.jobs[] | select(.name == "early") | .state' <<<"$output")" submitting
    # It searches for a minute before it submits; a minute of the client's is a second here.
    run --separate-stderr slurm env FAKETIME_ONLY_CMDS=cybelectl faketime -f '+0 x60' \
        cybelectl submit early.yaml --scheduler slurm --wait
    assert_success
    assert_equal "$(jobs_named early)" 1
}

@test "a log that is cut while it is followed is shown from its start" {
    host_job cut 'script: |' '  echo before; sleep 3; : >cut.out; echo after' 'output: {stdout: cut.out, stderr: cut.err}'
    run --separate-stderr submit cut --follow
    assert_success
    assert_output $'before\nafter'
}

@test "one client follows twenty jobs with one query a poll" {
    host_job twenty 'command: [sleep, "4"]'
    printf '%s\n' '#!/bin/sh' "echo x >>'$place/queries'" "exec $(command -v squeue) \"\$@\"" >fake/squeue
    chmod +x fake/squeue
    rm -f fake/sbatch
    ids=()
    for _ in $(seq 20); do ids+=("$(submit twenty)"); done
    rm -f queries
    run slurm env PATH="$place/fake:$PATH" cybelectl job wait "${ids[@]}" --quiet
    rm fake/squeue
    assert_success
    assert [ "$(wc -l <queries)" -le 20 ]
}

@test "an array: one job, each element its own record, the code of the first that failed" {
    host_job many 'script: exit $((CYBELE_ARRAY_INDEX % 2 * 7))' 'array: 0-3' 'output: {stdout: many-%j-%a.out}'
    run --separate-stderr submit many --wait
    assert_equal "$status" 7
    assert_output --regexp '^[0-9]+$'
    record=$(slurm cybelectl job status --details "$output" --format json | jq -r '.jobs[0].record')
    assert_equal "$(jq -r .code "$record"/[0-3]/exit.json | tr '\n' ' ')" '0 7 0 7 '
    for pattern in 'many-%j-%a.out' 'many-%j.out'; do # to Slurm %j of an element is another number
        host_job many 'command: [sh, -c, "echo of $1; exit $(($1 % 2 * 7))", run, "@{index}"]' 'array: 0-3' "output: {stdout: $pattern}"
        run --separate-stderr submit many --wait
        assert_equal "$status" 7
        assert_regex "$stderr" '2 of 4 elements failed, index 1,3'
        id=$output
        elements=$(slurm cybelectl job list --elements --format json "$id")
        assert_equal "$(jq -r '.jobs[] | "\(.id) \(.state) \(.code)"' <<<"$elements")" \
            "$(printf '%s\n' "${id}_0 done 0" "${id}_1 failed 7" "${id}_2 done 0" "${id}_3 failed 7")"
        assert_equal "$(jq '.jobs | all(.node | test("^n[12]$"))' <<<"$elements")" true
        for index in 0 1 2 3; do
            assert_equal "$(cat "$(jq -r ".jobs[$index].stdout" <<<"$elements")")" "of $index"
            assert_equal "$(slurm cybelectl job logs "${id}_$index")" "of $index"
        done
    done
    run --separate-stderr slurm cybelectl job resubmit "$id" --failed --wait
    assert_equal "$status" 7
    assert_equal "$(slurm cybelectl job list --elements --format json "$output" | jq -c '[.jobs[].index]')" '[1,3]'
    host_job sweep 'command: [sleep, "200"]' 'array: 0-5%2'
    id=$(submit sweep)
    run slurm cybelectl job cancel "$id"
    assert_success
    assert_equal "$(slurm squeue -h -t all -r -j "$id" -o %T | sort -u)" CANCELLED
}

@test "the rows of a packed sweep are listed one by one from their records, and those that failed run again" {
    # shellcheck disable=SC2016
    host_job packed 'command: [sh, -c, "echo ran=$1; [ -e go ] || [ $1 -lt 3 ] || [ $1 = 4 ]", sh, "@{n}"]' \
        'sweep: {n: 1-5, pack: 2, at-once: 2}' 'resources: {time: 1 min}'
    run --separate-stderr submit packed --wait
    assert_equal "$status" 1
    id=$output
    run --separate-stderr slurm cybelectl job list --elements "$id"
    assert_equal "$(awk 'NR > 1 { print $1, $3, $4 }' <<<"$output" | paste -sd,)" \
        "$id-row0 done 0,$id-row1 done 0,$id-row2 failed 1,$id-row3 done 0,$id-row4 failed 1"
    run --separate-stderr slurm cybelectl job list --elements --format json "$id"
    jq -e 'all(.jobs[]; (.node | startswith("n")) and (.started > 0) and (.stdout | endswith(".out")))' <<<"$output"
    touch go
    run --separate-stderr slurm cybelectl job resubmit "$id" --failed --wait
    assert_success
    run --separate-stderr slurm cybelectl job results "$output" --csv
    assert_equal "$(cut -d, -f 2-5,10 <<<"$output" | paste -sd' ')" 'row,n,state,code,ran 2,3,done,0,3 4,5,done,0,5'
}

@test "a script submitted twice does its work once" {
    host_job twice 'script: echo worked >>twice.txt; sleep 1'
    fake_sbatch '"$real" "$@" >/dev/null' '"$real" "$@"'
    run slurm env PATH="$place/fake:$PATH" cybelectl submit twice.yaml --scheduler slurm --wait
    wait_for 20 sh -c "[ \$('$parts_dir/slurm' exec '$place' squeue -h -t CD --name=twice -o %A | wc -l) = 2 ]"
    assert_equal "$(cat twice.txt)" worked
}

@test "a job that its program submits is another job" {
    host_job inner 'script: echo worked >>inner.txt'
    "$CYBELECTL" job render inner.yaml --scheduler slurm -o inner.sh
    host_job outer 'script: sbatch --wait inner.sh'
    run slurm cybelectl submit outer.yaml --scheduler slurm --wait
    assert_success
    assert_equal "$(cat inner.txt)" worked
}

@test "through ssh: submitted, followed with its output, cancelled, although the shell greets" {
    mkdir -p there
    echo 'of another job' >there/far.out
    host_job far "workdir: $place/there" 'output: {stdout: far.out}' 'script: |' '  echo from-there; sleep 2; echo last; exit 13'
    run --separate-stderr slurm cybelectl submit far.yaml --scheduler slurm --host n1 --follow
    assert_equal "$status" 13
    assert_output $'from-there\nlast'
    run slurm cybelectl job list --all --format json
    assert_equal "$(jq -r '.jobs[] | select(.name == "far") | .login + " " + .state' <<<"$output")" 'n1 failed'
    host_job far-long "workdir: $place/there" 'command: [sleep, "200"]'
    id=$(slurm cybelectl submit far-long.yaml --scheduler slurm --host n1)
    run slurm cybelectl job status "$id"
    assert_output --regexp "^$id (pending|running)"
    run slurm cybelectl job cancel "$id"
    assert_success
    assert_equal "$(slurm squeue -h -t all --name=far-long -o %T)" CANCELLED
    slurm cybelectl job list --all --cached
    run slurm cybelectl job logs "$(slurm cybelectl job list --all --name far --format json | jq -r '.jobs[0].id')"
    assert_output $'from-there\nlast'
}

@test "a login that cannot be reached: nothing is said to be submitted" {
    host_job nobody "workdir: $place/there" 'command: ["true"]'
    host_job nowhere-named 'command: ["true"]'
    refuses 3 slurm cybelectl submit nowhere-named.yaml --scheduler slurm --host n1
    assert_output --partial 'names no folder'
    refuses 2 slurm cybelectl submit nobody.yaml --scheduler slurm --host=-oProxyCommand=x
}

@test "the time limit of Slurm gives 124" {
    run slurm cybelectl job wait "slurm:$(cat limit.id)"
    assert_equal "$status" 124
    run slurm cybelectl job status --details "slurm:$(cat limit.id)"
    assert_line --regexp '^state +timeout'
    wait_for 30 sh -c "'$parts_dir/slurm' exec '$place' squeue -h -t all -j $(cat limit.id) -o %T | grep -q TIMEOUT"
}

own_client() { slurm "$@"; }
@test "ten kinds of scripts of other people run unchanged" {
    own_submitted slurm slurm
    own_ended slurm
}

# The last one: once it has read its settings again, Slurm may give the numbers of forgotten jobs to new ones.
@test "a job that Slurm has forgotten keeps its end" {
    host_job forgotten 'script: exit 12'
    id=$(submit forgotten)
    wait_for 20 sh -c "'$parts_dir/slurm' exec '$place' squeue -h -t F --name=forgotten -o %A | grep -q ."
    sed -i 's/^ClusterName/MinJobAge=2\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
    wait_for 90 sh -c "! '$parts_dir/slurm' exec '$place' scontrol show job $id"
    run slurm cybelectl job wait "$id"
    assert_equal "$status" 12
}
