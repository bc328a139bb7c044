# SPDX-License-Identifier: Apache-2.0
# packaging/packages-*.txt name the package of each program that the scripts, suites and parts call, so that a fresh machine has it.
load ../parts/suite.bash

setup() { enter_place; }
teardown() { leave_place; }

@test "each program and Python module that is called is in a package of the lists" {
    run "$parts_dir/called-programs"
    assert_success
    assert_output ""
}

@test "a package that is missing from the lists is named, with its program and a file that calls it" {
    cp "$repo"/packaging/packages-*.txt .
    sed -i -e '/^curl$/d' -e '/^python3-jsonschema$/d' packages-*.txt
    run "$parts_dir/called-programs" --lists .
    assert_failure 1
    assert_equal "${#lines[@]}" 2
    assert_line --regexp '^error: program curl, called by tests/[a-z_/.]+:[0-9]+: its package curl is not named'
    assert_line --regexp '^error: Python module jsonschema, called by tests/[a-z_/.]+:[0-9]+: its package python3-jsonschema is not named'
}

@test "calls are found wherever they are written" {
    cat >calls.bash <<'END'
calls() {
    plain-call a | piped-call && ! negated-call
    run --separate-stderr ran-call
    A=b env C=d timeout -k 5 10 nice -n 3 wrapped-call x
    echo "$(inner-call)" <(other-call)
    wait_for 10 awaited-call
    sh -ec 'if in-shell-call; then :; fi'
    find . -exec found-call {} +
    ls | xargs -0 -n 1 each-call
    cat >script <<'EOF'
#!/bin/sh
written-call
EOF
    python3 -c 'import unheard_module'
    /usr/bin/absolute-call
    command -v asked-for-call >/dev/null
    own_function
}
own_function() { in-function-call; }
END
    printf '%s\n' 'import subprocess' 'subprocess.run(["from-python-call", "x"])' >calls.py
    printf '%s\n' 'command.argv = {"from-cpp-call",' '"x"};' \
        'command.argv = {"sh", "-c", "from-cpp-shell-call | " "true"};' >calls.cpp
    run "$parts_dir/called-programs" calls.bash calls.py calls.cpp
    assert_failure 1
    local name
    for name in plain piped negated ran wrapped inner other awaited in-shell found each written absolute in-function \
        from-python from-cpp from-cpp-shell; do
        assert_line --regexp "^error: program $name-call, called by calls\.[a-z]+:[0-9]+: no installed package has it"
    done
    assert_line --partial 'Python module unheard_module, called by calls.bash:14: '
    assert_equal "${#lines[@]}" 18
}

@test "a script that cannot be parsed is an error, not a script without calls" {
    echo 'if then' >torn.bash
    run "$parts_dir/called-programs" torn.bash
    assert_failure 1
    assert_line 'error: torn.bash: shfmt cannot parse it'
}
