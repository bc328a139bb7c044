#!/bin/bash
#SBATCH --nodes=1
#SBATCH --job-name=learn
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=3
#SBATCH --time=00:10:00
#SBATCH --array=0-1
#SBATCH --dependency=afterok:123
#SBATCH --output=%x-%A_%a.out
#SBATCH --error=%x-%A_%a.err
#SBATCH --export=ALL
# From packed.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    array_index=${SLURM_ARRAY_TASK_ID:-}
    be_element
    start_once "${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-}}"
    need_cpus 2 3 # of each node: ranks, threads of each
    run_rows
}

run_row() {

    export {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=3
    echo 'cybelectl: job learn, 1 node, 2 rows at a time, 3 threads each, no image' >&2
    launch train --lr "$CYBELE_SWEEP_lr"
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:9295af1c8855e43016f30df646946f446c81ee0e35d64a8539da0d92384a0ab7, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -n "$record" ] || [ -z "${CYBELE_JOB:-$2}" ] || record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}
    export -n CYBELE_JOB CYBELE_JOB_DIR # jobs that this one submits have their own
}

be_element() {
    [ -n "$array_index" ] || refuse 'this job is not an element of an array' \
        'the scheduler gave no index' 'submit it, do not run it'
    export CYBELE_ARRAY_INDEX=$array_index
    [ -z "$record" ] || record=$record/$array_index
}

start_once() { # ID of the job
    local first file=$record/started/id # with `set -C` only the first job can create it
    [ -n "${CYBELE_JOB:-}" ] && [ -n "$1" ] && (umask 077 && mkdir -p -- "${file%/*}") || return 0
    (set -C && { echo "$1" || :; } >"$file") 2>/dev/null || [ -s "$file" ] || sleep 1
    read -r first <"$file" || : # still empty: the disk was full, and the job runs
    if [ "${first:-$1}" != "$1" ]; then
        echo "cybelectl: job $CYBELE_JOB was submitted two times; this second one ends" >&2
        record='' && exit 0 # the first one runs, and writes the record
    fi
}

choose_row() { # NUMBER: the values of the sweep's row
    case $1 in
        0) set -- 1 ;;
        1) set -- 2 ;;
        2) set -- 3 ;;
        3) set -- 4 ;;
        4) set -- 5 ;;
        5) set -- 6 ;;
        6) set -- 7 ;;
        *) refuse "the sweep has no row $1" 'it has 7 rows, from 0' 'submit it again' ;;
    esac
    export CYBELE_SWEEP_lr="${1}"
}

run_rows() { # of this element, 2 at a time, each on CPUs of its own
    local row slot last first=$((${array_index:-0} * 4)) failed=0
    local -a slot_cpus=()
    local job_number=${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-${job_number:-${CYBELE_JOB_ID:-0}}}}
    last=$((first + 4 < 7 ? first + 4 - 1 : 7 - 1))
    list_cpus
    exec {ends}<> <(:)
    row_processes=() payload=rows
    make_records
    for ((row = first; row <= last; row++)); do
        find_slot
        [ "$ended" = no ] || break
        serve_row "$row" "${slot_cpus[slot]:-}" &
        row_processes[slot]=$!
    done
    while [ "${#row_processes[@]}" -gt 0 ]; do
        take_row
    done
    payload=''
    [ -z "$record" ] || rm -f -- "$record"/.row-*
    [ "$ended" = no ] || exit 143
    [ "$failed" -eq 0 ] || refuse "$failed of the rows $first to $last failed" \
        'each has a record and outputs of its own' "read them: cybelectl job results $job_number"
}

make_records() { # the folders of all rows, at the same time
    local -a folders=()
    [ -n "$record" ] || return 0
    for ((row = first; row <= last; row++)); do
        folders+=("$record/$row")
    done
    printf '%s\0' "${folders[@]}" | (umask 077 && xargs -0 mkdir -p --) || :
}

list_cpus() { # of each slot; fewer CPUs than the rows need are shared by all
    local part
    local -a all_cpus=()
    command -v taskset >/dev/null || return 0
    for part in $(taskset -pc "$$" 2>/dev/null | sed 's/.*: //; s/,/ /g'); do
        mapfile -t -O "${#all_cpus[@]}" all_cpus < <(seq "${part%-*}" "${part#*-}")
    done
    for ((slot = 0; slot < 2 && ${#all_cpus[@]} >= 6; slot++)); do
        slot_cpus[slot]=$(IFS=, && echo "${all_cpus[*]:slot * 3:3}")
    done
}

find_slot() { # that no row has
    for ((slot = 0; slot < 2; slot++)); do
        [ -n "${row_processes[slot]:-}" ] || return 0
    done
    take_row
}

take_row() { # the end of a row, which says its slot, process and code, unless it is killed
    local process code told
    while :; do
        read -r -t 0.2 -u "$ends" slot process code || process=''
        [ -z "$process" ] || [ "${row_processes[slot]:-}" != "$process" ] || break
        for slot in "${!row_processes[@]}"; do # bash 5.2 may not hear of an end
            code=0 told='' process=${row_processes[slot]}
            read -r told 2>/dev/null <"/proc/$process/stat" || :
            if [[ -z $told || $told == *') Z '* ]]; then
                wait "$process" || code=$?
                break 2
            fi
        done
    done
    wait "$process" || : # the row has said its code; `wait` may lose it at a signal
    [ "$code" -eq 0 ] || failed=$((failed + 1))
    unset -v "row_processes[slot]"
}

serve_row() { # ROW CPU,...: in a process of its own
    trap 'finish_row' EXIT
    trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' TERM INT HUP
    trap 'forward_signal USR1' USR1
    trap 'forward_signal USR2' USR2
    row_processes=() payload='' row_cpus=$2 row_slot=$slot # `slot` is gone at an exit
    [ -z "$record" ] || record=$record/$1
    printf -v start '%(%s)T' -1
    array_index=row$1
    export CYBELE_ARRAY_INDEX=$1
    choose_row "$1"
    local output=learn-"$job_number-$array_index".out errors=learn-"$job_number-$array_index".err
    [ "${output:0:1}" = / ] || output=$PWD/$output
    [ "${errors:0:1}" = / ] || errors=$PWD/$errors
    exec >"$output" 2>"$errors"
    if [ -d "${record:-}" ]; then
        printf '%s\n' "$output" "$errors" >"$record/output" || :
    fi
    run_row
    exit 0 # at the end of a function, bash 4 calls no trap
}

finish_row() {
    local code=$? process
    trap - EXIT
    trap '' TERM INT HUP USR1 USR2
    if [ -n "$payload" ]; then
        for process in $(jobs -p); do
            kill "$process" 2>/dev/null || :
        done
    fi
    write_record "$code" row || :
    echo "$row_slot $BASHPID $code" >&"$ends"
    exit "$code"
}

need_cpus() { # RANKS THREADS
    cpus=$(tr , '\n' <<<"${SLURM_JOB_CPUS_PER_NODE:-0}" | sort -n | sed '2,$d; s/[^0-9].*//')
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "too few CPUs per node: $cpus, not $1 x $2 (ranks x threads)" \
            'threads slow each other down on one CPU' 'ask for fewer threads'
}

launch() { # PROGRAM ARGUMENT...: in the background, where bash would ignore INT and QUIT
    if [ -n "${row_cpus:-}" ]; then
        if declare -F -- "$1" >/dev/null; then
            taskset -pc "$row_cpus" "$BASHPID" >/dev/null 2>&1 || :
        else
            set -- taskset -c "$row_cpus" "$@"
        fi
    fi
    (trap - INT QUIT; declare -F -- "$1" >/dev/null || eval "$cybele_own"'exec "$@"'; "$@") \
        {idle}<&- {ends}<&- &
    local seen count=0 turns=0; payload=$! code=0
    while read -r seen 2>/dev/null <"/proc/$payload/stat" && # `wait` may lose the code at a signal
        [[ $seen != *') Z '* || $((count++)) -eq 0 ]]; do # bash 5.2 may not hear of the end
        read -r -t "0.0$((turns < 180 ? turns++ / 20 : 9))1" -u "$idle" || : # 1 to 91 ms
    done
    wait "$payload" || code=$?; payload='' && return "$code"
}

finish_job() {
    local code=$?
    trap '' HUP INT QUIT TERM ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    write_record "$code"
    exit "$code"
}

write_record() { # CODE [row]: of the job, or of a row without a further process
    local code=$1 state=failed used='' new=$record/.exit.json.$$
    local file=$new
    [ -z "${2:-}" ] || file=$record/exit.json new=${record%/*}/.row-$row_slot
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 598 ] || state=timeout # its time limit less 2 s
    times >"$new"
    read -r -d '' used <"$new" || used=${used//[.,s]/} # such as 1m2.345s four times
    used=${used//m/*60000+10#} && used=$((${used//[[:space:]]/+}))
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%(%s)T,"end":%(%s)T,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$code" "$((code > 128 && code < 193 ? code - 128 : 0))" \
        "$start" -1 "\"host\":\"$here\",\"cpu-milliseconds\":$used" >"$file" &&
        [ "$file" = "$new" ] && mv -f -- "$new" "$record/exit.json"
}

forward_signal() {
    if [ "$payload" = rows ]; then
        [ "${#row_processes[@]}" -eq 0 ] || kill -s "$1" "${row_processes[@]}" 2>/dev/null || :
        return 0
    fi
    [ -z "$payload" ] || kill -s "$1" "$payload" 2>/dev/null || :
}

refuse() { # WHAT BECAUSE HELP
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

cybele_own=''; for cybele_name in $(compgen -e -X '*[^[:lower:]_]*'); do # this script may use them:
    [[ $cybele_name == *_proxy* ]] || # programs get these values back
        cybele_own+="unset -v $cybele_name; export $cybele_name=${!cybele_name@Q}; "; done
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
name=learn ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} row_processes=()
exec {idle}<> <(:) # never has a line: to read it is to wait
printf -v start '%(%s)T' -2
trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # else some end it with code 0
    trap -- "forward_signal $signal" "$signal"
done
trap finish_job EXIT
main "$@"
