# SPDX-License-Identifier: Apache-2.0
# job list and job status --details: what is chosen, what is told after the end, the published schema.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

# run_job NAME LINE…: to its end; sets id.
run_job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "$@" >"$name.yaml"
    id=$("$CYBELECTL" submit "$name.yaml" --scheduler local)
    "$CYBELECTL" job wait "$id" --quiet || true
}

# fits_schema: standard input is as docs/schemas/jobs.schema.json says.
fits_schema() {
    python3 -c 'import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.validate(json.load(sys.stdin), schema, jsonschema.Draft202012Validator)' "$repo/docs/schemas/jobs.schema.json"
}

@test "what --format json prints is as the schema says: list, status, show, wait, submit" {
    run_job good 'command: ["true"]' 'resources: {memory-per-node: 64 MiB}'
    run_job bad 'script: exit 3'
    "$CYBELECTL" job list --all --format json >list.json
    "$CYBELECTL" job status "$id" --format json >status.json
    "$CYBELECTL" job status --details "$id" --format json >show.json
    "$CYBELECTL" job wait "$id" --format json >wait.json || true
    "$CYBELECTL" submit good.yaml --scheduler local --wait --format json >submit.json
    run_job many 'script: exit $CYBELE_ARRAY_INDEX' 'array: 0-1'
    "$CYBELECTL" job wait "$id" --format json >array.json || true
    jq -e '.jobs[0].elements[1].code == 1' array.json
    for file in list status show wait submit array; do fits_schema <"$file.json"; done
    jq -e '.jobs[0].used.seconds >= 0 and .jobs[0].used.cores >= 1 and .jobs[0].code == 3' show.json
    run fits_schema <<<'{"format": 1, "jobs": [{"uuid": "x"}]}'
    assert_failure
}

@test "job status --details: what was asked for, and the share of the cores that was used" {
    run_job busy "script: timeout 3 sh -c 'while true; do true; done' || true" 'resources: {cpus-per-task: 2, memory-per-node: 64 MiB}'
    run "$CYBELECTL" job status --details "$id"
    assert_line --regexp '^resources +1 node, 1 task, 2 cores, 64 MiB$'
    assert_line 'measured by   record'
    # One of two cores was busy; other work of this machine takes its share.
    "$CYBELECTL" job status --details "$id" --format json >show.json
    jq -e '.jobs[0].used | .["cpu-milliseconds"] > 500 and .["core-efficiency"] > 0.05 and .["core-efficiency"] < 0.8' show.json
    assert_equal "$(find .cybelectl -name '.times*')" ''
}

@test "job list chooses by states, name and time; mistakes are told all at once" {
    run_job good 'command: ["true"]'
    run_job bad 'script: exit 3'
    run --separate-stderr "$CYBELECTL" job list
    assert_equal "${#lines[@]}" 1
    run --separate-stderr "$CYBELECTL" job list --state failed,timeout
    assert_equal "${#lines[@]}" 2
    assert_line --partial bad
    run --separate-stderr "$CYBELECTL" job list --since '1 h' --name good
    assert_equal "${#lines[@]}" 2
    run --separate-stderr "$CYBELECTL" job list --since 2999-01-01
    assert_equal "${#lines[@]}" 1
    refuses 2 "$CYBELECTL" job list --state odd,done --since soon
    assert_line --partial "no state 'odd'"
    assert_line --partial "does not read 'soon'"
}

@test "--watch redraws on a terminal, and nowhere else" {
    refuses 2 "$CYBELECTL" job list --watch 1
    run_job good 'command: ["true"]'
    run timeout -s INT 3 script -qec "'$CYBELECTL' job list --all --watch 0.5" /dev/null
    assert [ "$(grep -o $'\e\\[H' <<<"$output" | wc -l)" -ge 2 ]
    assert_output --partial good
}
