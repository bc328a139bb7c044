# SPDX-License-Identifier: Apache-2.0
# ./quickstart with the program that is built: what it prints, and that it continues after it was stopped anywhere.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

quickstart() { "$repo/quickstart" "$place/${1:-first}"; }

# succeeded: the last run did the main job, and printed neither a warning nor an error.
succeeded() {
    assert_success
    assert_equal "$(grep -cE '^    rank [01] of 2 on .*, sum 1$' <<<"$output")" 2
    assert_line --index -1 --regexp '^done in [0-9.]+ s: 2 MPI ranks ran in a verified container'
    refute_output --regexp '[Ww]arning|[Ee]rror|help:'
}

# begins STEP FOLDER: a run that has begun STEP; its process is quick. KILL and INT reach all that it started.
begins() {
    : >output
    setsid env --default-signal=INT "$repo/quickstart" "$place/$2" >output 2>&1 3>&- &
    quick=$!
    wait_for 240 grep -qF "==> $1" output
}

# is_over: neither the run nor a process that it started is left.
is_over() { ! pgrep -s "$quick" >/dev/null; }

@test "it says what it will do and how long it takes, and prints a line per step, without a warning" {
    run quickstart
    succeeded
    assert_line --index 0 --regexp '^Installs missing packages, builds cybelectl, '
    assert_line --index 1 --regexp 'seconds where nothing has changed[.] Log: .*/first/log$'
    assert_equal "$(grep -c '^==> ' <<<"$output")" 7
    refute_output --partial $'\r'
    refute_output --regexp '\[[0-9]+/[0-9]+\]'
    assert_equal "$(grep -cE '^(error|warning)\b' first/log)" 0
    assert_file_contains first/log '^built .*hello-mpi.sif'
}

@test "the second run keeps the image and takes seconds" {
    local begin=$SECONDS
    run quickstart
    succeeded
    assert_line --regexp 'hello-mpi.sif is newer than its recipe and verifies: not built again$'
    assert [ $((SECONDS - begin)) -lt 60 ]
}

@test "on a terminal the latest line of a command takes the place of the one before" {
    rm first/hello-mpi.sif
    run script -qec "stty cols 60; exec '$repo/quickstart' '$place/first'" /dev/null
    assert_success
    assert_output --partial $'\r    '
    # Nothing of them is left at a step's end, and none is longer than the terminal is wide.
    assert_equal "$(tr '\r' '\n' <<<"$output" | grep -c '^    .*'$'\e''\[K$')" "$(tr '\r' '\n' <<<"$output" | grep -cE '^.{1,59}'$'\e''\[K$')"
}

@test "without a network it fails with the reason" {
    export CYBELE_CACHE_DIR=$place/cache
    run as_root_here unshare --net "$repo/quickstart" "$place/stopped"
    assert_failure 5
    assert_line --regexp '^quickstart: "build and sign the image" failed with exit code 5; log: '
}

@test "KILL and INT while the image is built: each next run continues" {
    local signal
    export CYBELE_CACHE_DIR=$place/cache
    for signal in KILL INT; do
        begins 'build and sign the image' stopped
        wait_for 60 grep -q 'I: downloading packages with apt' stopped/log
        kill -"$signal" -- "-$quick"
        wait_for 60 is_over
        refute [ -e stopped/hello-mpi.sif ]
    done
    cat output
    assert_file_contains output 'interrupted; ./quickstart continues'
    run quickstart stopped
    succeeded
}

@test "KILL while the job runs: the next run shows its own ranks only" {
    begins 'run the job under the local scheduler' stopped
    wait_for 60 is_submitted
    kill -KILL -- "-$quick"
    wait_for 60 is_over
    run quickstart stopped
    succeeded
    assert_equal "$(find stopped -name '*.out' | wc -l)" 1
}
is_submitted() { tail -n 1 stopped/log | grep -qxE '[0-9]+'; }

@test "it waits for another build in this checkout; two runs do not share a folder" {
    local building
    exec {building}>"$repo/build/.build-lock"
    flock "$building"
    quickstart first >output 2>&1 3>&- {building}>&- &
    local quick=$!
    wait_for 60 grep -qx '    waits for another build in this checkout' output
    run -2 quickstart
    assert_output --regexp '^quickstart: another ./quickstart runs in .*/first$'
    exec {building}>&-
    wait "$quick"
    run cat output
    succeeded
}

@test "a key without its other half is made again" {
    rm first/demo.pub
    run quickstart
    succeeded
}

@test "on a full disk it fails with the reason, and continues when there is space" {
    mkdir full
    run as_root_here unshare --mount sh -ec '
        mount -t tmpfs -o size=8m full full
        "$0"/quickstart "$PWD/full" && exit 99
        echo "code $?"
        mount -o remount,size=600m full
        exec "$0"/quickstart "$PWD/full"' "$repo"
    assert_success
    assert_line 'code 5'
    assert_line --regexp 'quickstart: "build and sign the image" failed with exit code 5; log: '
    assert_output --partial 'o space left'
    assert_line --index -1 --regexp '^done in '
}
as_root_here() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo -E "$@"; fi; }

@test "bridge: wrong words, folders that the nodes would not see, and a user without root or sudo are refused before anything is done" {
    local words
    for words in 'word' '--unknown' '-o' '-o /tmp/box' "-o $place/a%b"; do
        # shellcheck disable=SC2086
        run -2 "$repo/quickstart" bridge $words
        assert_output --regexp '^quickstart: .*; see ./quickstart bridge --help$'
    done
    run -2 "$repo/quickstart" bridge -o "$place/$(printf 'x%.0s' {1..80})"
    assert_output --partial 'longer than 80 characters'
    CYBELECTL=$place/nosuch run -2 "$repo/quickstart" bridge -o "$place/box"
    assert_output --partial 'CYBELECTL is not a program'
    run -0 "$repo/quickstart" bridge --help
    assert_line --partial 'Everything that it starts ends with it'
    assert_not_exist box
    mkdir bin
    for words in bash env dirname realpath id nproc sed; do ln -s "$(command -v "$words")" bin; done
    run -5 as_user env PATH="$place/bin" "$repo/quickstart" bridge -o "$place/box"
    assert_line --partial 'need root or sudo'
    assert_line --partial 'help: run it as root, or with --torque'
    assert_not_exist box
}
