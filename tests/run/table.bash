# SPDX-License-Identifier: Apache-2.0
# Sourced by ./test: the rows of tests/suites.tsv, and which of them a run consists of.
# shellcheck disable=SC2034,SC2154 # other files of tests/run read these, and set all, quick, part and filters

declare -A tier_of=() tenths_of=() load_of=() memory_of=() parts_of=() fixtures_of=() files_of=()
suites=()       # those of this run, longest first
part_limit=1000 # a part of --all lasts at most so many tenths of a minute

# read_table FILE: minutes and cores are kept in tenths. A .bats file without a row runs, too; tests/cli/runner.bats reports it.
read_table() {
    local suite tier minutes cores memory parts fixtures files file
    while IFS=$'\t' read -r suite tier minutes cores memory parts fixtures files; do
        [[ -n $suite && $suite != '#'* ]] || continue
        tier_of[$suite]=$tier
        tenths_of[$suite]=$((10#${minutes/./}))
        load_of[$suite]=$((10#${cores/./}))
        memory_of[$suite]=$memory
        parts_of[$suite]=${parts/#-/}
        fixtures_of[$suite]=${fixtures/#-/}
        files_of[$suite]=${files/#-/}
    done <"$1"
    for file in tests/{cli,integration,cluster,gpu,installed,servers,static,long}/*.bats; do
        suite=${file#tests/} && suite=${suite%.bats}
        [[ -e $file && -z ${tier_of[$suite]:-} ]] || continue
        tier_of[$suite]=$([[ $suite == long/* ]] && echo all || echo test)
        tenths_of[$suite]=10 load_of[$suite]=10 memory_of[$suite]=400 parts_of[$suite]='' fixtures_of[$suite]=''
    done
}

# is_of_tier SUITE: the lint of changed files is part of what continuous integration runs.
is_of_tier() {
    local tier=${tier_of[$1]}
    [[ $1 != tidy || -z ${CI:-} ]] || tier="test"
    [[ $tier == quick || (-z $quick && $tier == test) || -n $all ]]
}

# is_wanted SUITE: without filters all are; a filter that is a suite's name means that suite even of another tier.
is_wanted() {
    local filter
    [[ ${#filters[@]} != 0 ]] || { is_of_tier "$1" && return; }
    for filter in "${filters[@]}"; do
        [[ $1 != "$filter" ]] || return 0
        [[ $1 != *"$filter"* ]] || ! is_of_tier "$1" || return 0
    done
    return 1
}

# select_suites: fills `suites`.
select_suites() {
    local suite
    mapfile -t suites < <(for suite in "${!tier_of[@]}"; do
        ! is_wanted "$suite" || printf '%d\t%s\n' "${tenths_of[$suite]}" "$suite"
    done | sort -k 1,1nr -k 2,2 | cut -f 2)
    [[ -z $part ]] || take_part "${part%/*}" "${part#*/}"
}

# take_part K N: each suite goes to the part that is the shortest so far, so parts are of about equal length.
take_part() {
    local number suite least chosen=()
    local -a sums=()
    for ((number = 1; number <= $2; number++)); do sums[number]=0; done
    for suite in "${suites[@]}"; do
        least=1
        for ((number = 2; number <= $2; number++)); do
            ((sums[number] >= sums[least])) || least=$number
        done
        sums[least]=$((sums[least] + ${tenths_of[$suite]}))
        [[ $least != "$1" ]] || chosen+=("$suite")
    done
    if ((sums[$1] > part_limit)); then
        echo "test: part $1 of $2 lasts $((sums[$1] / 10)) minutes, and a part may last $((part_limit / 10)): use more parts" >&2
        exit 2
    fi
    suites=("${chosen[@]}")
}

# list_suites: for --list.
list_suites() {
    local suite sum=0
    for suite in "${suites[@]}"; do
        printf '%-34s %-6s %3d.%d min  %s\n' "$suite" "${tier_of[$suite]}" $((${tenths_of[$suite]} / 10)) $((${tenths_of[$suite]} % 10)) \
            "${parts_of[$suite]:+alone with ${parts_of[$suite]}}"
        sum=$((sum + ${tenths_of[$suite]}))
    done
    printf '%d suites, %d minutes one after the other\n' "${#suites[@]}" $((sum / 10))
}
