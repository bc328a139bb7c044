# SPDX-License-Identifier: Apache-2.0
# Batch scripts of other people (tests/cases/own_scripts), submitted as they are. A suite whose jobs are submitted elsewhere replaces
# the next two functions after it has loaded this file.
# shellcheck disable=SC2154 # repo is of suite.bash

# own_client WORD…: the client, where the jobs are submitted.
own_client() { if [[ $1 == cybelectl ]]; then "$CYBELECTL" "${@:2}"; else "$@"; fi; }
# own_put FILE: writes standard input to FILE there.
own_put() { cat >"$1"; }

own_kinds=(background array heredoc modules select mail cshell outputs scratch python)

# own_text KIND slurm|torque|openpbs: the script for that batch system.
own_text() {
    local system=$2 both=$2
    [[ $system == slurm ]] || both=pbs
    sed -n -e '/^=== /d' -e "s/^@$system //p;t" -e "s/^@$both //p;t" -e '/^@\(slurm\|torque\|openpbs\|pbs\) /d' -e p \
        "$repo/tests/cases/own_scripts/$1.txt"
}

# own_submitted SYSTEM SCHEDULER: submits all ten to the scheduler, each from a folder SYSTEM-KIND, and waits for each in the background.
own_submitted() {
    local kind folder
    declare -gA own_clients=()
    for kind in "${own_kinds[@]}"; do
        folder=$PWD/$1-$kind
        own_client mkdir -p "$folder/logs"
        cd "$folder" || return
        printf '%s\n' rice stop wheat | own_put params.txt
        printf 'two words' | own_put input.txt
        # shellcheck disable=SC2016 # for the script
        printf '%s\n' 'module() {' '    case $1 in' '        load) shift; loaded="$*"; export CC_MODULE=$1 ;;' \
            '        list) echo "loaded: $loaded" >&2 ;;' '    esac' '}' | own_put module-setup.sh
        own_text "$kind" "$1" | own_put "$kind.sh"
        own_client cybelectl submit --script "$kind.sh" --scheduler "$2" --monitoring-period 1 --wait --quiet \
            >"$BATS_TEST_TMPDIR/$1-$kind.id" 2>"$BATS_TEST_TMPDIR/$1-$kind.said" 3>&- &
        own_clients[$kind]=$!
        cd ..
    done
}

# own_ended SYSTEM [CODE]: each ends as it should, with what it writes; CODE is the code of all where the scheduler keeps none.
own_ended() {
    local kind id word text rest lines name code
    for kind in "${own_kinds[@]}"; do
        code=0
        wait "${own_clients[$kind]}" || code=$?
        id=$(cat "$BATS_TEST_TMPDIR/$1-$kind.id")
        echo "$1 $kind ($id) ended with $code: $(cat "$BATS_TEST_TMPDIR/$1-$kind.said")" >&2
        lines=$(sed -n 's/^=== //p' "$repo/tests/cases/own_scripts/$kind.txt")
        assert_equal "$code" "${2:-$(sed -n 's/^code //p' <<<"$lines")}"
        while read -r word text; do
            name=$id rest=$text
            case $word in
                code) continue ;;
                element) name=${id%%[.[]*}_${text%% *} rest=${text#* } ;;
            esac
            [[ $word == error ]] && word=--stderr || word=
            # shellcheck disable=SC2086 # or none
            run own_client cybelectl job logs "$name" $word
            assert_line "$rest"
            [[ -n $word ]] || assert_line "$(cksum <"$1-$kind/$kind.sh")" # what ran is what was submitted, byte for byte
        done <<<"$lines"
    done
}
