#!/bin/bash
#SBATCH --nodes=1
#SBATCH --job-name=hello
#SBATCH --ntasks=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=1
#SBATCH --output=%x-%j.out
#SBATCH --error=%x-%j.err
#SBATCH --export=ALL
# From serial.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

# shellcheck disable=SC2016,SC2054 # words of the Job are literal
main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    start_once "${SLURM_JOB_ID:-}"
    export SLURM_EXPORT_ENV=ALL # a step sees what the script has set

    export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
    export NUMEXPR_NUM_THREADS=1

    echo 'cybelectl: job hello, 1 node, 1 rank, 1 thread each,' \
        'MPI of the host unknown, of the image none, image none' >&2
    launch /bin/echo 'it'\''s $HOME; *' ''
}

# ---- What main calls, the same in each script: see `cybelectl explain scripts` ----
# sha256:03dd76148b0b7f42d3f125dd0b9772f135ed09ee8e14d00d68f2d834ea396298, templates VERSION

enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
    [ -n "$record" ] || [ -z "${CYBELE_JOB:-$2}" ] || record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}
    export -n CYBELE_JOB CYBELE_JOB_DIR # a job that this one submits is another
}

start_once() { # ID: a job that was submitted two times runs once
    [ -n "${CYBELE_JOB:-}" ] && [ -n "$1" ] && make_record || return 0
    if mkdir -- "$record/started" 2>/dev/null; then
        echo "$1" >"$record/started/id" || :
    elif [ "$(cat -- "$record/started/id" 2>/dev/null)" != "$1" ]; then
        echo "cybelectl: job $CYBELE_JOB was submitted twice; this second one does nothing" >&2
        record=''
        exit 0
    fi
}

launch() { # PROGRAM ARGUMENT...: in the background, since a trap waits for what runs in front
    local pause=0.003 turns=0
    "$@" {idle}<&- &
    payload=$! code=0
    # Not by `wait`: a signal that comes as the program ends makes bash lose the program's code.
    while kill -0 "$payload" 2>/dev/null; do
        if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 502)); then
            sleep "$pause" || : # `read` could miss its alarm, and never end
        else
            read -r -t "$pause" -u "$idle" || : # a pause that starts no process
        fi
        turns=$((turns + 1)) pause=0.01
        [ "$turns" -lt 50 ] || pause=0.2
    done
    wait "$payload" || code=$?
    payload=''
    return "$code" # the job's
}

forward_signal() {
    [ -z "$payload" ] || kill -s "$1" "$payload" 2>/dev/null || :
}

finish_job() { # on every way out but KILL
    local code=$? process
    trap - EXIT
    trap '' TERM INT HUP USR1 USR2
    for process in $(jobs -p); do
        kill "$process" 2>/dev/null || :
    done
    write_record "$code" || :
    exit "$code"
}

write_record() { # CODE: exit.json appears when it is complete
    local state=failed signal=0 end host used=0 new=$record/.exit.json.$$
    [ "$1" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$1" -le 128 ] || [ "$1" -gt 192 ] || signal=$(($1 - 128))
    make_record || return
    umask 077
    printf -v end '%(%s)T' -1
    read -r host </proc/sys/kernel/hostname || host=$(uname -n)
    times >"$new" && measure_cpu_time "$new"
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%d,"end":%d,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$1" "$signal" "$start" "$end" \
        "\"host\":\"$host\",\"cpu-milliseconds\":$used" >"$new" &&
        mv -f -- "$new" "$record/exit.json"
}

make_record() { # its folder
    [ -n "$record" ] && { [ -d "$record" ] || (umask 077 && mkdir -p -- "$record"); }
}

measure_cpu_time() { # FILE that `times` wrote: 1m2.345s each, of this shell and what it waited for
    local word format='^([0-9]+)m([0-9]+)[.,]([0-9]+)s$'
    for word in $(<"$1"); do
        [[ $word =~ $format ]] || continue
        used=$((used + BASH_REMATCH[1] * 60000 + 10#${BASH_REMATCH[2]}${BASH_REMATCH[3]}))
    done
}

refuse() { # WHAT BECAUSE HELP
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

name=hello ended=no payload='' record=''
printf -v start '%(%s)T' -1
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
[ -z "${CYBELE_JOB:-}" ] || record=${CYBELE_JOB_DIR:-}
trap finish_job EXIT
# A program in the background ignores INT, so it gets TERM.
trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' TERM INT HUP
trap 'forward_signal USR1' USR1
trap 'forward_signal USR2' USR2
exec {idle}<> <(:) # nothing ever comes here
main "$@"
