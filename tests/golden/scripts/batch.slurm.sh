#!/bin/bash
#SBATCH --job-name=Batch_1
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8
#SBATCH --time=01:00:00
#SBATCH --array=0-9
# Rendered by cybelectl for slurm, template set VERSION.
# Job Batch_1, sha256:f5a91b283478865dc89b4a5739ae754b688aa79a1e751292dc6da073b164f994
set -euo pipefail

# --- Variables of the submission that have the names of this script's own: the user's script gets them as they were
declare -A cybele_own=()
for cybele_name in array_index candidate candidates code directory_of_job directory_of_script ended file files folder hosts \
    image inside job_number kept module modules name nodes options pause payload place private probe record runtime \
    scheduler_id start submit_directory time_limit turns used variable verified workdir workdir_is_set; do
    if [ -n "${!cybele_name+x}" ]; then
        cybele_own[$cybele_name]=${!cybele_name}
        unset -v "$cybele_name"
    fi
done
run_script() { # SHELL WORD...
    set +eu
    for cybele_name in "${!cybele_own[@]}"; do
        export "$cybele_name=${cybele_own[$cybele_name]}"
    done
    exec "$@"
}

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=Batch_1
time_limit=3600 # seconds; 0: not known
printf -v start '%(%s)T' -1
payload=''
private=''
record='' # the folder of exit.json
case ${CYBELE_JOB:-} in
    *[!0-9a-f-]*) unset -v CYBELE_JOB ;;
esac
if [ -n "${CYBELE_JOB:-}" ]; then
    record=${CYBELE_JOB_DIR:-}
fi
ended=no

refuse() { # WHAT BECAUSE HELP
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$1" "$2" "$3" >&2
    exit 1
}

make_record() {
    [ -n "$record" ] && { [ -d "$record" ] || (umask 077 && mkdir -p -- "$record"); }
}

write_record() { # CODE
    local state=failed signal=0 end_time host_name new=$record/.exit.json.$$
    if [ "$ended" = yes ]; then
        state=cancelled
        if [ "$time_limit" -gt 0 ] && [ "$SECONDS" -ge "$((time_limit - 2))" ]; then
            state=timeout
        fi
    elif [ "$1" -eq 0 ]; then
        state='done'
    fi
    if [ "$1" -gt 128 ] && [ "$1" -le 192 ]; then
        signal=$(($1 - 128))
    fi
    if make_record; then
        umask 077
        printf -v end_time '%(%s)T' -1
        read -r host_name </proc/sys/kernel/hostname || host_name=$(uname -n)
        printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%d,"end":%d,"host":"%s"}\n' \
            "${CYBELE_JOB:-}" "$state" "$1" "$signal" "$start" "$end_time" "$host_name" \
            >"$new" && mv -f -- "$new" "$record/exit.json"
    fi
}

tear_down() { # CODE
    export CYBELE_CODE=$1
    if true; then
        /bin/bash -c 'rm -f lock' || :
    fi
}

finish() {
    local code=$? process
    trap - EXIT
    trap '' TERM INT HUP USR1 USR2
    if declare -F stop_daemons >/dev/null; then
        stop_daemons || :
    fi
    for process in $(jobs -p); do
        kill "$process" 2>/dev/null || :
    done
    tear_down "$code"
    if [ -n "$private" ]; then
        rm -rf -- "$private" || :
    fi
    write_record "$code" || :
    exit "$code"
}
trap finish EXIT

forward() { # SIGNAL
    if [ -n "$payload" ]; then
        kill -s "$1" "$payload" 2>/dev/null || :
    elif [ "$1" = TERM ]; then
        exit 143
    fi
}
# A process in the background ignores INT, so it gets TERM instead.
trap 'ended=yes; forward TERM' TERM INT HUP
trap 'forward USR1' USR1
trap 'forward USR2' USR2

exec {idle}<> <(:) # nothing ever comes here: a pause that starts no process
rest() { # SECONDS; before bash 5.2, an alarm that comes just before the read is lost, and the read lasts for ever
    if [ "$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))" -ge 502 ]; then
        read -r -t "$1" -u "$idle" || :
    else
        sleep "$1" || :
    fi
}

run() { # PROGRAM ARGUMENT...: in the background, since a trap waits for what runs in front
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
    payload=$!
    # Not by `wait`: a signal that comes as the program ends makes bash lose the program's code.
    while kill -0 "$payload" 2>/dev/null; do
        rest "$pause"
        turns=$((turns + 1)) pause=0.01
        [ "$turns" -lt 50 ] || pause=0.2
    done
    code=0
    wait "$payload" || code=$?
    payload=''
}

check() { # PROGRAM ARGUMENT...: before the program; told to end meanwhile, the job ends
    run "$@"
    if [ "$ended" = yes ]; then
        exit 143
    fi
}

# --- Slurm
submit_directory=${SLURM_SUBMIT_DIR:-$PWD}
job_number=${SLURM_JOB_ID:-}
array_index=${SLURM_ARRAY_TASK_ID:-}

# --- Where it runs
cd -- "$submit_directory" ||
    refuse "cannot enter '$submit_directory' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
if [ -z "$record" ] && [ -n "${CYBELE_JOB:-$job_number}" ]; then
    record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$job_number}
fi
if [ -z "$array_index" ]; then
    refuse 'this job is no element of an array' 'the scheduler gave no index' 'submit it, do not run it'
fi
export CYBELE_ARRAY_INDEX=$array_index
if [ -n "$record" ]; then
    record=$record/$array_index # each element has its own
fi
export -n CYBELE_JOB CYBELE_JOB_DIR # a job that this one submits is another
scheduler_id=${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-${PBS_JOBID:-}}}
if [ -n "${CYBELE_JOB:-}" ] && [ -n "$scheduler_id" ] && make_record; then
    if mkdir -- "$record/started" 2>/dev/null; then
        printf '%s\n' "$scheduler_id" >"$record/started/id" || :
    elif [ "$(cat -- "$record/started/id" 2>/dev/null)" != "$scheduler_id" ]; then
        printf 'cybelectl: job %s was submitted twice; this second one does nothing\n' "$CYBELE_JOB" >&2
        record=''
        exit 0
    fi
fi

# --- Modules of the site; their code knows no strict mode
set +eu
if ! type module >/dev/null 2>&1; then
    for file in /etc/profile.d/lmod.sh /etc/profile.d/modules.sh /etc/profile.d/z00_lmod.sh; do
        if [ -r "$file" ]; then
            # shellcheck source=/dev/null
            . "$file"
            break
        fi
    done
fi
modules=(gcc/12)
for module in "${modules[@]}"; do
    module load "$module" || refuse "cannot load the module '$module'" \
        "it is not there on $(uname -n), or there are no modules" 'correct the modules of the Job or the Site'
done
set -eu

# --- Set-up; its code knows no strict mode, and may change the directory for a script
directory_of_job=$PWD
set +euo pipefail
eval 'export LEVEL=3
'
set -euo pipefail
directory_of_script=$PWD
cd -- "$directory_of_job"

# --- A folder for the files of the script, on a file system that all its nodes share where they need it
place=${TMPDIR:-/tmp}
private=$(umask 077 && mktemp -d "$place/.cybelectl-batch.XXXXXX")

# --- Environment of the script

# --- The script, as the Job has it
sed 's/^|//' >"$private/script" <<'END-OF-SCRIPT'
|for part in 1 2; do
|    srun ./run "$1" &
|done
|#SBATCH --mem=3
|wait
END-OF-SCRIPT
cd -- "$directory_of_script"
# shellcheck disable=SC2016 # words of the job are taken literally
run run_script /bin/bash -l "$private/script" 'a b' '$HOME'
[ "$code" -eq 0 ] || exit "$code"
