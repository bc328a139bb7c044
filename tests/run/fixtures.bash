# SPDX-License-Identifier: Apache-2.0
# Sourced by ./test: what suites need that is expensive to make (tests/parts/fixtures.tsv) is made, or checked where it is in the
# cache, while the program is built and while other suites run.
# shellcheck disable=SC2154 # of other files of tests/run

declare -A fixture_memory=() fixture_needs=() fixture_state=()
fixtures=() # those of this run, in the order of the table
fixture_lanes=2

# select_fixtures: those that a suite of this run needs.
select_fixtures() {
    local name memory needs wanted
    wanted=" $(for suite in "${suites[@]}"; do printf '%s ' "${fixtures_of[$suite]//,/ }"; done)"
    while IFS=$'\t' read -r name memory needs _; do
        [[ -n $name && $name != '#'* && $wanted == *" $name "* ]] || continue
        fixtures+=("$name")
        fixture_memory[$name]=$memory
        fixture_needs[$name]=${needs/#-/}
        fixture_state[$name]=
    done <tests/parts/fixtures.tsv
}

# start_fixtures: as many as there are lanes, in their order, those that need the program after the build.
start_fixtures() {
    local name count=0
    for name in "${running[@]}"; do
        [[ $name != 'fixture '* ]] || count=$((count + 1))
    done
    for name in "${fixtures[@]}"; do
        ((count < fixture_lanes)) || return 0
        [[ -z ${fixture_state[$name]} ]] || continue
        [[ -z ${fixture_needs[$name]} || -n $is_built ]] || continue
        ((count == 0 && used_memory == 0)) || ((used_memory + ${fixture_memory[$name]} <= memory)) || continue
        isolated "fixture-$name" env VERIFY_CACHE=1 nice tests/parts/fixture "$name"
        running[$!]="fixture $name"
        fixture_state[$name]=running
        used_memory=$((used_memory + ${fixture_memory[$name]}))
        count=$((count + 1))
    done
}

# fixture_ended NAME CODE: a suite asks for it again, and shows why it cannot be made.
fixture_ended() {
    fixture_state[$1]=made
    used_memory=$((used_memory - ${fixture_memory[$1]}))
    [[ $2 == 0 ]] || printf 'fixture %s could not be made: see %s\n' "$1" "$logs/fixture-$1.said"
}

# fixtures_are_made SUITE
fixtures_are_made() {
    local name
    for name in ${fixtures_of[$1]//,/ }; do
        [[ ${fixture_state[$name]} == made ]] || return 1
    done
}
