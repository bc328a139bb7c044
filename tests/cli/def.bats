#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# def check, def format, def print, and explain of their rules.
# shellcheck source=tests/parts/suite.bash
. "$BATS_TEST_DIRNAME/../parts/suite.bash"

setup() {
    enter_place
    printf 'Bootstrap: localimage\nFrom: /base.sif\n\n%%post\n    umask 022\n' >good.def
    printf 'Bootstrap: docker\nFrom: debian\n%%post\n    umask 022\n' >trap.def
    printf 'Bootstrap: docker\nFrom: debian:12\n%%enviroment\n    export A=1\n' >bad.def
}
teardown() {
    leave_place
}

@test "a definition without fault ends with 0" {
    run "$CYBELECTL" def check good.def
    assert_success
    assert_output "good.def: no problems found"
}

@test "what Apptainer refuses ends with 3, with place, line, caret and remedy" {
    run "$CYBELECTL" def check bad.def
    assert_equal "$status" 3
    assert_line "error[CD004]: '%enviroment' is not a section"
    assert_line " --> bad.def:3:1"
    assert_line "  | %enviroment"
    assert_line "  | ^"
    assert_line "help: did you mean '%environment'?"
    assert_line --partial "bad.def: refused by Apptainer 1.4.5"
}

@test "a file of another kind gets one error" {
    printf '#!/usr/bin/env run-singularity\n\0SIF_MAGIC\0\n%%post\n\r\n' >image.def
    run "$CYBELECTL" def check image.def
    assert_equal "$status" 3
    assert_line 'error[CD005]: this is an image, not a definition file'
    assert_line 'image.def: refused by Apptainer 1.4.5; 1 error, 0 warnings, 0 notes'
}

@test "a trap ends with 0, and with --strict with 3" {
    run "$CYBELECTL" def check trap.def
    assert_success
    assert_line --partial "warning[CD301]"
    assert_line --partial "trap.def: accepted by Apptainer 1.4.5"
    run "$CYBELECTL" def check --strict trap.def
    assert_equal "$status" 3
    sed -i 's/debian/debian # cybelectl: ignore CD301/' trap.def
    run "$CYBELECTL" def check --strict trap.def
    assert_success
}

@test "build arguments come from options and a file; one that nothing uses is refused" {
    printf 'Bootstrap: localimage\nFrom: /{{ base }}\n%%post\n    umask {{ mask }}\n' >arguments.def
    printf 'mask = 022\nno argument\n' >values
    run "$CYBELECTL" def check arguments.def --build-arg base=b.sif
    assert_equal "$status" 3
    assert_line "error[CD021]: the build argument 'mask' has no value"
    run "$CYBELECTL" def check arguments.def --build-arg base=b.sif --build-arg-file values
    assert_success
    run "$CYBELECTL" def check arguments.def --build-arg base=b.sif --build-arg-file values --build-arg x=1
    assert_equal "$status" 3
    run "$CYBELECTL" def check arguments.def --build-arg base
    assert_equal "$status" 2
}

@test "a dialect judges as its own parser does" {
    printf 'Bootstrap: localimage\nFrom: /b\n%%arguments\n    a=1\n' >new.def
    run "$CYBELECTL" def check new.def --dialect 'apptainer>=1.2'
    assert_success
    run "$CYBELECTL" def check new.def --dialect singularity3
    assert_equal "$status" 3
    assert_line "error[CD004]: Singularity 3.8.4 has no section '%arguments'"
    assert_line "help: build it with Apptainer 1.2, SingularityCE 4.0 or later"
    run "$CYBELECTL" def check new.def --dialect docker
    assert_equal "$status" 2
}

@test "json and sarif name rule and place of each finding" {
    run "$CYBELECTL" def check --format json bad.def good.def
    assert_equal "$status" 3
    echo "$output" | python3 -c 'import json, sys
files = json.load(sys.stdin)["files"]
assert [f["accepted"] for f in files] == [False, True]
assert any(f["rule"] == "CD004" and f["line"] == 3 and f["refusal"] for f in files[0]["findings"])'
    run "$CYBELECTL" def check --format sarif bad.def
    echo "$output" | python3 -c 'import json, sys
run = json.load(sys.stdin)["runs"][0]
known = {r["id"] for r in run["tool"]["driver"]["rules"]}
assert run["results"] and all(r["ruleId"] in known for r in run["results"])'
}

@test "print is the identity, as JSON it is the tree" {
    printf 'Bootstrap: scratch\r\n  # c\n%%post \n\techo \xff\n\n%%test' >odd.def
    "$CYBELECTL" def print odd.def >copy.def
    cmp odd.def copy.def
    printf '#!/bin/sh\n# a\n\nBootstrap: docker\nFrom: a:1\n' >script.def # of which some make an executable file
    "$CYBELECTL" def print script.def | cmp script.def
    run "$CYBELECTL" def print --format json bad.def
    assert_line --partial '"name": "enviroment"'
}

@test "format is idempotent, writes in place, and says with --check what is not formatted" {
    printf ' from : /b\r\n Bootstrap:localimage\r\n%%%%LABELS\r\n A  b\r\n' >ugly.def
    run "$CYBELECTL" def format --check ugly.def good.def
    assert_equal "$status" 3
    assert_output "ugly.def: not in its normal form"
    "$CYBELECTL" def format --in-place ugly.def
    assert_equal "$(cat ugly.def)" "$(printf 'Bootstrap: localimage\nFrom: /b\n\n%%labels\n    A b')"
    run "$CYBELECTL" def format --check ugly.def
    assert_success
    run "$CYBELECTL" def format bad.def
    assert_equal "$status" 3
    printf 'Bootstrap:scratch\n' >ugly.def
    refuses 3 "$CYBELECTL" def format --in-place bad.def missing.def ugly.def # all of them, or what is wrong with each
    assert_output --partial bad.def
    assert_output --partial missing.def
    assert_equal "$(cat ugly.def)" "Bootstrap: scratch"
    refuses 2 "$CYBELECTL" def format ugly.def good.def -o both.def
    assert_file_not_exist both.def
}

@test "format in place keeps the file's mode, and a link to it" {
    mkdir real
    printf 'Bootstrap:scratch\n%%post\ntrue\n' >real/ugly.def
    cp real/ugly.def before
    chmod 2750 real/ugly.def
    ln -s real/ugly.def link.def
    "$CYBELECTL" def format --in-place link.def
    assert_equal "$(readlink link.def)" real/ugly.def
    assert_equal "$(stat -c %a real/ugly.def)" 2750
    run cmp before real/ugly.def
    assert_failure
    refuses 3 "$CYBELECTL" def format --in-place missing.def
}

@test "a check that is ended ends, with the code of the signal and without a verdict" {
    command -v shellcheck || skip "no shellcheck"
    for stage in {1..3000}; do
        printf 'Bootstrap: docker\nFrom: debian:12\nStage: s%s\n%%post\n    true\n' "$stage"
    done >many.def
    "$CYBELECTL" def check many.def >said 2>&1 &
    wait_for 30 pgrep -P $! shellcheck
    kill -TERM $!
    code=0
    wait $! || code=$?
    assert_equal "$code" 143
    run ! grep many.def said
}

@test "explain tells a rule" {
    run "$CYBELECTL" explain cd301
    assert_success
    assert_line "CD301 (warning): base without a tag"
    assert_line --partial "fix: "
}

@test "def check never reports an error and exits with 0, nor the other way round: every rule, in every form" {
    cp "$repo"/tests/cases/rules/*.def .
    { printf 'Bootstrap: localimage\nFrom: /b\n%%post\n' && yes ': a line of a section that is longer than Apptainer reads' | head -1200; } >CD007.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post\necho a\0b\n' >CD011.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post\necho {{ a }}\n%%arguments\na=1\n' >CD027.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post\nexport A=$(f "a b" c)\necho $A\n' >CD107.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post\nA=`date`\necho "$A"\n' >CD110.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post\necho "a\n' >CD112.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%files\nnowhere /x\n' >CD405.def
    local rule severity count=0 errors
    local -a options
    while read -r rule severity; do
        options=()
        [[ $rule != CD022 ]] || options=(--dialect singularity3)
        [[ $rule != CD027 ]] || options=(--build-arg b=1)
        run "$CYBELECTL" def check "$rule.def" "${options[@]}"
        assert_output --partial "${severity}[$rule]"
        errors=$(grep -c '^error\[' <<<"$output" || :)
        assert_equal "$rule $status" "$rule $((errors > 0 ? 3 : 0))"
        [[ $severity != error ]] || assert [ "$errors" -gt 0 ]
        run "$CYBELECTL" def check "$rule.def" "${options[@]}" --format json
        assert_equal "$rule $status" "$rule $((errors > 0 ? 3 : 0))"
        count=$((count + 1))
    done < <(sed -n 's/^| \(CD[0-9]*\) | \([a-z]*\) |.*/\1 \2/p' "$repo/docs/reference/definition-rules.md")
    assert [ "$count" -ge 73 ]
    echo "$count rules"
}
