# SPDX-License-Identifier: Apache-2.0
# The embedded local scheduler with programs of the host: codes, output, signals, limits.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

host_job() {
    printf '%s\n' 'kind: Job' 'name: demo' "$@" >demo.yaml
}

@test "submit --wait gives the program's exit code" {
    host_job 'script: exit 42'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 42
}

@test "output and errors land in the files that the Job names" {
    host_job 'script: |' '  echo to-out' '  echo to-err >&2' 'output: {stdout: o.txt, stderr: e.txt}'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 0
    assert_equal "$(cat o.txt)" to-out
    assert_equal "$(grep -v '^cybelectl: job ' e.txt)" to-err
}

@test "the time limit ends the job with 124" {
    host_job 'command: [sleep, "30"]' 'resources: {time: 1 s}'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 124
    assert_equal "$(pgrep -f "$place" || true)" ""
}

@test "a record is kept below .cybelectl, the end in exit.json" {
    host_job 'command: ["true"]'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 0
    jq -e '.uuid and .state == "done" and .code == 0' .cybelectl/*/exit.json
    jq -e '.uuid' .cybelectl/*/job.json
}

@test "a refusal of submit --wait is 255" {
    host_job 'command: ["true"]' 'nonsense: 1'
    refuses 255 "$CYBELECTL" submit demo.yaml --scheduler local --wait
}

@test "a program that is missing gives 127" {
    host_job 'command: [no-such-program-here]'
    run -127 "$CYBELECTL" submit demo.yaml --scheduler local --wait
}
