#!/bin/bash
#SBATCH --job-name=batch-image
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=1
#SBATCH --output=run.log
# Rendered by cybelectl for slurm, template set VERSION.
# Job batch-image, sha256:a73c9fbab70556ea3cbe459778fe32d8b25d8ca66b17045f6e0823455dbf364c
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
name=batch-image
time_limit=0 # seconds; 0: not known
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

# --- Where it runs
cd -- "$submit_directory" ||
    refuse "cannot enter '$submit_directory' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
if [ -z "$record" ] && [ -n "${CYBELE_JOB:-$job_number}" ]; then
    record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$job_number}
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

# --- The container runtime and the image
runtime=''
candidates=(apptainer singularity cybelectl)
for candidate in "${candidates[@]}"; do
    if runtime=$(command -v "$candidate"); then
        break
    fi
    runtime=''
done
if [ -z "$runtime" ]; then
    refuse "there is no container runtime on $(uname -n)" \
        'looked for apptainer, singularity, cybelectl' \
        'install one, or name its path in the Site (runtime)'
fi
image=solver.sif
case $image in
    /*) ;;
    *) image=$PWD/$image ;;
esac
if [ ! -r "$image" ]; then
    refuse "cannot read the image '$image' on $(uname -n)" \
        'it is not there, or may not be read' 'put it on a file system that all nodes share'
fi

# --- A folder for the files of the script, on a file system that all its nodes share where they need it
place=${TMPDIR:-/tmp}
nodes=${SLURM_JOB_NUM_NODES:-1}
if [ -r "${PBS_NODEFILE:-}" ]; then
    nodes=$(sort -u "$PBS_NODEFILE" | grep -c . || :)
fi
if [ "$nodes" -gt 1 ] || { [ -w "$PWD" ] && [[ $PWD != *[[:space:]]* ]]; }; then
    place=$PWD
fi
private=$(umask 077 && mktemp -d "$place/.cybelectl-batch.XXXXXX")

# --- Environment of the script
export LEVEL=3
export ODD='a, b'
file="$HOME"/key
if [ ! -r "$file" ]; then
    refuse "cannot read '$file' on $(uname -n)" 'the job'\''s environment takes KEY from it' 'put it there, readable to you alone'
fi
KEY=$(<"$file")
export KEY

# --- Programs for the script: $CYBELE_CONTAINER starts the image, $CYBELE_GUARD asks its MPI
options=(
    --nv
    --env LEVEL=3
    -B /data
)
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
inside=(env 'ODD=a, b' )
probe=/opt/cybelectl/bin/mpi-probe
{
    printf '#!/bin/bash\n'
    declare -p runtime image options inside
    cat <<'END-OF-CONTAINER'
# PROGRAM ARGUMENT...; without words the image's own runscript
unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
file="$HOME"/key
if ! printenv KEY >/dev/null && [ -r "$file" ]; then # on another node
    KEY=$(<"$file")
    export KEY
fi
# Ranks in user namespaces of their own may not copy from each other's memory.
if [ "$(id -u)" -ne 0 ] && [ "${runtime##*/}" != cybelectl ]; then
    export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"
    export OMPI_MCA_smsc="${OMPI_MCA_smsc:-^cma}" UCX_TLS="${UCX_TLS:-^cma}"
    export UCX_POSIX_USE_PROC_LINK="${UCX_POSIX_USE_PROC_LINK:-n}" MPIR_CVAR_CH4_CMA_ENABLE="${MPIR_CVAR_CH4_CMA_ENABLE:-0}"
fi
if [ "$#" -eq 0 ] && [ "${#inside[@]}" -eq 0 ]; then
    exec "$runtime" run "${options[@]}" "$image"
fi
[ "$#" -gt 0 ] || set -- /.singularity.d/runscript
exec "$runtime" exec "${options[@]}" "$image" "${inside[@]}" "$@"
END-OF-CONTAINER
} >"$private/container"
export CYBELE_CONTAINER=$private/container
{
    printf '#!/bin/bash\n'
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
timeout -k 5 60 "$@" "$CYBELE_CONTAINER" "$probe" >"$folder/answers" 2>"$folder/errors" || code=$?
started=$(grep -c '^cybelectl-probe rank [0-9]* of ' "$folder/answers")
seen=$(sed -n 's/^cybelectl-probe rank \([0-9]*\) of \([0-9]*\) host .*/\1 \2/p' "$folder/answers" |
    sort -u | grep -c " $started\$")
if [ "$code" -ne 0 ] || [ "$started" -eq 0 ] || [ "$seen" -ne "$started" ]; then
    cat -- "$folder/errors" >&2
    printf 'error: %s ranks were started, and %s of them see each other (code %s)\n' "$started" "$seen" "$code" >&2
    printf 'because: the MPI of the image and the launcher do not match: %s\n' "$*" >&2
    printf 'help: start the ranks with an MPI of the family of the image\n' >&2
    exit 1
fi
END-OF-GUARD
} >"$private/guard"
export CYBELE_GUARD=$private/guard
chmod 700 -- "$CYBELE_CONTAINER" "$CYBELE_GUARD"

# --- The script, as the Job has it
cat >"$private/script" <<'END-OF-SCRIPT'
"$CYBELE_GUARD" srun && srun "$CYBELE_CONTAINER" solve
END-OF-SCRIPT
# shellcheck disable=SC2016 # words of the job are taken literally
run run_script /bin/bash "$private/script"
[ "$code" -eq 0 ] || exit "$code"
