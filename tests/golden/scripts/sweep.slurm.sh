#!/bin/bash
#SBATCH --nodes=1
#SBATCH --job-name=learn
#SBATCH --ntasks=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=1
#SBATCH --time=00:10:00
#SBATCH --array=0-4%2
#SBATCH --dependency=afterok:123
#SBATCH --output=%x-%A_%a.out
#SBATCH --error=%x-%A_%a.err
#SBATCH --export=ALL
# From sweep.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    array_index=${SLURM_ARRAY_TASK_ID:-}
    be_element
    start_once "${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-}}"
    choose_row "$array_index"

    export {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1 SEED="$CYBELE_SWEEP_seed"
    echo 'cybelectl: job learn, 1 node, 1 rank, 1 thread each, no image' >&2
    launch train --lr "$CYBELE_SWEEP_lr" --name=r"$CYBELE_ARRAY_INDEX"-"$CYBELE_SWEEP_seed"
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:4ef6f9ed9e4aa8fe25677eb741a98643b48b5431f9f7bdf67c4a633e4f652dc1, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
}

be_element() {
    [ -n "$array_index" ] || refuse 'this job is not an element of an array' \
        'the scheduler gave no index' 'submit it, do not run it'
    export CYBELE_ARRAY_INDEX=$array_index
    [ -z "$record" ] || record=$record/$array_index
}

start_once() { # ID of the job
    local first file=$record/started/id # with `set -C` only the first job can create it
    [ -n "${CYBELE_JOB:+$1}" ] && (umask 077 && mkdir -p -- "$record/started") || return 0
    (set -C && { echo "$1" || :; } >"$file") 2>/dev/null || [ -s "$file" ] || sleep 1
    read -r first <"$file" || : # still empty: the disk was full
    [ "${first:-$1}" != "$1" ] || return 0
    echo "cybelectl: job $CYBELE_JOB was submitted two times; this second one ends" >&2
    record='' && exit 0 # the first one writes the record
}

choose_row() { # NUMBER: the values of the sweep's row
    case $1 in
        0) set -- 0.1 1 ;;
        1) set -- 0.1 2 ;;
        2) set -- 0.1 3 ;;
        3) set -- 'a b' 1 ;;
        4) set -- 'a b' 3 ;;
        *) refuse "the sweep has no row $1" 'it has 5 rows, from 0' 'submit it again' ;;
    esac
    export CYBELE_SWEEP_lr="${1}" CYBELE_SWEEP_seed="${2}"
}

launch() { # PROGRAM ARGUMENT...: in the background, not ignoring INT and QUIT
    (trap - INT QUIT; declare -F -- "$1" >/dev/null || eval "$cybele_own"'exec "$@"'; "$@") \
        {idle}<&- &
    local seen count=0 turns=0; payload=$! code=0
    while read -r seen 2>/dev/null <"/proc/$payload/stat" && # `wait` may lose it at a signal
        [[ $seen != *') Z '* || $((count++)) -eq 0 ]]; do # bash 5.2 may not hear of the end
        read -r -t "0.0$((turns < 180 ? turns++ / 20 : 9))1" -u "$idle" || : # 1 to 91 ms
    done
    wait "$payload" || code=$?; payload='' && return "$code"
}

finish_job() {
    local code=$? state=failed used='' new=$record/.exit.json.$$
    trap '' HUP INT QUIT TERM ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 598 ] || state=timeout # 2 s before the limit
    times >"$new"
    read -r -d '' used <"$new" || used=${used//[.,s]/} # such as 1m2.345s four times
    used=${used//m/*60000+10#} && used=$((${used//[[:space:]]/+}))
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%(%s)T,"end":%(%s)T,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$code" "$((code > 128 && code < 193 ? code - 128 : 0))" \
        -2 -1 "\"host\":\"$here\",\"cpu-milliseconds\":$used" >"$new" &&
        mv -f -- "$new" "$record/exit.json"
    exit "$code"
}

refuse() { # WHAT BECAUSE HELP
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

cybele_own='' # for programs: variables whose names this script may use
for cybele_name in $(compgen -e -X '*[^[:lower:]_]*'); do
    [[ $cybele_name == *_proxy* ]] ||
        cybele_own+="unset -v $cybele_name; export $cybele_name=${!cybele_name@Q}; "; done
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
name=learn ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}}
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
