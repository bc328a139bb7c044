# SPDX-License-Identifier: Apache-2.0
# Sourced by ./test: the build, the fixtures and the suites side by side, as far as cores, memory and what they share allow.
# shellcheck disable=SC2154 # logs, suites and the columns of the tables are of other files of tests/run
# shellcheck source=packaging/memory.bash
. packaging/memory.bash

declare -A files_in_memory=() # MiB that are given to the temporary files of a suite
declare -A running=()         # by process id: `build`, `fixture NAME` or `suite NAME`
used_load=0 used_memory=0

# run_all: the build, then all of `suites`; report_suite is called as each ends. Where the build fails, nothing else is started.
run_all() {
    local -a pending=("${suites[@]}")
    local ended
    cores=$(nproc)
    memory=$(memory_to_give)
    choose_files_in_memory
    is_built='' build_failed=''
    select_fixtures
    start_build
    while [[ -z $build_failed ]] && ((${#running[@]} > 0 || ${#pending[@]} > 0)); do
        start_fixtures
        [[ -z $is_built ]] || start_suites
        code=0
        wait -n -p ended || code=$?
        [[ -z ${running[${ended:-0}]:-} ]] || has_ended "$ended" "$code"
    done
}

# start_build: where a suite of this run uses what is built; as many compilers at a time as memory allows.
start_build() {
    local jobs suite is_needed=
    for suite in "${suites[@]}"; do
        [[ $suite =~ ^(format|shell|tidy|all/.*)$ ]] || is_needed=1
    done
    [[ -z $no_build && -n $is_needed ]] || { is_built=1 && return; }
    jobs=$(compile_jobs "$memory" "$cores")
    build_memory=$((jobs * 1000))
    used_memory=$build_memory
    build_begin=$SECONDS
    isolated build tests/run/build "$jobs"
    running[$!]=build
}

# has_ended PID CODE
has_ended() {
    local kind name
    read -r kind name <<<"${running[$1]}"
    unset "running[$1]"
    case $kind in
        build)
            used_memory=$((used_memory - build_memory))
            if [[ $2 == 0 ]]; then
                is_built=1
                printf 'build: %s min\n' "$(minutes_since "$build_begin")"
            else
                build_failed=1
                cat "$logs/build.said"
            fi
            ;;
        fixture)
            fixture_ended "$name" "$2"
            ;;
        suite)
            used_load=$((used_load - ${load_of[$name]}))
            used_memory=$((used_memory - ${memory_of[$name]}))
            report_suite "$name"
            ;;
    esac
}

# start_suites: starts of `pending` what may start, in its order.
start_suites() {
    local suite most
    local -a left=()
    for suite in "${pending[@]}"; do
        if may_start "$suite"; then
            most=${files_in_memory[$suite]:-}
            # A file system that a build begins on must have 2 GiB free; only what is written takes memory.
            SUITE_IN_MEMORY=${most:+$((most + 4000))} isolated "${suite//\//-}" tests/run/suite "$suite" $(((${load_of[$suite]} + 9) / 10))
            running[$!]="suite $suite"
            used_load=$((used_load + ${load_of[$suite]}))
            used_memory=$((used_memory + ${memory_of[$suite]}))
        else
            left+=("$suite")
        fi
    done
    pending=("${left[@]}")
}

# may_start SUITE: one suite always may. One core more than there are is given out: suites wait, too.
may_start() {
    fixtures_are_made "$1" || return 1
    ((used_load > 0)) || return 0
    ((used_load + ${load_of[$1]} <= 10 * cores + 10)) || return 1
    ((used_memory + ${memory_of[$1]} <= memory)) || return 1
    ! shares_a_part "$1"
}

# choose_files_in_memory: where there is enough of it, temporary files of suites that make and remove thousands of files: a disk's file
# system takes most of their time.
choose_files_in_memory() {
    local suite
    ((memory >= 10000)) || return 0
    for suite in "${suites[@]}"; do
        [[ -n ${files_of[$suite]:-} ]] || continue
        files_in_memory[$suite]=${files_of[$suite]}
        # shellcheck disable=SC2004 # names are keys of the array
        memory_of[$suite]=$((${memory_of[$suite]} + ${files_of[$suite]}))
    done
}

# shares_a_part SUITE: whether a suite that runs has one of its exclusive parts.
shares_a_part() {
    local other mine theirs
    for other in "${running[@]}"; do
        [[ $other == 'suite '* ]] || continue
        for mine in ${parts_of[$1]//,/ }; do
            for theirs in ${parts_of[${other#* }]//,/ }; do
                [[ $mine != "$theirs" ]] || return 0
            done
        done
    done
    return 1
}

# memory_to_give: MiB that suites, fixtures and compilers get together; a GiB is for everything else.
memory_to_give() {
    local available
    available=$(available_memory /)
    echo $((available > 2000 ? available - 1000 : 1000))
}
