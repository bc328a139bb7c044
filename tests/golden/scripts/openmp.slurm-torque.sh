#!/bin/bash
#PBS -N stencil
#PBS -l select=1:ncpus=4:mpiprocs=1:mem=1500mb
#PBS -l walltime=01:30:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# Rendered by cybelectl for slurm-torque, template set VERSION.
# Job stencil, sha256:fbbbce8cf2bab952e4bbae6be63dfab6251a880d8bd9d10b4631b2c26f767a93
set -euo pipefail

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=stencil
time_limit=5400 # seconds; 0: not known
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

used=0 # milliseconds of the processor, of this shell and of all that it waited for
measure() { # FILE: what `times` wrote
    local word
    local -a words=()
    read -r -d '' -a words <"$1" || :
    for word in "${words[@]}"; do
        if [[ $word =~ ^([0-9]+)m([0-9]+)[.,]([0-9]+)s$ ]]; then # 1m2.345s
            used=$((used + BASH_REMATCH[1] * 60000 + BASH_REMATCH[2] * 1000 + 10#${BASH_REMATCH[3]}))
        fi
    done
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
        times >"$new" && measure "$new"
        printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%d,"end":%d,"host":"%s","cpu-milliseconds":%d}\n' \
            "${CYBELE_JOB:-}" "$state" "$1" "$signal" "$start" "$end_time" "$host_name" "$used" \
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
    "$@" {idle}<&- &
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

# --- Slurm, submitted by its qsub
submit_directory=${SLURM_SUBMIT_DIR:-$PWD}
job_number=${SLURM_JOB_ID:-}
export SLURM_EXPORT_ENV=ALL # a step sees what the script has set

cpus_of_poorest_node() { # SLURM_JOB_CPUS_PER_NODE is like 4(x2),2
    local group poorest=0 cpus=${SLURM_JOB_CPUS_PER_NODE:-}
    for group in ${cpus//,/ }; do
        group=${group%%(*}
        if [ "$poorest" -eq 0 ] || [ "$group" -lt "$poorest" ]; then
            poorest=$group
        fi
    done
    echo "$poorest"
}

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
image='images/sten cil.sif'
case $image in
    /*) ;;
    *) image=$PWD/$image ;;
esac
if [ ! -r "$image" ]; then
    refuse "cannot read the image '$image' on $(uname -n)" \
        'it is not there, or may not be read' 'put it on a file system that all nodes share'
fi

# --- What was allotted
nodes=1
ranks=1
ranks_per_node=1
threads=4
available=$(cpus_of_poorest_node)
if [ "$available" -gt 0 ] && [ "$((ranks_per_node * threads))" -gt "$available" ]; then
    refuse "$ranks_per_node ranks a node with $threads threads each do not fit on $available CPUs" \
        'more processes than CPUs slow every one of them down' \
        'ask for fewer threads'
fi

# --- Environment of the program
# Of the host's own settings these would mislead what runs in the container.
unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
export OMP_NUM_THREADS=4
export MKL_NUM_THREADS=4
export OPENBLAS_NUM_THREADS=4
export BLIS_NUM_THREADS=4
export NUMEXPR_NUM_THREADS=4
export OMP_PLACES=cores
export OMP_PROC_BIND=spread
export LABEL='a b,c'
export LEVEL=3
file="$HOME"/.token
if [ ! -r "$file" ]; then
    refuse "cannot read '$file' on $(uname -n)" 'the job'\''s environment takes TOKEN from it' 'put it there, readable to you alone'
fi
TOKEN=$(<"$file")
export TOKEN
options=(
    --env OMP_NUM_THREADS=4
    --env MKL_NUM_THREADS=4
    --env OPENBLAS_NUM_THREADS=4
    --env BLIS_NUM_THREADS=4
    --env NUMEXPR_NUM_THREADS=4
    --env OMP_PLACES=cores
    --env OMP_PROC_BIND=spread
    --env LEVEL=3
    -B "$HOME"/data:/data:ro
    -B /scratch
)

# --- The launch; the words are the job's own, as it gave them
contained=("$runtime" exec "${options[@]}" "$image")
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
program=("${contained[@]}" env 'LABEL=a b,c' stencil --size 4096)
printf 'cybelectl: job %s, %s nodes, %s ranks, %s threads each, MPI of the host %s, of the image %s, image %s\n' \
    "$name" "$nodes" "$ranks" "$threads" unknown unknown 'as found' >&2
run "${program[@]}"
[ "$code" -eq 0 ] || exit "$code"
