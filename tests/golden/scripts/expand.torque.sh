#!/bin/bash
#PBS -N scratch-run
#PBS -l nodes=1:ppn=1
#PBS -l walltime=00:10:00
#PBS -j oe
# From expand.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

# shellcheck disable=SC2016,SC2054 # words of the Job are literal
main() {
    need_torque_job
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    # From here on. What else is written goes into the file of the batch system (-j oe).
    exec >scratch-run-"$job_number".out 2>scratch-run-"$job_number".err
    start_once "${PBS_JOBID:-}"
    need_variables '' PROJECT SCRATCH TMPDIR USER
    need_variables ',:' SCRATCH
    use_image "$PROJECT"/images/app.sif apptainer singularity cybelectl
    make_folders "$SCRATCH"/run
    copy_to_nodes "$TMPDIR"
    cd -- "$SCRATCH"/run || refuse 'cannot enter the workdir' \
        "it is not there on $here, or may not be entered" 'name it under make, too'
    echo "cybelectl: standard output continues in ""$SCRATCH"/out.txt >&2
    exec >"$SCRATCH"/out.txt

    unset -v LD_{PRELOAD,AUDIT} PYTHON{HOME,PATH,STARTUP,USERBASE} PERL5LIB # meant for the host
    options=(-B "$SCRATCH":/data:ro -B "$HOME"/x:/x)
    export CACHE="${SCRATCH:-/tmp}"'/cache of '"$USER"
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    container=("$runtime" exec "${options[@]}" "$image")
    echo 'cybelectl: job scratch-run, 1 node, 1 rank, 1 thread each, no signature required' >&2
    launch with_input "${container[@]}" env CACHE="$CACHE" /bin/sh -c \
        'set -a; LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; shift; exec "$@"' sh \
        "$PROJECT"/lib app --in data
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:eff03062261c3adde2241fe556c461a54d06fc2ac0d8a698b1e6961f14b64729, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
}

need_torque_job() { # job_number is the same for the elements of an array
    job_number=${PBS_JOBID:-local}
    job_number=${job_number%%[.[]*}
    [ -r "${PBS_O_WORKDIR:+${PBS_NODEFILE:-}}" ] || refuse 'this is not a job of TORQUE' \
        'PBS_O_WORKDIR or PBS_NODEFILE is missing' 'submit it with qsub'
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

use_image() { # FILE PROGRAM...: the first program that is here is the runtime
    image=$1
    runtime=$(command -v "${@:2}" | head -n 1) || refuse "there is no container runtime on $here" \
        "looked for ${*:2}" 'install one, or name it in the Site (runtime)'
    [ -r "$image" ] || refuse "cannot read the image '$image' on $here" \
        'it is not there, or not readable' 'move it to a shared file system'
}

need_variables() { # CHARACTERS NAME...: of this node, with none of the characters in its value
    local variable value characters=$1
    for variable in "${@:2}"; do
        value=${!variable:-}
        [ -n "$value" ] || refuse "the variable $variable is not set on $here" \
            'the Job or the Site expands it' "export it in setup, or write \${$variable:-VALUE}"
        [ -z "$characters" ] || [[ $value != *["$characters"]* ]] ||
            refuse "the value of $variable has one of '$characters' on $here: $value" \
                'they separate the parts of binds' 'bind another path'
    done
}

make_folders() { # FOLDER...
    mkdir -p -- "$@" || refuse "cannot make the folders of the Job on $here" \
        'the reason stands above' 'correct make in the Job'
}

copy_to_nodes() { # FOLDER: the image is started from a copy there, on each node
    cybele_copy=$(mkdir -p -- "$1" && umask 077 && mktemp -d "$1/cybelectl-image.XXXXXX") ||
        refuse "cannot make a folder in '$1' on $(uname -n)" \
            'the image is copied there' 'correct image-copy in the Job'
    cp -- "$image" "$cybele_copy/" ||
        refuse "cannot copy the image '$image' to '$1'" \
            'the reason stands above' 'free some space there, or remove image-copy'
    image=$cybele_copy/${image##*/}
}

remove_copies() {
    rm -rf -- "$cybele_copy"
}

with_input() { # PROGRAM WORD...
    exec <in.txt
    eval "$cybele_own"'exec "$@"'
}

set_variables() { # NAME=VALUE...: here and in the container
    export "${@?}" # the ? is for shellcheck
    options+=("${@/#/--env=}")
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
    [ -z "$cybele_copy" ] || remove_copies
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
name=scratch-run ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} cybele_copy=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # sent to each process of the job
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
