# SPDX-License-Identifier: Apache-2.0
# Elements of arrays on the local scheduler: listed, followed, cancelled, collected and run again one by one.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

# sweep FIELD…: elements 2 and 3 of 0 to 3 fail with 7; each writes its index to part-INDEX.
sweep() {
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: sweep' 'array: 0-3' \
        "command: [sh, -c, 'echo \"\$1\" >part-\$1; echo of \$1 in \$PLACE; test \$1 -lt 2 || exit 7', run, '@{index}']" \
        'environment: {PLACE: "room @{index}, left"}' 'output: {results: ["part-@{index}"]}' "$@" >sweep.yaml
}
submit() { "$CYBELECTL" submit "$@" --scheduler local; }
rows() { "$CYBELECTL" job list --elements --format json "$@" | jq -c '.jobs[] | [.id, .index, .state, .code, .stdout]'; }

@test "each element is listed with its state, exit code, node and output, while it runs and after" {
    sweep
    run --separate-stderr submit sweep.yaml --wait
    assert_equal "$status" 7
    id=$output
    assert_regex "$stderr" '2 of 4 elements failed, index 2-3'
    run --separate-stderr rows "$id"
    assert_output "$(for row in '0,"done",0' '1,"done",0' '2,"failed",7' '3,"failed",7'; do
        echo "[\"${id}_${row%%,*}\",$row,\"$place/sweep-${id}_${row%%,*}.out\"]"
    done)"
    for index in 0 1 2 3; do
        assert_equal "$(cat "sweep-${id}_$index.out")" "of $index in room $index, left"
    done
    run --separate-stderr "$CYBELECTL" job list --elements "$id"
    assert_line --regexp "^${id}_3 +sweep +failed +7 .* $(uname -n) +$place/sweep-${id}_3.out$"
    assert_equal "$(rows --state failed | wc -l)" 2
    run --separate-stderr "$CYBELECTL" job list --elements --format json "$id"
    jq -e --arg node "$(uname -n)" 'all(.jobs[]; .node == $node and .array == "0-3")' <<<"$output"
}

@test "the end of the last element is heard of when it comes, however long the pause between two queries may be" {
    local ended
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: late' 'array: 0-1%1' \
        "command: [sh, -c, 'test \"\$1\" = 0 || sleep 6.5', sh, '@{index}']" >late.yaml
    run -0 submit late.yaml --wait --monitoring-period 600
    ended=$(date +%s%3N -r "$(echo .cybelectl/*/1/exit.json)")
    assert [ $(($(date +%s%3N) - ended)) -lt 1000 ]
}

@test "what the journal keeps of elements outlives their records" {
    sweep
    run submit sweep.yaml --wait --quiet
    id=${lines[0]}
    before=$(rows "$id")
    rm -rf .cybelectl
    assert_equal "$(rows "$id")" "$before"
    for name in "${id}_3" "${id}[3]"; do # TORQUE's form, too
        run "$CYBELECTL" job status "$name"
        assert_output "${id}_3 failed 7"
    done
    run "$CYBELECTL" job logs "${id}[9]"
    assert_failure 3
    assert_line "error: job $id has no element 9"
}

@test "JSON of a job that was waited for has its elements" {
    sweep
    run --separate-stderr submit sweep.yaml --wait --format json
    assert_equal "$status" 7
    id=$(jq -r '.jobs[0].id' <<<"$output")
    elements=$(jq -c '.jobs[0].elements[] | [.id, .index, .state, .code, .stdout]' <<<"$output")
    assert_equal "$elements" "$(rows "$id")"
    run --separate-stderr "$CYBELECTL" job wait "$id" --format json
    assert_equal "$(jq -c '.jobs[0].elements[] | [.id, .index, .state, .code, .stdout]' <<<"$output")" "$elements"
    run --separate-stderr "$CYBELECTL" job list --all --format json
    assert_equal "$(jq '.jobs[0] | has("elements")' <<<"$output")" false
}

@test "an element is shown, waited for, read and cancelled by its name, and the others go on" {
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: long' 'array: 1-3' 'script: |' '  echo I am $CYBELE_ARRAY_INDEX' \
        '  [ $CYBELE_ARRAY_INDEX != 2 ] || exec sleep 300' '  until [ -e go ]; do sleep 0.1; done' '  echo and leave' >long.yaml
    id=$(submit long.yaml)
    wait_for 20 grep -q 'I am 2' "long-${id}_2.out"
    run "$CYBELECTL" job logs "${id}_2"
    assert_output 'I am 2'
    run "$CYBELECTL" job cancel "${id}_2"
    assert_success
    run "$CYBELECTL" job status "${id}_2"
    assert_output "${id}_2 cancelled 143"
    run "$CYBELECTL" job status "$id"
    assert_output "$id running"
    "$CYBELECTL" job logs "${id}_3" --follow >followed &
    follower=$!
    wait_for 20 grep -q 'I am 3' followed
    touch go
    wait "$follower" # which ends with the element
    assert_equal "$(cat followed)" $'I am 3\nand leave'
    run "$CYBELECTL" job wait "${id}_3"
    assert_success
    run "$CYBELECTL" job logs "${id}_3" --follow
    assert_output $'I am 3\nand leave'
    run "$CYBELECTL" job wait "$id" --quiet
    assert_equal "$status" 143
    run --separate-stderr "$CYBELECTL" job status --details "${id}_2"
    assert_line --regexp '^state +cancelled$'
    assert_line --regexp "^stdout +$place/long-${id}_2.out$"
    assert_equal "$(rows "$id" | jq -r '.[2]' | tr '\n' ' ')" 'done cancelled done '
}

@test "results of all elements or of one are collected, with how many failed" {
    sweep
    run submit sweep.yaml --wait --quiet
    id=${lines[0]}
    rm part-3 # of one that failed: not missed
    run --separate-stderr "$CYBELECTL" job collect "$id"
    assert_success
    assert_output "$(printf 'part-%s\n' 0 1 2)"
    assert_equal "$stderr" "job $id (sweep) failed: exit code 7; 2 of 4 elements failed, index 2-3; 3 files (6 B) and a record in $PWD/results"
    run jq -c '.elements | [.count, .failed, (.list[] | [.index, .state, .code])]' "results/sweep-$id.job.json"
    assert_output '[4,2,[0,"done",0],[1,"done",0],[2,"failed",7],[3,"failed",7]]'
    run --separate-stderr "$CYBELECTL" job collect "$id" --format json
    assert_equal "$(jq .elements.failed <<<"$output")" 2
    run --separate-stderr "$CYBELECTL" job collect "${id}_1" --to one
    assert_output part-1
    assert_equal "$(find one -type f -printf '%f\n' | sort | tr '\n' ' ')" "part-1 sweep-${id}_1.job.json sweep-${id}_1.job.sh "
    rm part-0 # of one that ended well
    run "$CYBELECTL" job collect "$id" --to other
    assert_failure 3
    assert_line "error: no result matches 'part-0'"
}

@test "an element that does not exist, and one of another scheduler's job: each is an error, and nothing is cancelled" {
    printf '%s\n' 'kind: Job' 'name: long' 'array: 1-2' 'command: [sleep, "300"]' >long.yaml
    printf '%s\n' 'kind: Job' 'name: one' 'command: [sleep, "300"]' >one.yaml
    id=$(submit long.yaml)
    other=$(submit one.yaml)
    for verb in status 'status --details' wait cancel logs collect hold; do
        read -ra words <<<"$verb"
        run "$CYBELECTL" job "${words[@]}" "${id}_99"
        assert_line "error: job $id has no element 99"
        assert_line "because: its array is 1-2"
        assert_line "help: name one of its indices: ${id}_1"
        run "$CYBELECTL" job "${words[@]}" "${other}_2"
        assert_line "because: it is not an array"
        run "$CYBELECTL" job "${words[@]}" "slurm:${id}_1"
        assert_line "error: there is no job 'slurm:${id}_1'"
        run "$CYBELECTL" job "${words[@]}" "${id}_x"
        assert_line "error: there is no job '${id}_x'"
    done
    assert_equal "$("$CYBELECTL" job status "$id" "$other" | awk '{print $2}' | sort -u | tr '\n' ' ' | sed s/pending.//)" 'running '
    run "$CYBELECTL" job cancel "$id" "$other"
    assert_success
}

@test "--array replaces the Job's array, and a wrong one submits nothing" {
    sweep
    run --separate-stderr submit sweep.yaml --array 1-2 --wait
    assert_equal "$status" 7
    assert_equal "$(rows "$output" | jq -r '.[1]' | tr '\n' ' ')" '1 2 '
    assert_equal "$(jq -r .array .cybelectl/*/job.json)" 1-2
    rm -rf .cybelectl
    for wrong in '' 9-6 a 0-3%0 0-9:0; do
        run submit sweep.yaml --array "$wrong"
        assert_failure 2
        assert_line "error: --array does not read '$wrong'"
        assert_line --regexp '^help: '
    done
    sweep 'workdir: "w-@{index}"'
    run submit sweep.yaml
    assert_failure 3
    assert_line --partial 'sweep.yaml:7:10'
    sweep
    sed -i 's/^output: .*/output: {stdout: "%q-%a"}/' sweep.yaml
    run submit sweep.yaml
    assert_failure 3
    assert_line "error: '%q-%a' has the unknown pattern \`%q\`"
    assert_not_exist .cybelectl
    assert_equal "$("$CYBELECTL" job list --all --format json | jq '.jobs | length')" 1
}

@test "a variable of the index that no shell would read is refused with its place and the remedy" {
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: a' 'command: [prog, "$CYBELE_ARRAY_INDEX"]' 'array: 0-9' >a.yaml
    run "$CYBELECTL" job check a.yaml
    assert_failure 3
    # shellcheck disable=SC2016
    assert_line 'error: `$CYBELE_ARRAY_INDEX` is not replaced here'
    assert_line ' --> a.yaml:3:17'
    # shellcheck disable=SC2016
    assert_line "help: write \`'@{index}'\`"
    # shellcheck disable=SC2016
    sed -i 's/\$CYBELE_ARRAY_INDEX/@{index}/' a.yaml # as the help says
    run "$CYBELECTL" job check a.yaml
    assert_success
    sed -i /array/d a.yaml
    run "$CYBELECTL" job check a.yaml
    assert_failure 3
    assert_line ' --> a.yaml:3:17'
    run "$CYBELECTL" job check a.yaml --array 0-9
    assert_success
}

@test "resubmit runs again what failed, chosen elements, or the job, with what the first submission was asked for" {
    sweep
    run submit sweep.yaml --job-name other --time 9 --wait --quiet
    id=${lines[0]}
    sed -i 's/|| exit 7/|| exit 5/' sweep.yaml # the Job as it is now
    run --separate-stderr "$CYBELECTL" job resubmit "$id" --failed --wait
    assert_equal "$status" 5
    assert_regex "$stderr" "sweep.yaml has changed since job $id was submitted: it is submitted as it is now"
    again=$output
    assert_equal "$(rows "$again" | jq -c '.[1:4]' | tr '\n' ' ')" '[2,"failed",5] [3,"failed",5] '
    run jq -r '.jobs[0] | "\(.name) \(."time-limit") \(.array)"' <<<"$("$CYBELECTL" job status --details "$again" --format json)"
    assert_output 'other 540 2-3'
    run --separate-stderr "$CYBELECTL" job resubmit "$again" --array 3 --wait
    assert_equal "$status" 5
    refute_regex "$stderr" 'has changed since'
    assert_equal "$(rows "$output" | jq -r '.[1]')" 3
    run --separate-stderr "$CYBELECTL" job resubmit "${id}_1" --wait
    assert_success
    assert_equal "$(rows "$output" | jq -r '.[1]')" 1
    run --separate-stderr "$CYBELECTL" job resubmit "$id" --wait
    assert_equal "$(rows "$output" | wc -l)" 4
    printf '%s\n' 'kind: Job' 'name: one' 'command: [sh, -c, "exit 3"]' >one.yaml
    run submit one.yaml --wait --quiet
    run --separate-stderr "$CYBELECTL" job resubmit "${lines[0]}" --failed --wait
    assert_equal "$status" 3
}

# differing ID: what `job resubmit` says first, and what its JSON has.
differing() {
    run --separate-stderr "$CYBELECTL" job resubmit "$1" --wait --format json
    assert_success
    head -n 1 <<<"$stderr"
    jq -c '[.differences[] | [.what, .name, .was != null, .is != null]]' <<<"$output"
}

@test "resubmit says first what is another than before: document, image, script, each input; in JSON, too" {
    mkdir data
    echo one >data/a
    echo two >data/b
    echo in >in.txt
    printf '%s\n' 'kind: Job' 'name: one' 'command: [sh, -c, "cat data/a"]' 'input: in.txt' 'workdir: work' \
        'stage-in: [{from: data, to: data}]' >one.yaml
    mkdir work
    cp in.txt work/in.txt
    run submit one.yaml --wait --quiet
    id=${lines[0]}
    assert_equal "$(differing "$id" | tail -n 1)" '[]'
    echo other >data/a
    mv data/b data/c
    echo other >work/in.txt
    assert_equal "$(differing "$id" | tail -n 1)" \
        '[["input","data/a",true,true],["input","data/b",true,false],["input","in.txt",true,true],["input","data/c",false,true]]'
    assert_regex "$(differing "$id" | head -n 1)" "^cybelectl: since job $id, the input data/a is another one: it was sha256:[0-9a-f]{64}, and is sha256:"
    sed -i 's/cat data/ls data/' one.yaml
    assert_equal "$(differing "$id" | tail -n 1 | jq -c '[.[] | .[0]]')" '["document","script","input","input","input","input"]'
    assert_regex "$(differing "$id" | head -n 1)" 'one.yaml has changed since job .* was submitted: it is submitted as it is now'
    # With --dry-run, too, and nothing is submitted.
    run --separate-stderr "$CYBELECTL" job resubmit "$id" --dry-run
    assert_regex "$stderr" 'the batch script is another one: it was sha256:[0-9a-f]{64}, and is sha256:[0-9a-f]{64}'
}

@test "a record that collect made is enough to run again, also for another journal" {
    sweep
    run submit sweep.yaml --wait --quiet
    id=${lines[0]}
    "$CYBELECTL" job collect "$id" -q
    CYBELE_STATE_DIR=$place/state2 run --separate-stderr "$CYBELECTL" job resubmit results --failed --wait
    assert_equal "$status" 7
    assert_equal "$(CYBELE_STATE_DIR=$place/state2 rows "$output" | jq -r '.[1]' | tr '\n' ' ')" '2 3 '
    run --separate-stderr "$CYBELECTL" job resubmit "results/sweep-$id.job.json" --array 0 --wait
    assert_success
    record=.cybelectl/$("$CYBELECTL" job list --all --format json "$id" | jq -r '.jobs[0].uuid')
    run "$CYBELECTL" job resubmit "$record" --array 0 --dry-run
    assert_success
    jq '.request.site = "evil.yaml"' "results/sweep-$id.job.json" >y.job.json
    jq '.request.overrides["allow-root"] = true' "results/sweep-$id.job.json" >z.job.json
    for record in y z; do
        CYBELE_STATE_DIR=$place/state3 run "$CYBELECTL" job resubmit "$record.job.json"
        assert_failure 3
        assert_line --regexp '^help: read its document, then submit it: cybelectl submit .*sweep.yaml (--site evil.yaml|--allow-root)$'
    done
    mkdir empty
    run "$CYBELECTL" job resubmit "$place/empty"
    assert_failure 3
    assert_line --partial 'holds no record of a job'
    echo '{}' >x.job.json
    run "$CYBELECTL" job resubmit x.job.json
    assert_failure 3
    assert_line 'error: x.job.json is not the record of a job'
}

@test "what cannot run again is an error with a remedy, and nothing is submitted" {
    sweep
    run submit sweep.yaml --array 0-1 --wait --quiet
    id=${lines[0]}
    refused() { # MESSAGE ARGUMENT…
        run "$CYBELECTL" job resubmit "${@:2}"
        [ "$status" -ne 0 ]
        assert_line "error: $1"
        assert_line --regexp '^help: .'
    }
    refused "job $id has no elements 20-30" "$id" --array 20-30
    refused "job $id has no elements 2" "$id" --array 1-2
    refused "--array does not read ''" "$id" --array ''
    refused "nothing of job $id is to run again" "$id" --failed
    refused "job $id has no element 9" "${id}_9"
    refused "there is no job 'slurm:$id'" "slurm:$id"
    printf '%s\n' 'kind: Job' 'name: one' 'command: [sleep, "300"]' >one.yaml
    one=$(submit one.yaml)
    run "$CYBELECTL" job status "$one"
    refused "job $one has not ended: it is ${output#* }" "$one"
    "$CYBELECTL" job cancel "$one"
    refused "job $one is not an array" "$one" --array 1
    mv sweep.yaml elsewhere.yaml
    refused "the document of job $id is not there: $place/sweep.yaml" "$id"
    assert_equal "$("$CYBELECTL" job list --all --format json | jq '.jobs | length')" 2
}
