#!/bin/bash
#PBS -N Batch_1
#PBS -l nodes=1:ppn=8
#PBS -l walltime=01:00:00
#PBS -t 0-9
#PBS -p 5
# From batch.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

# shellcheck disable=SC2016,SC2054 # words of the Job are literal
main() {
    need_torque_job
    array_index=${PBS_ARRAYID:-}
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    be_element
    start_once "${PBS_JOBID:-}"
    load_modules gcc/12

    directory_of_job=$PWD
    set +euo pipefail # the set-up knows no strict mode, and may change the directory for the script
    # shellcheck source=/dev/null
    . /dev/fd/9 9<<'END-OF-SETUP'
export LEVEL=3
END-OF-SETUP
    set -euo pipefail
    directory_of_script=$PWD
    cd -- "$directory_of_job"

    make_private_folder

    # The script, as the Job has it.
    sed 's/^|//' >"$private/script" <<'END-OF-SCRIPT'
|for part in 1 2; do
|    srun ./run "$1" &
|done
|#SBATCH --mem=3
|wait
END-OF-SCRIPT

    cd -- "$directory_of_script"
    launch run_script /bin/bash -l "$private/script" 'a b' '$HOME'
}

tear_down() { # CODE
    export CYBELE_CODE=$1
    if true; then
        /bin/bash -c 'rm -f lock' || :
    fi
}

# ---- What main calls, the same in each script: see `cybelectl explain scripts` ----
# sha256:f5a91b283478865dc89b4a5739ae754b688aa79a1e751292dc6da073b164f994, templates VERSION

enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
    [ -n "$record" ] || [ -z "${CYBELE_JOB:-$2}" ] || record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}
    export -n CYBELE_JOB CYBELE_JOB_DIR # a job that this one submits is another
}

need_torque_job() { # [NODES]
    job_number=${PBS_JOBID:-local}
    job_number=${job_number%%[.[]*} # of an array, also for its elements
    if [ -z "${PBS_O_WORKDIR:-}" ] || [ ! -r "${PBS_NODEFILE:-}" ]; then
        refuse 'this is no job of TORQUE' 'PBS_O_WORKDIR or PBS_NODEFILE is not there' \
            'submit it with qsub'
    fi
}

be_element() { # of an array: each has a record of its own
    [ -n "$array_index" ] || refuse 'this job is no element of an array' \
        'the scheduler gave no index' 'submit it, do not run it'
    export CYBELE_ARRAY_INDEX=$array_index
    [ -z "$record" ] || record=$record/$array_index
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

load_modules() { # NAME...; their code knows no strict mode
    local file module
    set +eu
    if ! type module >/dev/null 2>&1; then
        for file in /etc/profile.d/{lmod,modules,z00_lmod}.sh; do
            if [ -r "$file" ]; then
                # shellcheck source=/dev/null
                . "$file"
                break
            fi
        done
    fi
    for module in "$@"; do
        module load "$module" || refuse "cannot load the module '$module'" \
            "it is not there on $(uname -n), or there are no modules" \
            'correct the modules of the Job or the Site'
    done
    set -eu
}

set_aside_variables() { # of the submission that have this script's names: the user's has them
    declare -gA cybele_own=()
    for cybele_name in array_index code count cpus digest directory_of_job directory_of_script \
        end ended file folder folders format good group host hosts_of_job idle image inside \
        job_number keys key kept mode module name name_passed names nap new nodes options owner \
        pause payload place private probe process record required runtime said scratch seen signal \
        start state turns used verified verifier word workdir; do
        if [ -n "${!cybele_name+x}" ]; then
            cybele_own[$cybele_name]=${!cybele_name}
            unset -v "$cybele_name"
        fi
    done
}

run_script() { # SHELL WORD...
    set +eu
    for cybele_name in "${!cybele_own[@]}"; do
        unset -v "$cybele_name" # an array would not be exported
        export "$cybele_name=${cybele_own[$cybele_name]}"
    done
    exec "$@"
}

make_private_folder() { # where all nodes of the job share it, if the script needs that
    local place=${TMPDIR:-/tmp}
    private=$(umask 077 && mktemp -d "$place/.cybelectl-batch.XXXXXX")
}

launch() { # PROGRAM ARGUMENT...: in the background, since a trap waits for what runs in front
    local pause=0.003 turns=0
    # In the background a program ignores INT and QUIT, unless its shell takes that back.
    (
        trap - INT QUIT
        if declare -F -- "$1" >/dev/null; then
            "$@"
        else
            exec "$@"
        fi
    ) {idle}<&- &
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
    tear_down "$code"
    [ -z "$private" ] || rm -rf -- "$private" || :
    write_record "$code" || :
    exit "$code"
}

write_record() { # CODE: exit.json appears when it is complete
    local state=failed signal=0 end host used=0 new=$record/.exit.json.$$
    [ "$1" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 3598 ] || state=timeout
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

set_aside_variables
name=Batch_1 ended=no payload='' record='' private=''
printf -v start '%(%s)T' -1
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
[ -z "${CYBELE_JOB:-}" ] || record=${CYBELE_JOB_DIR:-}
trap finish_job EXIT
# A program in the background ignores INT, so it gets TERM.
trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' INT HUP
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # which all processes of the job have
trap 'forward_signal USR1' USR1
trap 'forward_signal USR2' USR2
exec {idle}<> <(:) # nothing ever comes here
main "$@"
