# SPDX-License-Identifier: Apache-2.0
# The two commands of the README on a bare Debian 12, as an ordinary user with sudo: .ci/run does it as root. About 50 minutes on two
# cores; packages, cache of fixtures and build folder are the user's own.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place BATS_TEST_TIMEOUT=5300
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "an ordinary user with sudo runs ./quickstart and ./test on a bare machine, and all pass" {
    run "$parts_dir/bare-machine" -u -o "$repo/build/bare-user" bash -c './quickstart && ./test'
    assert_line --regexp '^done in .*: 2 MPI ranks ran in a verified container'
    assert_success
    assert_regex "${lines[-1]}" '^[1-9][0-9]+ passed, 0 failed$'
}
