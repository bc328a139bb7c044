# SPDX-License-Identifier: Apache-2.0
# --format sarif of every check: one document on standard output, as the schema says, with the exit code and the places of the text.
load ../parts/suite.bash

setup() {
    work_place
    mkdir project
}
teardown() { leave_place; }

# sarif CODE COMMAND…: its standard output is SARIF, and nothing else is said.
sarif() {
    local code=$1
    shift
    run "-$code" --separate-stderr "$CYBELECTL" "$@" --format sarif
    assert_equal "$stderr" ''
    python3 -c 'import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
log = json.load(sys.stdin)
jsonschema.validate(log, schema, jsonschema.Draft202012Validator)
run = log["runs"][0]
assert {result["ruleId"] for result in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}' \
        "$repo/docs/schemas/sarif.schema.json" <<<"$output"
}

# results: rule, level, file and line of each.
results() {
    jq -r '.runs[0].results[] | [.ruleId, .level, (.locations[0].physicalLocation | .artifactLocation.uri, .region.startLine)] | join(" ")' \
        <<<"$output"
}

@test "errors and warnings of a Job, with their lines; a warning is 3 with --strict only" {
    printf '%s\n' 'kind: Job' 'name: a' 'command: [ls]' 'tasks: 2' 'resources: {nodes: x}' >job.yaml
    sarif 3 job check job.yaml
    assert_equal "$(results)" $'field-unknown error job.yaml 4\nfield-value error job.yaml 5'
    jq -e '.runs[0].results[0].message.text | test("^unknown field .tasks.")' <<<"$output"
    printf '%s\n' 'kind: Job' 'name: a' 'script: srun hostname' >srun.yaml
    sarif 0 job check srun.yaml --scheduler torque
    [[ $(results) == *' warning srun.yaml '* ]]
    sarif 3 job check srun.yaml --scheduler torque --strict
    printf '%s\n' 'kind: Job' 'name: a' 'command: [ls]' >good.yaml
    sarif 0 job check good.yaml
    assert_equal "$(results)" ''
    sarif 3 job check missing.yaml
    assert_equal "$(results)" 'file-missing error missing.yaml 1'
}

@test "Recipes of a folder, also with a blank in a name" {
    printf '%s\n' 'kind: Recipe' 'name: one' 'base: debian:bookworm' >'project/a b.yaml'
    printf '%s\n' 'kind: Recipe' 'name: two' 'base: debian:12' 'packages: {apt: [curl]}' >project/two.yaml
    sarif 3 recipe check project
    assert_equal "$(results | cut -d ' ' -f 2-)" $'error project/a%20b.yaml 3\nerror project/two.yaml 4'
    printf '%s\n' 'kind: Recipe' 'name: one' 'base: debian:12' >good.yaml
    sarif 0 recipe check good.yaml
    assert_equal "$(results)" ''
}

@test "stale files of a project, at the line that differs; without --check it is refused" {
    mkdir project/recipes
    printf '%s\n' 'kind: Recipe' 'name: wheat' 'base: debian:12' 'run: [cat]' >project/recipes/wheat.yaml
    "$CYBELECTL" generate project >&2
    sarif 0 generate project --check
    assert_equal "$(results)" ''
    sed -i 's/^exec .*/exec dog/' project/generated/wheat.def
    local line
    line=$(grep -n '^exec dog' project/generated/wheat.def | cut -d : -f 1)
    sarif 3 generate project --check
    assert_equal "$(results)" "generated-file-stale error project/generated/wheat.def $line"
    printf 'x: 1\n' >>project/recipes/wheat.yaml
    sarif 3 generate project --check
    assert_equal "$(results)" 'field-unknown error project/recipes/wheat.yaml 5'
    sarif 2 generate project
    assert_equal "$(results)" 'sarif-without-check error project 1'
}

@test "definition files and objects of bridges are written by the same writer" {
    printf '%s\n' 'Bootstrap: docker' 'From: debian:12' '' '%enviroment' '    export A=1' >'a b.def'
    sarif 3 def check 'a b.def' --no-shellcheck
    [[ $(results) == *'CD004 error a%20b.def 4'* ]]
    printf '%s\n' 'kind: Job' 'name: a' 'command: [ls]' >job.yaml
    "$CYBELECTL" kube render job.yaml --kind TorqueJob -q -o object.yaml
    sarif 0 kube check object.yaml
}
