#!/bin/bash
#PBS -N Batch_1
#PBS -l select=1:ncpus=8:mpiprocs=8
#PBS -l walltime=01:00:00
#PBS -t 0-9
# From batch.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

# shellcheck disable=SC2016,SC2054 # words of the Job are literal
main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    array_index=${SLURM_ARRAY_TASK_ID:-}
    be_element
    start_once "${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-}}"
    load_modules gcc/12

    enter_setup
    set +euo pipefail # the set-up knows no strict mode, and may change the directory for the script
    # shellcheck source=/dev/null
    . /dev/fd/9 9<<'END-OF-SETUP'
export LEVEL=3

cybele_read=yes
END-OF-SETUP
    # bash leaves a text with a syntax error with 2.
    [ $? -ne 2 ] || [ -n "${cybele_read:-}" ] ||
        refuse 'the set-up has a syntax error' 'bash could not read it to its end' \
            'correct `setup`; the message of bash is above'
    cybele_read=''
    set -euo pipefail
    cybele_script_folder=$PWD
    leave_setup

    make_private_folder

    # The script, as the Job has it.
    sed 's/^|//' >"$private/script" <<'END-OF-SCRIPT'
|for part in 1 2; do
|    srun ./run "$1" &
|done
|#SBATCH --mem=3
|wait
END-OF-SCRIPT

    cd -- "$cybele_script_folder"
    launch run_script /bin/bash -l "$private/script" 'a b' '$HOME' "$@"
}

tear_down() { # CODE
    export CYBELE_CODE=$1
    if true; then
        (eval "$cybele_own"; exec /bin/bash -c 'rm -f lock') || :
    fi
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:f5a91b283478865dc89b4a5739ae754b688aa79a1e751292dc6da073b164f994, templates VERSION
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

enter_setup() { # modules and set-up find the variables of the submission, …
    declare -gA cybele_values=()
    for cybele_name in name here record idle ended payload private image_folder array_index \
        start submitted job_number; do
        cybele_values[$cybele_name]=${!cybele_name-}
    done
    cybele_folder=$PWD
    for cybele_name in $(declare -F | sed -n 's/^declare -f //p'); do
        readonly -f "$cybele_name" # else a function of that name would replace it
    done
    eval "$cybele_own"
}

leave_setup() { # … and this script its own again
    # shellcheck disable=SC2046 # names
    unset -f $(compgen -b) apptainer singularity cybelectl # the commands are meant
cybele_own='' # for programs: variables whose names this script may use
for cybele_name in $(compgen -e -X '*[^[:lower:]_]*'); do
    [[ $cybele_name == *_proxy* ]] ||
        cybele_own+="unset -v $cybele_name; export $cybele_name=${!cybele_name@Q}; "; done
    for cybele_name in "${!cybele_values[@]}"; do
        printf -v "$cybele_name" %s "${cybele_values[$cybele_name]}"
    done
    cd -- "$cybele_folder"
}

load_modules() { # NAME...; their code knows no strict mode
    enter_setup
    set +eu
    if ! type module >/dev/null 2>&1; then
        for cybele_file in /etc/profile.d/{lmod,modules,z00_lmod}.sh; do
            if [ -r "$cybele_file" ]; then
                # shellcheck source=/dev/null
                . "$cybele_file"
                break
            fi
        done
    fi
    for cybele_module in "$@"; do
        module load "$cybele_module" || refuse "cannot load the module '$cybele_module'" \
            "it is not there on $here, or there are no modules" \
            'correct the modules of the Job or the Site'
    done
    set -eu
    leave_setup
}

run_script() { # SHELL WORD...
    set +eu
    eval "$cybele_own"
    exec "$@"
}

make_private_folder() { # where all nodes of the job share it, if the script needs that
    local place=${TMPDIR:-/tmp}
    private=$(umask 077 && mktemp -d "$place/.cybelectl-batch.XXXXXX")
}

launch() { # PROGRAM ARGUMENT...: in the background, not ignoring INT and QUIT
    (trap - INT QUIT; declare -F -- "$1" >/dev/null || eval "$cybele_own"'exec "$@"'; "$@") \
        <&0 {idle}<&- &
    local seen count=0 turns=0; payload=$! code=0
    while read -r seen 2>/dev/null <"/proc/$payload/stat" && # `wait` may lose it at a signal
        [[ $seen != *') Z '* || $((count++)) -eq 0 ]]; do # bash 5.2 may not hear of the end
        read -r -t "0.0$((turns < 180 ? turns++ / 20 : 9))1" -u "$idle" || : # 1 to 91 ms
    done
    wait "$payload" || code=$?; payload='' && return "$code"
}

finish_job() {
    local code=$? state=failed new=$record/.exit.json.$$
    trap '' HUP INT QUIT TERM ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    tear_down "$code"
    rm -rf -- "$private"
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || [ "$ended" = "$code" ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 3598 ] || state=timeout # 2 s before the limit
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%(%s)T,"end":%(%s)T,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$code" "$((code > 128 && code < 193 ? code - 128 : 0))" \
        -2 -1 "\"host\":\"$here\"" >"$new" && mv -f -- "$new" "$record/exit.json"
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
name=Batch_1 ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} private=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' TERM
for signal in HUP INT QUIT; do # a script that ends with 0 after one of these is done
    trap -- "ended=0; [ \$payload ] || exit 143; kill -$signal \$payload 2>/dev/null || :" "$signal"
done
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
