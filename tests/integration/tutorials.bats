# SPDX-License-Identifier: Apache-2.0
# The tutorials' commands, run in order, what they print compared. Five minutes with a warm cache.
load ../parts/suite.bash

# The base is in the cache then. A page that builds takes longer than other tests where the machine is busy.
setup_file() {
    export BATS_TEST_TIMEOUT=900
    fixture >/dev/null
}

tutorial() {
    PAGE_SECONDS=880 CYBELECTL_PAGE_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/cybelectl run "$repo/tests/docs/run-page" \
        "$repo/docs/tutorials/$1.md"
    assert_success
}

@test "the researcher's prints what it shows" { tutorial researcher; }
@test "the engineer's prints what it shows" { tutorial engineer; }
@test "the operator's prints what it shows" { tutorial operator; }

# That of the bridge needs an API server: tests/cluster/bridge_page.bats.
@test "the recording of the first minute is what the commands print" {
    [[ $(id -u) == 0 ]] || skip 'the project of an ordinary user has no allow-root'
    CYBELE_CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/cybelectl run "$repo/tests/docs/record-terminal" --compare
    assert_success
}

@test "there is no other" {
    assert_equal "$(basename -a -s .md "$repo"/docs/tutorials/[a-z]*.md | sort | paste -sd ' ')" 'engineer kubernetes operator researcher'
}
