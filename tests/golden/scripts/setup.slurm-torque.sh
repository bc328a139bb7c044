#!/bin/bash
#PBS -N setup
#PBS -l select=2:ncpus=2:mpiprocs=2
#PBS -l walltime=01:00:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# From setup.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

# shellcheck disable=SC2016,SC2054 # words of the Job are literal
main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    start_once "${SLURM_JOB_ID:-}"
    export SLURM_EXPORT_ENV=ALL # variables for srun, which mpirun calls, too

    enter_setup
    set +euo pipefail # the set-up knows no strict mode
    # shellcheck source=/dev/null
    . /dev/fd/9 9<<'END-OF-SETUP'
export DATA=/tmp/data

cybele_read=yes
END-OF-SETUP
    # bash leaves a text with a syntax error with 2.
    [ $? -ne 2 ] || [ -n "${cybele_read:-}" ] ||
        refuse 'the set-up has a syntax error' 'bash could not read it to its end' \
            'correct `setup`; the message of bash is above'
    cybele_read=''
    set -euo pipefail
    leave_setup

    set_up_nodes 'mkdir -p $DATA && cp input/* $DATA/'

    enter_setup
    set +euo pipefail # the set-up knows no strict mode
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
    leave_setup

    need_cpus 2 1 # per node: ranks, threads of each

    export {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    launcher=(mpirun -np 4 --map-by ppr:2:node:PE=1 --bind-to core)
    echo 'cybelectl: job setup, 2 nodes, 4 ranks, 1 thread each,' 'no image' >&2
    check_launcher
    # no check of the ranks: no program for it is known in the image
    launch "${launcher[@]}" ./model
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:c9b0cb3a7873bb26b5f4c1b85c0630f8b5444c0a5b7a55096f6b9b1e9e82c7cb, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
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

set_up_nodes() { # CODE: once on each node, in a process of its own
    code_on_nodes "$1" || refuse 'the set-up failed on a node' 'the node and its code stand above' \
        'correct the item of the set-up that runs on each node'
}

set_up_node() { # CODE
    /bin/bash -ec "$1" </dev/null || {
        set -- $?
        echo "cybelectl: the set-up on $(uname -n) ended with code $1" >&2
        return "$1"
    }
}

code_on_nodes() { # CODE
    (
        eval "$cybele_own"
        exec srun --mpi=none --export=ALL --nodes="$SLURM_JOB_NUM_NODES" \
            --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 \
            /bin/bash -c "$(declare -f set_up_node); set_up_node \"\$1\"" setup "$1"
    )
}

need_cpus() { # RANKS THREADS
    cpus=$(tr , '\n' <<<"${SLURM_JOB_CPUS_PER_NODE:-0}" | sort -n | sed '2,$d; s/[^0-9].*//')
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "too few CPUs per node: $cpus, not $1 x $2 (ranks x threads)" \
            'threads slow each other down on one CPU' 'ask for fewer, or set launch.oversubscribe'
}

check_launcher() {
    [ "$EUID" -ne 0 ] || refuse 'mpirun does not start programs as root' \
        'the Job does not allow it' 'set launch.allow-root if root is meant'
    command -v "${launcher[0]}" >/dev/null || refuse "there is no ${launcher[0]} on $here" \
        'it starts the ranks' 'load its module, or name it in the Site'
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
    local code=$? state=failed new=$record/.exit.json.$$
    trap '' HUP INT QUIT TERM ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || state=cancelled
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
name=setup ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}}
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
