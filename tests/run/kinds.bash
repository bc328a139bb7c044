# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run/suite: one function per kind of suite. Each writes to $log and sets suite_passed, suite_failed and suite_skipped.
# shellcheck disable=SC2034,SC2154 # log and cores are of tests/run/suite, which reads the counts

# each_file COMMAND… -- FILE…: one test per file.
each_file() {
    local file
    local -a command=()
    while [[ $1 != -- ]]; do
        command+=("$1") && shift
    done
    shift
    for file in "$@"; do
        if "${command[@]}" "$file" >>"$log" 2>&1; then
            suite_passed=$((suite_passed + 1))
        else
            echo "FAILED $file" >>"$log"
            suite_failed=$((suite_failed + 1))
        fi
    done
}

# each_in_groups SIZE COMMAND… -- FILE…: one test per file, too. One start of the command reads SIZE files, and those of a group that fails
# are read one by one.
each_in_groups() {
    local size=$1
    local -a command=() group
    shift
    while [[ $1 != -- ]]; do
        command+=("$1") && shift
    done
    shift
    while (($# > 0)); do
        group=("${@:1:size}")
        shift "${#group[@]}"
        if "${command[@]}" "${group[@]}" >/dev/null 2>&1; then
            suite_passed=$((suite_passed + ${#group[@]}))
        else
            each_file "${command[@]}" -- "${group[@]}"
        fi
    done
}

# sources PATTERN…: tracked and new files alike.
sources() {
    git ls-files --cached --others --exclude-standard -- "$@" | sort -u
}

run_format() {
    local -a files
    mapfile -t files < <(sources '*.cpp' '*.hpp')
    each_in_groups 50 clang-format-16 --dry-run -Werror -- "${files[@]}"
}

run_shell() {
    local -a files
    mapfile -t files < <(sources | while read -r file; do
        case $file in
            *.bats | *.bash | *.sh) echo "$file" ;;
            *) [[ -x $file && -f $file ]] && head -n 1 "$file" | grep -qaE '^#!.*[ /](ba|da)?sh' && echo "$file" ;;
        esac
    done | grep -v -e '^tests/golden/' -e '/corpus/' -e '^tests/cases/wild/' -e '^docs/examples/lolcow/cow\.sh$') # the last: the paper's own lines
    each_file lint_shell -- "${files[@]}"
}

# In .bats files names come from the loaded suite, `>batch` is a file, and '$x' is often meant for an inner shell.
lint_shell() {
    case $1 in
        *.bats) shellcheck -x -e SC2016,SC2030,SC2031,SC2154,SC2238 "$1" ;;
        *) shellcheck -x "$1" ;;
    esac
}

# changed_sources: the files that differ from the branch's base: origin/main, or where that is this commit, the one before.
changed_sources() {
    local base
    base=$(git merge-base HEAD origin/main 2>/dev/null || true)
    if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then
        base=$(git rev-parse --verify --quiet HEAD~1) || return 0
    fi
    git diff --name-only --diff-filter=d "$base" -- '*.cpp'
}

# run_tidy: limited to 8 minutes; the number of files that were not reached is reported, they are checked when they change again.
run_tidy() {
    local -a files
    mapfile -t files < <(changed_sources)
    : >"$log".ok
    ((${#files[@]} > 0)) || return 0
    cmake --preset tidy >>"$log" # for its list of commands: each source for itself
    # shellcheck disable=SC2016
    printf '%s\0' "${files[@]}" | timeout 480 nice xargs -0 -n 1 -P "$cores" sh -c '
        clang-tidy-16 -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option "$1" >"$0.$$" 2>&1
        code=$?
        [ $code = 0 ] && echo "ok $1" >>"$0.ok" || { cat "$0.$$"; echo "FAILED $1"; } >>"$0"
        rm -f "$0.$$"' "$log" || true
    suite_passed=$(wc -l <"$log".ok)
    suite_failed=$(grep -c '^FAILED ' "$log" || true)
    local left=$((${#files[@]} - suite_passed - suite_failed))
    ((left == 0)) || echo "tidy: $left of ${#files[@]} changed files not reached in 8 minutes" >>"$log"
}

# run_unit: doctest's own counts of cases; a program that fails without them (a crash) counts once.
run_unit() {
    local programs_failed
    ctest --test-dir build/dev -j "$cores" --timeout 300 --verbose >"$log" 2>&1 || true
    suite_passed=$(sum_of 'test cases: .*\| +([0-9]+) passed')
    suite_failed=$(sum_of 'test cases: .*\| +([0-9]+) failed')
    programs_failed=$(sed -nE 's/.*tests passed, ([0-9]+) tests? failed out of.*/\1/p' "$log")
    [[ -n $programs_failed ]] || programs_failed=1
    ((suite_failed >= programs_failed)) || suite_failed=$programs_failed
}

# sum_of PATTERN: the sum of a number in the log's lines.
sum_of() {
    sed 's/\x1b\[[0-9;]*m//g' "$log" | sed -nE "s/.*$1.*/\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

# variables_of FILE: by which variables a suite is given what the project does not build or bring: batch servers, GPUs.
variables_of() {
    case $1 in
        tests/servers/*) echo CYBELE_TORQUE_PREFIX CYBELE_OPENPBS_PREFIX ;;
        tests/gpu/*) echo CYBELE_GPU_PYTHON ;;
    esac
}

# run_bats FILE: a test that is skipped counts as failed: nothing is left out unseen. The one exception are suites of variables_of:
# each variable that is not set counts as one case that is skipped, with a line that says so, and so do cases that need it alone.
run_bats() {
    local file=$1 planned limit=1200 variable skips=0 unset='# skip$^'
    local -a variables
    read -ra variables <<<"$(variables_of "$file")"
    for variable in "${variables[@]}"; do
        limit=5400
        [[ -z ${!variable:-} ]] || continue
        echo "skipped: $variable is not set; see $(dirname "$file")/README.md" >>"${log%.log}.skips"
        suite_skipped=$((suite_skipped + 1)) unset="# skip $variable is not set"
    done
    ((${#variables[@]} == 0 || suite_skipped < ${#variables[@]})) || return 0
    [[ $file != tests/long/* ]] || limit=5400
    BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-300} timeout --kill-after=20 "$limit" bats --timing --formatter tap "$file" >"$log" 2>&1 || true
    suite_passed=$(grep -E '^ok ' "$log" | grep -cvE '# skip' || true)
    skips=$(grep -E '^ok ' "$log" | grep -cE "$unset\$" || true)
    suite_failed=$(($(grep -cE '^not ok |^ok .*# skip' "$log" || true) - skips))
    suite_skipped=$((suite_skipped + skips))
    planned=$(sed -nE '1,3s/^1\.\.([0-9]+)$/\1/p' "$log")
    ((suite_passed + suite_failed + skips >= ${planned:-1})) || suite_failed=$((${planned:-1} - suite_passed - skips))
}

# run_fuzz: each fuzz target under the sanitizers, from its corpus, for a stated number of runs; one test per target. The same inputs
# each time. What was run is appended to tests/fuzz/record.tsv; what breaks a target is left in build/test/fuzz/finds.
fuzz_runs=20000
run_fuzz() {
    local -a targets
    { cmake --preset fuzz && nice cmake --build --preset fuzz -- -j "$cores"; } >"$log" 2>&1 || { suite_failed=1 && return; }
    mapfile -t targets < <(find build/fuzz/tests/fuzz -name '*_fuzz' -printf '%f\n' | sed 's/_fuzz$//' | sort)
    each_file tests/fuzz/run --runs "$fuzz_runs" --record tests/fuzz/record.tsv -- "${targets[@]}"
    ((suite_passed + suite_failed > 0)) || suite_failed=1
}

# run_ungrouped: every source compiles by itself; one test.
run_ungrouped() {
    if { cmake --preset dev -B build/ungrouped -DCYBELE_TESTS=ON -DCYBELE_GROUPS=OFF &&
        grep -q '^CYBELE_GROUPS:BOOL=OFF$' build/ungrouped/CMakeCache.txt &&
        nice cmake --build build/ungrouped -- -j "$cores"; } >"$log" 2>&1; then
        suite_passed=1
    else
        suite_failed=1
    fi
}
