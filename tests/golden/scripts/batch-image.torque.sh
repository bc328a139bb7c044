#!/bin/bash
#PBS -N batch-image
#PBS -l nodes=2:ppn=4:gpus=1
#PBS -o run.log
# From batch-image.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_torque_job
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    start_once "${PBS_JOBID:-}"
    use_image "$PWD"/solver.sif apptainer singularity cybelectl
    make_private_folder

    options=(--nv -B /data)
    export ODD='a, b'
    set_variables LEVEL=3
    read_secret KEY "$HOME"/key
    write_programs # $CYBELE_CONTAINER starts the image, $CYBELE_GUARD asks its MPI

    # The script, as the Job has it.
    cat >"$private/script" <<'END-OF-SCRIPT'
"$CYBELE_GUARD" srun && srun "$CYBELE_CONTAINER" solve
END-OF-SCRIPT

    launch run_script /bin/bash "$private/script" "$@"
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:a73c9fbab70556ea3cbe459778fe32d8b25d8ca66b17045f6e0823455dbf364c, templates VERSION
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

set_variables() { # NAME=VALUE...: here and in the container
    export "${@?}" # the ? is for shellcheck
    options+=("${@/#/--env=}")
}

read_secret() { # VARIABLE FILE
    [ -r "$2" ] || refuse "cannot read '$2' on $here" \
        "the job's environment sets $1 from it" 'put it there, readable to you alone'
    printf -v "$1" %s "$(<"$2")"
    cybele_own+="export $1=${!1@Q}; "
    export "${1?}"
}

run_script() { # SHELL WORD...
    set +eu
    eval "$cybele_own"
    exec "$@"
}

make_private_folder() { # where all nodes of the job share it, if the script needs that
    local place=${TMPDIR:-/tmp}
    nodes=${SLURM_JOB_NUM_NODES:-1}
    if [ -r "${PBS_NODEFILE:-}" ]; then
        nodes=$(sort -u "$PBS_NODEFILE" | grep -c . || :)
    fi
    if [ "$nodes" -gt 1 ] || { [ -w "$PWD" ] && [[ $PWD != *[[:space:]]* ]]; }; then
        place=$PWD
    fi
    private=$(umask 077 && mktemp -d "$place/.cybelectl-batch.XXXXXX")
}

write_programs() {
    # shellcheck disable=SC2016,SC2054 # words of the Job are literal
    local cybele_runtime=$runtime cybele_image=$image probe=/opt/cybelectl/bin/mpi-probe
    local -a cybele_options=("${options[@]}") cybele_inside=(env 'ODD=a, b')
    {
        echo '#!/bin/bash'
        declare -p cybele_runtime cybele_image cybele_options cybele_inside
        cat <<'END-OF-CONTAINER'
# PROGRAM ARGUMENT...; without words the image's own runscript
unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
cybele_file="$HOME"/key
if ! printenv KEY >/dev/null && [ -r "$cybele_file" ]; then # on another node
    KEY=$(<"$cybele_file")
    export KEY
fi
# Ranks in user namespaces of their own may not copy from each other's memory (cma), or open each
# other's files by /proc (PROC_LINK).
if [ "$(id -u)" -ne 0 ] && [ "${cybele_runtime##*/}" != cybelectl ]; then
    set -a # export what is set here
    : "${OMPI_MCA_btl_vader_single_copy_mechanism:=none}" "${UCX_TLS:=^cma}" \
        "${UCX_POSIX_USE_PROC_LINK:=n}"
    set +a
fi
if [ "$#" -eq 0 ] && [ "${#cybele_inside[@]}" -eq 0 ]; then
    exec "$cybele_runtime" run "${cybele_options[@]}" "$cybele_image"
fi
[ "$#" -gt 0 ] || set -- /.singularity.d/runscript
exec "$cybele_runtime" exec "${cybele_options[@]}" "$cybele_image" "${cybele_inside[@]}" "$@"
END-OF-CONTAINER
    } >"$private/container"
    export CYBELE_CONTAINER=$private/container
    {
        echo '#!/bin/bash'
        declare -p CYBELE_CONTAINER probe
        cat <<'END-OF-GUARD'
# LAUNCHER WORD...: fails unless the ranks that it starts in the image see each other
if [ -z "$probe" ]; then
    echo 'cybelectl: the image has no probe: it is not checked whether its ranks see each other' >&2
    exit 0
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/cybelectl.XXXXXX") || exit 1
trap 'rm -rf -- "$folder"' EXIT
code=0
timeout -k 5 60 "$@" "$CYBELE_CONTAINER" "$probe" \
    >"$folder/answers" 2>"$folder/errors" || code=$?
started=$(grep -c '^cybelectl-probe rank [0-9]* of ' "$folder/answers")
seen=$(sed -n 's/^cybelectl-probe rank \([0-9]*\) of \([0-9]*\) host .*/\1 \2/p' \
    "$folder/answers" | sort -u | grep -c " $started\$")
if [ "$code" -ne 0 ] || [ "$started" -eq 0 ] || [ "$seen" -ne "$started" ]; then
    cat -- "$folder/errors" >&2
    echo "error: $started ranks were started, and $seen of them see each other (code $code)" >&2
    echo "because: the MPI of the image and the launcher do not match: $*" >&2
    echo 'help: start the ranks with an MPI of the family of the image' >&2
    exit 1
fi
END-OF-GUARD
    } >"$private/guard"
    export CYBELE_GUARD=$private/guard
    chmod 700 -- "$CYBELE_CONTAINER" "$CYBELE_GUARD"
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
    rm -rf -- "$private"
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || [ "$ended" = "$code" ] || state=cancelled
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
name=batch-image ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} private=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # sent to each process of the job
trap 'ended=0; [ -n "$payload" ] || exit 143' INT QUIT # a script that ends with 0 is done
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
