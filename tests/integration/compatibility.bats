# SPDX-License-Identifier: Apache-2.0
# The real Apptainer and cybelectl, row by row, on the same image; docs/compatibility.md is what they did.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    "$parts_dir/apptainer" make >&2
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "docs/compatibility.md is what both programs do" {
    "$parts_dir/compatibility" table hello-mpi.sif >page.md
    if [[ -n ${CYBELE_ACCEPT:-} ]]; then
        cp page.md "$repo/docs/compatibility.md"
    fi
    run diff "$repo/docs/compatibility.md" page.md
    assert_success
    # Each difference has one of at most 15 reasons.
    run grep -c 'differs without a reason' page.md
    assert_output 0
    (($(sed -n '/^## Reasons/,/^## What/p' page.md | grep -cE '^\| .* \| [0-9]+ \|$') <= 15))
    (($(grep -c '^| ' page.md) > 300))
}
