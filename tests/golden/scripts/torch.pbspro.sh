#!/bin/bash
#PBS -N wheat-ear
#PBS -l select=2:ncpus=4:mpiprocs=1:mem=8192mb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
# From torch.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_pbs_job 2
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    exec >wheat-ear-"$job_number".out 2>wheat-ear-"$job_number".err
    start_once "${PBS_JOBID:-}"
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

need_pbs_job() { # [NODES]
    job_number=${PBS_JOBID:-local}
    job_number=${job_number%%[.[]*} # of an array, also for its elements
    if [ -z "${PBS_O_WORKDIR:-}" ] || [ ! -r "${PBS_NODEFILE:-}" ]; then
        refuse 'this is no job of PBS' 'PBS_O_WORKDIR or PBS_NODEFILE is not there' \
            'submit it with qsub'
    fi
    local hosts_of_job
    hosts_of_job=$(sort -u "$PBS_NODEFILE" | grep -c . || :)
    [ "$hosts_of_job" -eq "$1" ] || refuse "$1 nodes were asked" \
        "the node file names $hosts_of_job" 'ask the centre, or ask for fewer nodes'
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
    cpus=${NCPUS:-0} # of the chunk: the node file has a line per rank
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
    local on_node=("$@") job_process=$$
    declare -p PATH name first_node job_token private on_node job_process >"$private/words"
    declare -f serve_node sweep_node >"$private/node.sh"
    echo 'serve_node "$@"' >>"$private/node.sh"
    trap - EXIT
    start_nodes
    wait_for_nodes
}

start_nodes() { # by pbsdsh, else by ssh
    local host
    processes=() watcher=''
    declare -gA shown=() # bytes of the nodes' files
    trap '[ ${#processes[@]} -eq 0 ] || kill "${processes[@]}" 2>/dev/null' TERM
    if command -v pbsdsh >/dev/null; then
        mkdir -- "$private/output"
        pbsdsh -- /bin/bash "$private/node.sh" "$private" &
        processes+=($!)
        while kill -s 0 "${processes[0]}" 2>/dev/null; do
            show_output
            sleep 0.3
        done
        return 0
    fi
    # When this job is gone, ssh and what it started see the end of their input.
    mkfifo "$private/lifeline"
    exec 8<>"$private/lifeline"
    while read -r host; do
        # shellcheck disable=SC2029 # the words are meant for the other side
        ssh -o BatchMode=yes "$host" \
            "exec /bin/bash $(printf '%q %q' "$private/node.sh" "$private") lifeline" \
            <"$private/lifeline" 8>&- &
        processes+=($!)
    done < <(sort -u "$PBS_NODEFILE")
    ( # killed outright, the job cannot end them any more
        while kill -s 0 "$$" 2>/dev/null; do
            sleep 1
        done
        kill "${processes[@]}" 2>/dev/null
    ) 8>&- </dev/null >/dev/null 2>&1 &
    watcher=$!
}

wait_for_nodes() {
    local process file count tries code=0 node_code
    for process in "${processes[@]}"; do
        wait "$process" || code=$?
        while kill -s 0 "$process" 2>/dev/null; do
            wait "$process" || code=$?
        done
    done
    # pbsdsh ends with 0 whatever happened, so each node writes its own code, seen a little later.
    for ((count = 0, tries = 0; count < 2 && tries < 100; tries++)); do
        count=0
        for file in "$private"/codes/*; do
            if [ -r "$file" ] && read -r node_code <"$file"; then
                count=$((count + 1))
                [ "$node_code" -eq 0 ] || code=$node_code
            fi
        done
        [ "$count" -eq 2 ] || sleep 0.1
    done
    [ "$count" -eq 2 ] || [ "$code" -ne 0 ] || code=255
    show_output all
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || :
    exit "$code"
}

show_output() { # [all]: the lines that the nodes wrote since the last time, also an unfinished one
    local size file piece=$private/piece
    while read -r size file; do
        if [ ! -f "$file" ] || [ "$size" -le "${shown[$file]:-0}" ] ||
            ! tail -c "+$((${shown[$file]:-0} + 1))" -- "$file" >"$piece.new"; then
            continue
        fi
        if [ "${1:-}" = all ]; then
            mv -f -- "$piece.new" "$piece"
        else
            head -n "$(wc -l <"$piece.new")" -- "$piece.new" >"$piece"
        fi
        case $file in
            *.err) cat -- "$piece" >&2 ;;
            *) cat -- "$piece" ;;
        esac
        shown[$file]=$((${shown[$file]:-0} + $(wc -c <"$piece")))
    done < <(wc -c -- "$private"/output/* 2>/dev/null)
}

serve_node() { # FOLDER [lifeline]: runs on each node. Its launcher may bring no environment (ssh,
    # pbsdsh) and no signals (PBS): it reads the one from a file, and watches another for `stop`.
    set -u
    private=$1 node=$(uname -n)
    if [ -d "$private/output" ]; then # pbsdsh would write to the batch system's own files
        exec >"$private/output/$node.out" 2>"$private/output/$node.err"
        # TORQUE kills this process a moment after a cancel: what sweeps up has its own session.
        setsid /bin/bash -c "$(declare -f sweep_node); sweep_node \"\$@\"" sweep "$$" \
            "$private" "$node" </dev/null >/dev/null 2>&1 &
    fi
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
    if [ "${2:-}" = lifeline ]; then # the other end of standard input is the job: gone with it
        (cat >/dev/null; kill -s TERM "$process") <&0 &
        helpers+=" $!"
    fi
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

sweep_node() { # PROCESS FOLDER NODE: when the process has ended, nothing of it is left
    main=$1 private=$2 node=$3 first_node='' job_process=''
    # shellcheck source=/dev/null
    . "$private/words"
    while kill -s 0 "$main"; do
        sleep 0.5
    done
    for folder in /proc/[0-9]*; do # what has a session of its own, too
        if grep -qzxF "CYBELE_NODE=$private/$node" "$folder/environ"; then
            kill -s KILL "${folder##*/}"
        fi
    done
    if [ "$node" = "$first_node" ]; then
        while kill -s 0 "$job_process"; do # it removes the folder itself, unless it is killed
            sleep 0.5
        done
        rm -rf -- "$private"
    fi
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
trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' INT HUP
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # which all processes of the job have
trap 'forward_signal USR1' USR1
trap 'forward_signal USR2' USR2
exec {idle}<> <(:) # nothing ever comes here
main "$@"
