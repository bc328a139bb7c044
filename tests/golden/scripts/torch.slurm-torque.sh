#!/bin/bash
#PBS -N wheat-ear
#PBS -l select=2:ncpus=4:mpiprocs=1:mem=8192mb
#PBS -l walltime=01:00:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# From torch.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    start_once "${SLURM_JOB_ID:-}"
    export SLURM_EXPORT_ENV=ALL # a step sees what the script has set
    use_image wheat-ear.sif apptainer singularity cybelectl
    need_cpus 2 2 # of each node: ranks, threads of each

    hide_host_settings
    export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 BLIS_NUM_THREADS=2
    export NUMEXPR_NUM_THREADS=2 LEVEL='a, b'
    options=()
    pass_on OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS BLIS_NUM_THREADS
    pass_on NUMEXPR_NUM_THREADS

    echo 'cybelectl: job wheat-ear, 2 nodes, 4 ranks, 2 threads each,' \
        'MPI of the host unknown, of the image unknown, image as found' >&2
    prepare_nodes
    rendezvous=$first_node:$(free_port "$first_port")
    torch=(python3 -m torch.distributed.run --nnodes=2 --nproc_per_node=2 --max_restarts=0 \
        --rdzv_backend=c10d "--rdzv_endpoint=$rendezvous" "--rdzv_id=$name-$job_token" \
        --redirects=2:1 --tee=2:1 train.py --epochs 3)
    launch on_each_node "$runtime" exec "${options[@]}" "$image" env 'LEVEL=a, b' "${torch[@]}"
}

# ---- What main calls, the same in each script: see `cybelectl explain scripts` ----
# sha256:e0f1d902b6e8b584ee22e01ca6ad01e1c2aa834551cd59525482d12ba38e6363, templates VERSION

enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $(uname -n)" \
        'the directory of submission is not there' 'submit from a directory that all nodes share'
    [ -n "$record" ] || [ -z "${CYBELE_JOB:-$2}" ] || record=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}
    export -n CYBELE_JOB CYBELE_JOB_DIR # a job that this one submits is another
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

use_image() { # FILE PROGRAM...: the first of the programs that is here starts it
    local names
    image=$1
    shift
    names=$(printf ', %s' "$@")
    until runtime=$(command -v "$1"); do
        shift
        [ $# -gt 0 ] || refuse "there is no container runtime on $(uname -n)" \
            "looked for ${names:2}" 'install one, or name its path in the Site (runtime)'
    done
    [ "${image:0:1}" = / ] || image=$PWD/$image
    [ -r "$image" ] || refuse "cannot read the image '$image' on $(uname -n)" \
        'it is not there, or may not be read' 'put it on a file system that all nodes share'
}

need_cpus() { # RANKS THREADS: of each node; no CPU runs two threads
    local cpus
    # SLURM_JOB_CPUS_PER_NODE is like 4(x2),2
    cpus=$(tr , '\n' <<<"${SLURM_JOB_CPUS_PER_NODE:-0}" | sort -n | awk 'NR == 1 {print $1 + 0}')
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "$1 ranks a node with $2 threads each do not fit on $cpus CPUs" \
            'more processes than CPUs slow every one of them down' \
            'ask for fewer threads'
}

hide_host_settings() { # these would mislead what runs in the container
    unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
}

pass_on() { # NAME...: to the container, where its own settings do not count then
    local name_passed
    for name_passed in "$@"; do
        options+=(--env "$name_passed=${!name_passed}")
    done
}

prepare_nodes() { # a private folder that all nodes read, for what they need
    private=$(umask 077 && mktemp -d "$PWD/.cybelectl-$name.XXXXXX")
    export CYBELE_LAUNCH=$private # marks every process of this launch, so that none is left
    first_node=$(uname -n)
    job_token=${SLURM_JOB_ID:-${PBS_JOBID:-${CYBELE_JOB:-$$}}}
    job_token=${job_token%%.*}
    job_token=${job_token//[!A-Za-z0-9]/-}
    job_token=${job_token%-}
    (
        umask 077
        export -p >"$private/environment"
        mkdir "$private/codes"
        : >"$private/state"
    )
    # Two jobs on a node begin at different places, so that they do not race for one port.
    first_port=$((20000 + $(cksum <<<"$job_token" | awk '{print $1}') % 10000))
}

free_port() { # FIRST: the next port that nobody answers at, of 20000 to 29999
    local port=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null ||
        (exec 3<>"/dev/tcp/$first_node/$port") 2>/dev/null; do
        port=$((port < 29999 ? port + 1 : 20000))
    done
    echo "$port"
}

on_each_node() { # PROGRAM WORD...: ends when all have ended, with the first code that is not 0
    local on_node=("$@")
    declare -p PATH name first_node job_token private on_node >"$private/words"
    declare -f serve_node >"$private/node.sh"
    echo 'serve_node "$@"' >>"$private/node.sh"
    exec srun --mpi=none --nodes=2 --ntasks=2 --ntasks-per-node=1 \
        --cpus-per-task=4 --kill-on-bad-exit=1 --wait=0 \
        /bin/bash "$private/node.sh" "$private"
}

serve_node() { # FOLDER [lifeline]: runs on each node. Its launcher may bring no environment (ssh,
    # pbsdsh) and no signals (PBS): it reads the one from a file, and watches another for `stop`.
    set -u
    private=$1 node=$(uname -n)
    if [ "${CYBELE_LAUNCH:-}" != "$private" ]; then
        kept_tmp=${TMPDIR:-}
        set -a
        # shellcheck source=/dev/null
        . "$private/environment"
        set +a
        unset -v TMPDIR
        [ -z "$kept_tmp" ] || export TMPDIR="$kept_tmp"
    fi
    cd -- "$PWD" || exit 1
    export CYBELE_NODE="$private/$node" # marks what this node starts
    # shellcheck source=/dev/null
    . "$private/words"
    "${on_node[@]}" &
    process=$!
    trap 'kill -s TERM "$process" 2>/dev/null' TERM INT HUP
    trap 'kill -s USR1 "$process" 2>/dev/null' USR1
    trap 'kill -s USR2 "$process" 2>/dev/null' USR2
    (
        while sleep 0.5; do
            read -r state <"$private/state" || state=''
            if [ "$state" = stop ] || [ ! -d "$private" ]; then
                kill -s TERM "$process" 2>/dev/null
                sleep 5
                kill -s KILL "$process" 2>/dev/null
                exit
            fi
        done
    ) &
    helpers=$!
    while :; do
        code=0
        wait "$process" || code=$?
        kill -s 0 "$process" 2>/dev/null || break
    done
    # shellcheck disable=SC2086 # several
    kill $helpers 2>/dev/null
    read -r state <"$private/state" || state=''
    [ "$code" -eq 0 ] || [ "$state" = stop ] ||
        echo "cybelectl: torchrun on $node ended with code $code" >&2
    echo "$code" >"$private/codes/$node"
    for folder in /proc/[0-9]*; do
        if [ "${folder##*/}" != "$$" ] &&
            grep -qzxF "CYBELE_NODE=$CYBELE_NODE" "$folder/environ" 2>/dev/null; then
            kill -s KILL "${folder##*/}" 2>/dev/null
        fi
    done
    exit "$code"
}

launch() { # PROGRAM ARGUMENT...: in the background, since a trap waits for what runs in front
    local pause=0.003 turns=0
    "$@" {idle}<&- &
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
    [ -z "$private" ] || rm -rf -- "$private" || :
    write_record "$code" || :
    exit "$code"
}

write_record() { # CODE: exit.json appears when it is complete
    local state=failed signal=0 end host new=$record/.exit.json.$$
    [ "$1" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 3598 ] || state=timeout
    [ "$1" -le 128 ] || [ "$1" -gt 192 ] || signal=$(($1 - 128))
    make_record || return
    umask 077
    printf -v end '%(%s)T' -1
    read -r host </proc/sys/kernel/hostname || host=$(uname -n)
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%d,"end":%d,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$1" "$signal" "$start" "$end" \
        "\"host\":\"$host\"" >"$new" &&
        mv -f -- "$new" "$record/exit.json"
}

make_record() { # its folder
    [ -n "$record" ] && { [ -d "$record" ] || (umask 077 && mkdir -p -- "$record"); }
}

refuse() { # WHAT BECAUSE HELP
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

name=wheat-ear ended=no payload='' record='' private=''
printf -v start '%(%s)T' -1
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
[ -z "${CYBELE_JOB:-}" ] || record=${CYBELE_JOB_DIR:-}
trap finish_job EXIT
# A program in the background ignores INT, so it gets TERM.
trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' TERM INT HUP
trap 'forward_signal USR1' USR1
trap 'forward_signal USR2' USR2
exec {idle}<> <(:) # nothing ever comes here
main "$@"
