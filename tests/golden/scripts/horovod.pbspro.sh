#!/bin/bash
#PBS -N horovod
#PBS -l select=2:ncpus=4:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
# Rendered by cybelectl for pbspro, template set VERSION.
# Job horovod, sha256:98a955ff071212a48015cab1802f7bce8d5fb7353548ba95da468d05414376fa
set -euo pipefail

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=horovod
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

# --- PBS
submit_directory=${PBS_O_WORKDIR:-}
job_number=${PBS_JOBID:-local}
job_number=${job_number%%[.[]*} # of an array, also for its elements
if [ -z "$submit_directory" ] || [ ! -r "${PBS_NODEFILE:-}" ]; then
    refuse 'this is no job of PBS' 'PBS_O_WORKDIR or PBS_NODEFILE is not there' 'submit it with qsub'
fi

cpus_of_poorest_node() { # the node file has a line a rank, so the chunk's own number counts
    echo "${NCPUS:-0}"
}
hosts_of_job=$(sort -u "$PBS_NODEFILE" | grep -c . || :)
if [ "$hosts_of_job" -ne 2 ]; then
    refuse '2 nodes were asked' "the node file names $hosts_of_job" 'ask the centre, or ask for fewer nodes'
fi

# --- Where it runs
cd -- "$submit_directory" ||
    refuse "cannot enter '$submit_directory' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
if [ -z "$record" ] && [ -n "${CYBELE_JOB:-$job_number}" ]; then
    record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$job_number}
fi
exec >horovod-"$job_number".out 2>horovod-"$job_number".err
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
image=horovod.sif
case $image in
    /*) ;;
    *) image=$PWD/$image ;;
esac
if [ ! -r "$image" ]; then
    refuse "cannot read the image '$image' on $(uname -n)" \
        'it is not there, or may not be read' 'put it on a file system that all nodes share'
fi

# --- What was allotted
nodes=2
ranks=4
ranks_per_node=2
threads=2
available=$(cpus_of_poorest_node)
if [ "$available" -gt 0 ] && [ "$((ranks_per_node * threads))" -gt "$available" ]; then
    refuse "$ranks_per_node ranks a node with $threads threads each do not fit on $available CPUs" \
        'more processes than CPUs slow every one of them down' \
        'ask for fewer threads'
fi

# --- Environment of the program
# Of the host's own settings these would mislead what runs in the container.
unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
# These of a user's own would hide from the ranks what their launcher tells them.
unset -v APPTAINER_PID APPTAINER_NET APPTAINER_CONTAIN APPTAINER_CLEANENV APPTAINER_CONTAINALL SINGULARITY_PID SINGULARITY_NET SINGULARITY_CONTAIN SINGULARITY_CLEANENV SINGULARITY_CONTAINALL
export OMP_NUM_THREADS=2
export MKL_NUM_THREADS=2
export OPENBLAS_NUM_THREADS=2
export BLIS_NUM_THREADS=2
export NUMEXPR_NUM_THREADS=2
export HOROVOD_CONTROLLER=mpi
export HOROVOD_CPU_OPERATIONS=mpi
exported=(OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS BLIS_NUM_THREADS NUMEXPR_NUM_THREADS HOROVOD_CONTROLLER HOROVOD_CPU_OPERATIONS)
# Ranks in user namespaces of their own may not copy from each other's memory; root's are in none.
# cybelectl joins a node's ranks in one, and sees to the rest itself.
if [ "$(id -u)" -ne 0 ] && [ "${runtime##*/}" != cybelectl ]; then
    export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"
    export OMPI_MCA_smsc="${OMPI_MCA_smsc:-^cma}" UCX_TLS="${UCX_TLS:-^cma}"
    export UCX_POSIX_USE_PROC_LINK="${UCX_POSIX_USE_PROC_LINK:-n}" MPIR_CVAR_CH4_CMA_ENABLE="${MPIR_CVAR_CH4_CMA_ENABLE:-0}"
    exported+=(OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_smsc UCX_TLS)
    exported+=(UCX_POSIX_USE_PROC_LINK MPIR_CVAR_CH4_CMA_ENABLE)
fi
options=(
    --env OMP_NUM_THREADS=2
    --env MKL_NUM_THREADS=2
    --env OPENBLAS_NUM_THREADS=2
    --env BLIS_NUM_THREADS=2
    --env NUMEXPR_NUM_THREADS=2
    --env HOROVOD_CONTROLLER=mpi
    --env HOROVOD_CPU_OPERATIONS=mpi
)

# --- The launch; the words are the job's own, as it gave them
contained=("$runtime" exec "${options[@]}" "$image")
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
program=("${contained[@]}" python3 train.py)
printf 'cybelectl: job %s, %s nodes, %s ranks, %s threads each, MPI of the host %s, of the image %s, image %s\n' \
    "$name" "$nodes" "$ranks" "$threads" unknown 'openmpi 4.1.4' 'as found' >&2
if [ "$(id -u)" -eq 0 ]; then
    refuse 'mpirun does not start programs as root' 'the job does not allow it' \
        'write allow-root: true under launch where root is meant'
fi
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
launcher=(mpirun -np 4 --map-by ppr:2:node --bind-to none)
command -v "${launcher[0]}" >/dev/null || refuse "there is no ${launcher[0]} on $(uname -n)" \
    'it starts the ranks' "install an MPI, or name the site's with its modules in the Site"
once_a_node=(mpirun -np 2 --map-by ppr:1:node --bind-to none)
hosts=(--hostfile "$PBS_NODEFILE")
for variable in "${exported[@]}"; do
    hosts+=(-x "$variable") # ssh brings no environment to the other nodes
done
launcher=("${launcher[0]}" "${hosts[@]}" "${launcher[@]:1}")
once_a_node=("${once_a_node[0]}" "${hosts[@]}" "${once_a_node[@]:1}")
check "${once_a_node[@]}" test -r "$image"
if [ "$code" -ne 0 ]; then
    refuse "the image '$image' cannot be read on every node" \
        "the check of the $nodes nodes ended with code $code" \
        'put it on a file system that all nodes share'
fi
# The guard: MPI in the container must see all ranks, or N jobs of one rank would compute N times the
# same and end with 0. No exit code shows that, so the image's own MPI is asked.
[ -n "$private" ] || private=$(mktemp -d "${TMPDIR:-/tmp}/cybelectl.XXXXXX")
probe() {
    exec timeout -k 5 60 "${launcher[@]}" "${contained[@]}" /opt/cybelectl/bin/mpi-probe \
        >"$private/answers" 2>"$private/errors"
}
check probe
sed -n 's/^cybelectl-probe rank \([0-9]*\) of \([0-9]*\) host .*/\1 \2/p' "$private/answers" |
    sort -u >"$private/ranks"
good=$(grep -c " $ranks\$" "$private/ranks" || :)
if [ "$code" -ne 0 ] || [ "$good" -ne "$ranks" ]; then
    cat -- "$private/errors" >&2
    started="$ranks ranks were started, but MPI in the container"
    pair='launcher mpirun of Open MPI (host MPI unknown), MPI of the image openmpi 4.1.4'
    remedy='start the ranks with an MPI of the image'\''s family, and let the environment pass (no --cleanenv, no --containall)'
    sizes=$(awk '{print $2}' "$private/ranks" | sort -nu | paste -sd ' ' -)
    case $code:$sizes in
        124:* | 137:*) refuse "$started gave no answer in 60 s" "$pair" "$remedy" ;;
        *:'') refuse "$started did not start (code $code)" "$pair" "$remedy" ;;
        *:"$ranks") refuse "$started reached $good of them only (code $code)" "$pair" "$remedy" ;;
    esac
    refuse "$started sees $sizes" 'nothing of the launcher'\''s PMIx or PMI reached the container: its environment was cleared, or the pair does not match: '"$pair" "$remedy"
fi
run "${launcher[@]}" "${program[@]}"
[ "$code" -eq 0 ] || exit "$code"
