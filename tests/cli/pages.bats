# SPDX-License-Identifier: Apache-2.0
# What the reference pages show is what the program prints. About a minute.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

run_page() {
    "$repo/tests/docs/run-page" "$@"
}

@test "every example of every page prints what the page shows" {
    # The page for users of a bridge needs a Kubernetes: tests/cluster/bridge_page.bats.
    mapfile -t pages < <(grep -lx '```console' "$repo"/docs/reference/*.md | grep -Ev '/bridge-(users|operations)\.md$')
    ((${#pages[@]} > 0))
    run run_page "${pages[@]}"
    assert_success
}

@test "a line that differs is told by its page and place" {
    printf '%s\n' 'text' '```console' '$ echo one; echo two' 'one' 'three' '```' >page.md
    run run_page page.md
    assert_failure
    assert_line 'page.md:5: the output differs'
    assert_line '  printed  | two'
}

@test "output that a page does not show is a difference, and so is one that is missing" {
    printf '%s\n' '```console' '$ echo more' '```' >more.md
    run run_page more.md
    assert_failure
    assert_line 'more.md:2: there is more output than shown'
    printf '%s\n' '```console' '$ true' 'none' '```' >less.md
    run run_page less.md
    assert_failure
    assert_line 'less.md:3: the output differs'
}

@test "dots stand for text inside a line and for whole lines" {
    printf '%s\n' '```console' '$ seq 1 9; echo at 12:30 now' '1' '...' '9' 'at ... now' '```' >dots.md
    run run_page dots.md
    assert_success
    printf '%s\n' '```console' '$ seq 1 9' '1' '...' '8' '```' >end.md
    run run_page end.md
    assert_failure
}

@test "the examples of a page share a folder, a shell and the exit code" {
    printf '%s\n' '```console' '$ echo kept >file; x=1' '$ cat file; echo $x' 'kept' '1' '```' 'then' '```console' \
        '$ (exit 7)' '$ echo $?' '7' '$ cat <<END' '> two' '> lines' '> END' 'two' 'lines' '```' >shell.md
    run run_page shell.md
    assert_success
    assert_line 'shell.md: 5 examples'
    assert_not_exist file
}

@test "an example that ends the shell is told" {
    printf '%s\n' '```console' '$ exit 0' '$ echo never' '```' >ends.md
    run run_page ends.md
    assert_failure
    assert_line 'ends.md:3: the shell ended before this example'
}
