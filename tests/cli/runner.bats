# SPDX-License-Identifier: Apache-2.0
# ./test itself: its table of suites, what it prints, suites side by side, interruptions, and the cache of fixtures.
load ../parts/suite.bash

setup() { enter_place; }
teardown() {
    [[ -z ${runner:-} ]] || kill -KILL "$runner" 2>/dev/null || true
    leave_place
}

# small_tree FOLDER: ./test with suites of its own and an own cache; there is nothing to build.
small_tree() {
    mkdir -p "$1/tests/parts" "$1/tests/cli"
    cp -r "$repo/test" "$repo/packaging" "$1"
    cp -r "$repo/tests/run" "$1/tests"
    cp "$repo"/tests/parts/{part.bash,cache,fixture} "$1/tests/parts"
    : >"$1/tests/suites.tsv"
    : >"$1/tests/parts/fixtures.tsv"
    # bats 1.8 may miss the end of a short case and then waits for its own alarm.
    export XDG_CACHE_HOME=$place/cache BATS_TEST_TIMEOUT=40
}

# suite TREE NAME PART FIXTURE LINE…: a suite of one case, or of the cases that the lines are.
suite() {
    printf '%s\tquick\t0.1\t1.0\t100\t%s\t%s\n' "$2" "$3" "$4" >>"$1/tests/suites.tsv"
    if [[ $5 == @test* ]]; then
        printf '%s\n' "${@:5}" >"$1/tests/$2.bats"
    else
        printf '%s\n' '@test "it" {' "${@:5}" '}' >"$1/tests/$2.bats"
    fi
}

rows() { grep -v '^#' "$repo/tests/$1"; }

@test "each .bats file has a row in suites.tsv, and each row a suite and fixtures that there are" {
    run diff <(rows suites.tsv | cut -f 1 | grep / | grep -v '^all/') \
        <(cd "$repo/tests" && for kind in cli integration cluster gpu installed servers static long; do ls $kind/*.bats; done | sed 's/\.bats$//')
    assert_output ''
    run bash -c ". '$repo/tests/run/kinds.bash'; for name in $(rows suites.tsv | cut -f 1 | grep -E '^all/|^[^/]*$' | xargs); do
        declare -F \"run_\${name#all/}\" || echo \"no run_\${name#all/}\"; done"
    refute_line --partial 'no run_'
    run -1 awk -F '\t' '!/^#/ && !($2 ~ /^(quick|test|all)$/ && $3 ~ /^[0-9]+\.[0-9]$/ && $4 ~ /^([1-9]\.[0-9]|0\.[1-9])$/ && $5 ~ /^[0-9]+$/ && (NF == 7 || (NF == 8 && $8 ~ /^[0-9]+$/))) {
        print; found = 1 } END { exit !found }' "$repo/tests/suites.tsv"
    assert_equal "$(rows suites.tsv | cut -f 7 | tr ',' '\n' | sort -u | comm -23 - <(rows parts/fixtures.tsv | cut -f 1 | cat - <(echo -) | sort))" ''
}

@test "the parts of --all hold each suite once, and the tiers hold each other" {
    listed() { "$repo/test" --list "$@" | sed '$d' | cut -d ' ' -f 1 | sort; }
    assert_equal "$( (for part in 1 2 3 4 5 6 7; do listed --all --part "$part/7"; done) | sort)" "$(listed --all)"
    assert_equal "$(listed --quick | comm -23 - <(CI='' listed))" ''
    assert_equal "$(CI='' listed | comm -23 - <(listed --all))" ''
    assert_equal "$(listed cli/runner tests/cli/sif.bats unit | xargs)" 'cli/runner cli/sif unit'
    run -2 "$repo/test" --all --list --part 1/1
    assert_output --partial 'a part may last 100: use more parts'
}

@test "options and filters that mean nothing are refused" {
    local words
    for words in --fast '--quick --all' '--part 1/2' '--all --part 3/2' '--all --part' 'no-such-suite'; do
        # shellcheck disable=SC2086
        run -2 "$repo/test" $words
        assert_output --regexp '^test: '
    done
}

@test "a passing, a failing and a skipped case: lines, failures, minutes, the slowest cases, the count" {
    small_tree tree
    suite tree cli/good - - '@test "quick one" { true; }' '@test "slow one" { sleep 0.3; }'
    suite tree cli/bad - - '@test "left out" { skip "no reason"; }' '@test "wrong" { echo seen >&2; false; }'
    run -1 tree/test --no-build
    assert_line --regexp '^cli/good +2 passed +0 failed +[0-9]+\.[0-9] min$'
    assert_line --regexp '^cli/bad +0 passed +2 failed '
    assert_line --regexp '\| [0-9]+:not ok 2 wrong'
    assert_line --partial '# skip no reason'
    assert_line --regexp '^ +cli/bad +[0-9]+\.[0-9] +0\.1 +[0-9]+\.[0-9]$'
    assert_line --regexp '^ +(0\.[3-9]|[1-9][0-9]*\.[0-9]) +cli-good: slow one$'
    assert_equal "${lines[-1]}" '2 passed, 2 failed'
    run -0 tree/test --no-build good
    refute_line --partial cli/bad
    assert_equal "${lines[-1]}" '2 passed, 0 failed'
}

@test "suites run side by side, but not those that share a part" {
    small_tree tree
    suite tree cli/one - - 'touch one.on' 'for _ in {1..100}; do [ ! -e two.on ] || break; sleep 0.1; done' '[ -e two.on ]'
    suite tree cli/two - - 'touch two.on' 'for _ in {1..100}; do [ ! -e one.on ] || break; sleep 0.1; done' '[ -e one.on ]'
    run -0 tree/test --no-build
    suite tree cli/three disk - 'mkdir taken' 'sleep 0.5' 'rmdir taken'
    suite tree cli/four disk,net - 'mkdir taken' 'sleep 0.5' 'rmdir taken'
    suite tree cli/five net - 'true'
    run -0 tree/test --no-build three four five
    assert_equal "${lines[-1]}" '3 passed, 0 failed'
}

@test "a suite sees its own processes, temporary folders and descriptors alone, and leaves none" {
    small_tree tree
    sleep 7919 3>&- &
    runner=$!
    exec 7<"$0" # and no descriptor of the caller's
    suite tree cli/one - - '[ ! -e /proc/$PPID/fd/7 ]' 'touch /tmp/mine /var/tmp/mine /dev/shm/mine' 'mount -t tmpfs none /mnt 2>/dev/null || sudo mount -t tmpfs none /mnt' \
        'setsid sleep 7919 3>&- &' 'sleep 0.5; [ "$(pgrep -fxc "sleep 7919")" = 1 ]' '[ "$(ls /tmp | grep -vc ^bats)" = 1 ]'
    run -0 tree/test --no-build
    run -0 pgrep -fx 'sleep 7919'
    assert_output "$runner"
    assert_equal "$(ls -d /tmp/mine /var/tmp/mine /dev/shm/mine /var/tmp/cybelectl-suite.* 2>/dev/null)" ''
    refute grep -q ' /mnt ' /proc/mounts
}

@test "temporary files of a suite that asks for it are in memory where there is enough of it, all others on the disk" {
    local kind
    small_tree tree
    suite tree cli/one - - 'stat -f -c %T /tmp /var/tmp | sort -u >one'
    sed -i 's/$/\t100/' tree/tests/suites.tsv
    suite tree cli/two - - 'stat -f -c %T /tmp /var/tmp | sort -u >two'
    run -0 tree/test --no-build
    kind=$(stat -f -c %T /var/tmp)
    assert_equal "$(<tree/two)" "$kind"
    . "$repo/packaging/memory.bash"
    (($(available_memory /) < 11000)) || kind=tmpfs
    assert_equal "$(<tree/one)" "$kind"
}

@test "files that one start of a command reads together are counted one by one, and those that fail are named" {
    local log=$PWD/log suite_passed=0 suite_failed=0
    . "$repo/tests/run/kinds.bash"
    are_good() { echo "$*" >>starts && [[ $* != *bad* ]]; }
    : >log
    each_in_groups 3 are_good -- good1 good2 good3 good4 bad1 good5 good6
    assert_equal "$suite_passed $suite_failed $(<log)" '6 1 FAILED bad1'
    assert_equal "$(wc -l <starts)" 6 # of three, of three again and of each of these, of one
}

@test "suites that need more memory together than there is run one after the other" {
    small_tree tree
    suite tree cli/one - - 'mkdir taken' 'sleep 0.5' 'rmdir taken'
    suite tree cli/two - - 'mkdir taken' 'sleep 0.5' 'rmdir taken'
    sed -i "s/\t100\t/\t$(awk '/^MemTotal:/ { print int($2 / 1024 * 0.6) }' /proc/meminfo)\t/" tree/tests/suites.tsv
    run -0 tree/test --no-build
    assert_equal "${lines[-1]}" '2 passed, 0 failed'
}

# machine AVAILABLE GROUP LIMIT: the folder `machine` has the files that say so, in MiB and bytes.
machine() {
    rm -rf machine
    mkdir -p machine/proc/self "machine/sys/fs/cgroup/$2"
    printf 'MemTotal: %d kB\nMemAvailable: %d kB\n' $(($1 * 2048)) $(($1 * 1024)) >machine/proc/meminfo
    printf '0::/%s/inner\n' "$2" >machine/proc/self/cgroup
    printf '%s\n' "$3" >"machine/sys/fs/cgroup/$2/memory.max"
}

@test "compilers at a time: as many as memory and cores allow, in a control group, too; never none" {
    local available
    . "$repo/packaging/memory.bash"
    machine 3500 none max
    assert_equal "$(available_memory machine)" 3500 # of a machine with 4 GiB
    assert_equal "$(compile_jobs 3500 2) $(compile_jobs 3500 8) $(compile_jobs 23000 8) $(compile_jobs 600 8)" '2 3 8 1'
    machine 20000 user/session 4294967296
    assert_equal "$(available_memory machine)" 4096
    machine 3500 user/session 4294967296
    assert_equal "$(available_memory machine)" 3500
    machine 20000 '' 2147483648 # as a container sees it
    assert_equal "$(available_memory machine)" 2048
    machine 20000 none max # version 1
    printf '%s\n' '9:name=systemd:/' '4:cpu,memory:/box/inner' '0::/' >machine/proc/self/cgroup
    mkdir -p machine/sys/fs/cgroup/memory/box
    echo 9223372036854771712 >machine/sys/fs/cgroup/memory/memory.limit_in_bytes
    echo 3221225472 >machine/sys/fs/cgroup/memory/box/memory.limit_in_bytes
    assert_equal "$(available_memory machine)" 3072
    available=$(available_memory /)
    assert [ "$available" -gt 0 ]
    assert [ "$available" -le "$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)" ]
}

# run_until_waiting TREE: starts ./test in the background until its suite writes `waits`; its id is in $runner.
run_until_waiting() {
    rm -f "$1/waits"
    env --default-signal=INT,TERM,HUP "$1/test" --no-build >said 2>&1 3>&- &
    runner=$!
    wait_for 60 test -e "$1/waits" || { cat said && return 1; }
}
nothing_runs() { ! pgrep -f 'sleep 7920' && [[ -z $(ls -d /var/tmp/cybelectl-suite.* 2>/dev/null) ]]; }

@test "INT, TERM and HUP end everything, and the last line still counts" {
    local name code
    small_tree tree
    suite tree cli/long - - 'setsid sleep 7920 3>&- & touch waits; sleep 7920'
    for name in INT:130 TERM:143 HUP:129; do
        run_until_waiting tree
        kill -s "${name%:*}" "$runner"
        code=0
        wait "$runner" || code=$?
        assert_equal "$code" "${name#*:}"
        assert nothing_runs
        assert_equal "$(tail -n 1 said)" '0 passed, 1 failed'
    done
}

@test "KILL of ./test ends everything that it started; the next run goes on" {
    small_tree tree
    suite tree cli/long - - 'setsid sleep 7920 3>&- & touch waits; sleep 7920'
    run_until_waiting tree
    kill -KILL "$runner"
    wait "$runner" || true
    wait_for 30 nothing_runs
    mkdir -p "/var/tmp/cybelectl-suite.$runner.old/tmp" # as where the machine itself went down
    suite tree cli/short - - true
    run -0 tree/test --no-build short
    assert nothing_runs
}

@test "one run per checkout; two checkouts at the same time" {
    small_tree one
    suite one cli/long - - 'touch waits' 'for _ in {1..300}; do [ ! -e go ] || break; sleep 0.1; done'
    cp -r one two && touch two/go
    run_until_waiting one
    run -2 one/test --no-build
    assert_output --partial 'another ./test runs in this checkout'
    touch one/go
    run -0 two/test --no-build
    wait "$runner"
    assert_equal "$(tail -n 1 said)" '1 passed, 0 failed'
}

@test "what cannot be built is shown, and nothing runs" {
    small_tree tree
    suite tree cli/good - - true
    printf 'unit\tquick\t0.1\t1.0\t100\t-\t-\n' >>tree/tests/suites.tsv
    run -1 tree/test unit
    assert_line 'error: building preset dev failed'
    assert_equal "${lines[-1]}" '0 passed, 1 failed'
}

# fixture_part TREE: a part whose fixture takes a moment to make and notes that it was made.
fixture_part() {
    printf '%s\n' '#!/usr/bin/env bash' '. "$(dirname "$0")/part.bash"' \
        '[[ $1 == --make ]] || { cached thing-1 "$0" --make; exit; }' \
        'cd "$(cache_dir)" && mkdir "$2" && touch making.log && sleep 1 && echo content >"$2/file" && echo made >>made.log' >"$1/tests/parts/thing"
    chmod +x "$1/tests/parts/thing"
    printf 'thing\t100\t-\tthing make\n' >"$1/tests/parts/fixtures.tsv"
}

@test "a fixture is made once for two checkouts at the same time, and before the suites that need it" {
    small_tree one
    fixture_part one
    suite one cli/uses - thing '[ -e "$XDG_CACHE_HOME/cybelectl-tests/thing-1/file" ]'
    cp -r one two
    env one/test --no-build >said 2>&1 3>&- &
    runner=$!
    run -0 two/test --no-build
    wait "$runner" || { cat said && false; }
    assert_equal "$(cat cache/cybelectl-tests/made.log)" made
}

@test "a damaged fixture is made again, an interrupted one is swept; list, verify and remove" {
    small_tree tree
    fixture_part tree
    suite tree cli/uses - thing true
    run -0 tree/test --no-build
    echo damaged >cache/cybelectl-tests/thing-1/file
    run -0 tree/test --no-build
    assert_equal "$(cat cache/cybelectl-tests/thing-1/file) $(wc -l <cache/cybelectl-tests/made.log)" 'content 2'
    run -0 tree/tests/parts/cache list
    assert_line --regexp '^thing-1 .* 0 days  complete$'
    run -0 tree/tests/parts/cache verify
    rm cache/cybelectl-tests/thing-1/file
    run -3 tree/tests/parts/cache verify
    assert_line 'damaged, and removed: thing-1'
    assert_equal "$(tree/tests/parts/cache list)" ''
    # Killed while it is made.
    rm -f cache/cybelectl-tests/making.log
    env tree/test --no-build >said 2>&1 3>&- &
    runner=$!
    wait_for 60 test -e cache/cybelectl-tests/making.log
    kill -KILL "$runner"
    wait "$runner" || true
    assert [ -e cache/cybelectl-tests/thing-1.new ]
    wait_for 30 flock --nonblock cache/cybelectl-tests/thing-1.lock true
    run -0 tree/tests/parts/cache sweep
    assert_equal "$(tree/tests/parts/cache list)" ''
    run -0 tree/test --no-build
    run -0 tree/tests/parts/cache remove
    assert_equal "$(find cache/cybelectl-tests -mindepth 1 ! -name "*.log" -printf "%f")" thing-1.lock
}

@test "a batch server that is not given counts as one skipped case, with its line; no other case is skipped" {
    small_tree tree
    mkdir tree/tests/servers
    suite tree servers/jobs - - '@test "one" { true; }' '@test "two" { true; }'
    CYBELE_TORQUE_PREFIX='' CYBELE_OPENPBS_PREFIX='' run -0 tree/test --no-build
    assert_line --regexp '^servers/jobs +0 passed +0 failed '
    assert_line '  skipped: CYBELE_TORQUE_PREFIX is not set; see tests/servers/README.md'
    assert_equal "${lines[-1]}" '0 passed, 0 failed, 2 skipped'
    CYBELE_TORQUE_PREFIX=/opt CYBELE_OPENPBS_PREFIX='' run -0 tree/test --no-build
    assert_equal "${lines[-1]}" '2 passed, 0 failed, 1 skipped'
    CYBELE_TORQUE_PREFIX=/opt CYBELE_OPENPBS_PREFIX=/opt run -0 tree/test --no-build
    assert_equal "${lines[-1]}" '2 passed, 0 failed'
}

@test "a case for one batch server that is not given is skipped, with its line" {
    small_tree tree
    mkdir tree/tests/servers
    cp "$repo/tests/servers/servers.bash" tree/tests/servers
    # shellcheck disable=SC2016 # of the suite that is written
    suite tree servers/jobs - - '@test "one" {' '    on openpbs false' '}' '@test "two" {' '    on_each true' '}' \
        'load servers.bash' 'server() { "$@"; }' 'place=$BATS_RUN_TMPDIR parts_dir=.'
    CYBELE_TORQUE_PREFIX=/opt CYBELE_OPENPBS_PREFIX='' run -0 tree/test --no-build
    assert_line --partial 'CYBELE_OPENPBS_PREFIX is not set'
    assert_equal "${lines[-1]}" '1 passed, 0 failed, 2 skipped'
}
