#!/bin/bash
#PBS -N infer
#PBS -l nodes=1:ppn=1:gpus=2:nvme:ib
#PBS -j oe
# Rendered by cybelectl for torque, template set VERSION.
# Job infer, sha256:70ac7ae5edd477ed3dc36968c803bd022c8fe8f1a8e2739418c3d42911e7c811
set -euo pipefail

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=infer
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
trap 'ended=yes; forward TERM' INT HUP
# The batch system sends TERM to every process of the job; passed on, the program would have it twice.
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM
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

# --- TORQUE
submit_directory=${PBS_O_WORKDIR:-}
job_number=${PBS_JOBID:-local}
job_number=${job_number%%[.[]*} # of an array, also for its elements
if [ -z "$submit_directory" ] || [ ! -r "${PBS_NODEFILE:-}" ]; then
    refuse 'this is no job of TORQUE' 'PBS_O_WORKDIR or PBS_NODEFILE is not there' 'submit it with qsub'
fi

cpus_of_poorest_node() { # a line a slot
    awk '{slots[$1]++} END {for (host in slots) if (!least || slots[host] < least) least = slots[host]
        print least + 0}' "$PBS_NODEFILE"
}
hosts_of_job=$(sort -u "$PBS_NODEFILE" | grep -c . || :)
if [ "$hosts_of_job" -ne 1 ]; then
    refuse '1 nodes were asked' "the node file names $hosts_of_job" 'ask the centre, or ask for fewer nodes'
fi
# TORQUE lists the job's GPUs as HOST-gpuN and sets no variable. Where the nodes differ, all that a node has stay visible.
if [ -r "${PBS_GPUFILE:-}" ]; then
    of_hosts=$(awk '{gpu = $0; sub(/.*-gpu/, "", gpu); sub(/-gpu[0-9]+$/, ""); list[$0] = list[$0] "," gpu}
        END {for (host in list) print substr(list[host], 2)}' "$PBS_GPUFILE" | sort -u)
    if [ "$(wc -l <<<"$of_hosts")" -eq 1 ] && [ -n "$of_hosts" ]; then
        export CUDA_VISIBLE_DEVICES="$of_hosts"
    fi
fi

# --- Where it runs
cd -- "$submit_directory" ||
    refuse "cannot enter '$submit_directory' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
if [ -z "$record" ] && [ -n "${CYBELE_JOB:-$job_number}" ]; then
    record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$job_number}
fi
exec >infer-"$job_number".out 2>infer-"$job_number".err
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
image=infer.sif
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
threads=1
available=$(cpus_of_poorest_node)
if [ "$available" -gt 0 ] && [ "$((ranks_per_node * threads))" -gt "$available" ]; then
    refuse "$ranks_per_node ranks a node with $threads threads each do not fit on $available CPUs" \
        'more processes than CPUs slow every one of them down' \
        'ask for fewer threads'
fi
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || :)
if [ "${gpus:-0}" -lt 2 ]; then
    refuse 'this job needs 2 GPUs on a node' "$(uname -n) has ${gpus:-0}, by nvidia-smi -L" \
        'ask for nodes with GPUs and their driver; the image'\''s Recipe says whose (gpu)'
fi

# --- Environment of the program
# Of the host's own settings these would mislead what runs in the container.
unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
export OMP_NUM_THREADS=1
export MKL_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
options=(
    --nv
    --env OMP_NUM_THREADS=1
    --env MKL_NUM_THREADS=1
    --env OPENBLAS_NUM_THREADS=1
    --env BLIS_NUM_THREADS=1
    --env NUMEXPR_NUM_THREADS=1
)

# --- The launch; the words are the job's own, as it gave them
contained=("$runtime" exec "${options[@]}" "$image")
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
program=("${contained[@]}" infer)
printf 'cybelectl: job %s, %s nodes, %s ranks, %s threads each, MPI of the host %s, of the image %s, image %s\n' \
    "$name" "$nodes" "$ranks" "$threads" unknown unknown 'as found' >&2
run "${program[@]}"
[ "$code" -eq 0 ] || exit "$code"
