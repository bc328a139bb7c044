#!/bin/bash
#PBS -N wheat-ear
#PBS -l nodes=2:ppn=4
#PBS -l mem=16384mb
#PBS -l walltime=01:00:00
#PBS -j oe
# Rendered by cybelectl for torque, template set VERSION.
# Job wheat-ear, sha256:e0f1d902b6e8b584ee22e01ca6ad01e1c2aa834551cd59525482d12ba38e6363
set -euo pipefail

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=wheat-ear
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
exec >wheat-ear-"$job_number".out 2>wheat-ear-"$job_number".err
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
image=wheat-ear.sif
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
export OMP_NUM_THREADS=2
export MKL_NUM_THREADS=2
export OPENBLAS_NUM_THREADS=2
export BLIS_NUM_THREADS=2
export NUMEXPR_NUM_THREADS=2
export LEVEL='a, b'
options=(
    --env OMP_NUM_THREADS=2
    --env MKL_NUM_THREADS=2
    --env OPENBLAS_NUM_THREADS=2
    --env BLIS_NUM_THREADS=2
    --env NUMEXPR_NUM_THREADS=2
)

# --- The launch; the words are the job's own, as it gave them
printf 'cybelectl: job %s, %s nodes, %s ranks, %s threads each, MPI of the host %s, of the image %s, image %s\n' \
    "$name" "$nodes" "$ranks" "$threads" unknown unknown 'as found' >&2
# --- One process on each node: what it needs lies in a private folder that all nodes read.
private=$(umask 077 && mktemp -d "$PWD/.cybelectl-$name.XXXXXX")
export CYBELE_LAUNCH=$private # marks every process of this launch, so that none stays behind
first_node=$(uname -n)
job_token=${SLURM_JOB_ID:-${PBS_JOBID:-${CYBELE_JOB:-$$}}}
job_token=${job_token%%.*}
job_token=${job_token//[!A-Za-z0-9]/-}
job_token=${job_token%-}
(umask 077 && export -p >"$private/environment" && mkdir "$private/codes" && : >"$private/state")

is_free() { # PORT: nobody answers there
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && ! (exec 3<>"/dev/tcp/$first_node/$1") 2>/dev/null
}
free_port() { # FIRST: the next free one, of 20000 to 29999
    local port=$1
    until is_free "$port"; do
        port=$((port < 29999 ? port + 1 : 20000))
    done
    echo "$port"
}
# Two jobs on a node begin at different places, so that they do not race for one port.
first_port=$((20000 + $(cksum <<<"$job_token" | awk '{print $1}') % 10000))

is_running() { # PROCESS, or nothing
    [ -n "$1" ] && kill -s 0 "$1" 2>/dev/null
}

ends_within() { # SECONDS PROCESS
    local tries
    for ((tries = 0; tries < $1 * 10; tries++)); do
        is_running "$2" || return 0
        sleep 0.1
    done
    return 1
}

end_marked() { # what still bears the mark on this node, whoever its parent is by now
    local folder
    for folder in /proc/[0-9]*; do
        if [ "${folder##*/}" != "$$" ] && [ "${folder##*/}" != "${BASHPID:-$$}" ] &&
            grep -qzxF "CYBELE_LAUNCH=$private" "$folder/environ" 2>/dev/null; then
            kill -s "$1" "${folder##*/}" 2>/dev/null || :
        fi
    done
}

# What a node does. Its launcher may bring no environment (ssh, pbsdsh) and no signals (the other nodes
# of PBS), so it reads the one and watches a file for the others.
cat >"$private/node.sh" <<'END-OF-NODE'
set -u
private=$1
node=$(uname -n)
if [ -d "$private/output" ]; then # what tasks of pbsdsh write would go to the batch system's own files
    exec >"$private/output/$node.out" 2>"$private/output/$node.err"
    # TORQUE kills this process a moment after a cancel; what sweeps up has a session of its own.
    # shellcheck disable=SC2016 # for the other shell
    setsid /bin/bash -c "$(<"$private/sweep.sh")" sweep "$$" "$private" "$node" </dev/null >/dev/null 2>&1 &
fi
if [ "${CYBELE_LAUNCH:-}" != "$private" ]; then
    kept_tmp=${TMPDIR:-}
    set -a
    . "$private/environment"
    set +a
    unset -v TMPDIR
    [ -z "$kept_tmp" ] || export TMPDIR="$kept_tmp"
fi
cd -- "$PWD" || exit 1
export CYBELE_NODE="$private/$node" # marks what this node starts
. "$private/words"
. "$private/work.sh"
process=''
work & process=$!
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
watcher=$!
lifeline=''
if [ "${2:-}" = lifeline ]; then # the other end of standard input is the job: gone with it
    (cat >/dev/null; kill -s TERM "$process") <&0 &
    lifeline=$!
fi
while :; do
    code=0
    wait "$process" || code=$?
    kill -s 0 "$process" 2>/dev/null || break
done
kill "$watcher" $lifeline 2>/dev/null
read -r state <"$private/state" || state=''
[ "$code" -eq 0 ] || [ "$state" = stop ] ||
    printf 'cybelectl: %s on %s ended with code %s\n' "$work_name" "$node" "$code" >&2
clean_up
printf '%s\n' "$code" >"$private/codes/$node"
for folder in /proc/[0-9]*; do
    if [ "${folder##*/}" != "$$" ] && grep -qzxF "CYBELE_NODE=$CYBELE_NODE" "$folder/environ" 2>/dev/null; then
        kill -s KILL "${folder##*/}" 2>/dev/null
    fi
done
exit "$code"
END-OF-NODE
cat >"$private/sweep.sh" <<'END-OF-SWEEP'
main=$1 private=$2 node=$3 first_node='' job_process=''
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
END-OF-SWEEP
job_process=$$
declare -p PATH name first_node job_token private job_process >"$private/words"
declare -p runtime image options >>"$private/words"

declare -A shown=() # bytes of the nodes' files
show_output() { # [all]: the lines that the nodes wrote since the last time; with `all` an unfinished one too
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

on_each_node() { # starts node.sh on each; ends when all have ended, with the first code that is not 0
    local file host count tries watcher='' code=0
    local -a processes=()
    trap - EXIT
    trap '[ ${#processes[@]} -eq 0 ] || kill "${processes[@]}" 2>/dev/null' TERM
    if command -v pbsdsh >/dev/null; then
        mkdir -- "$private/output"
        pbsdsh -u /bin/bash "$private/node.sh" "$private" &
        processes+=($!)
        while is_running "${processes[0]}"; do
            show_output
            sleep 0.3
        done
    else # the lifeline: when this job is gone, ssh and what it started see the end of their input
        mkfifo "$private/lifeline"
        exec 8<>"$private/lifeline"
        while read -r host; do
            # shellcheck disable=SC2029 # the words are meant for the other side
            ssh -o BatchMode=yes "$host" "exec /bin/bash $(printf '%q %q' "$private/node.sh" "$private") lifeline" \
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
    fi
    for host in "${processes[@]}"; do
        wait "$host" || code=$?
        while kill -s 0 "$host" 2>/dev/null; do
            wait "$host" || code=$?
        done
    done
    # pbsdsh ends with 0 whatever happened, so each node writes down its own, seen here a little later.
    for ((count = 0, tries = 0; count < nodes && tries < 100; tries++)); do
        count=0
        for file in "$private"/codes/*; do
            if [ -r "$file" ] && read -r host <"$file"; then
                count=$((count + 1))
                [ "$host" -eq 0 ] || code=$host
            fi
        done
        [ "$count" -eq "$nodes" ] || sleep 0.1
    done
    [ "$count" -eq "$nodes" ] || [ "$code" -ne 0 ] || code=255
    show_output all
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || :
    exit "$code"
}

# --- torchrun on each node; they meet at the first one
rendezvous=$first_node:$(free_port "$first_port")
declare -p rendezvous >>"$private/words"
cat >"$private/work.sh" <<'END-OF-WORK'
work_name=torchrun
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
torch=(python3 -m torch.distributed.run --nnodes=2 --nproc_per_node=2
    --max_restarts=0 --rdzv_backend=c10d "--rdzv_endpoint=$rendezvous" "--rdzv_id=$name-$job_token"
    # PyTorch before 2 under Python 3.11 fails at its own default here; this names no process that there is.
    --redirects=2:1 --tee=2:1
    train.py --epochs 3)
work() {
    exec "$runtime" exec "${options[@]}" "$image" env 'LEVEL=a, b' "${torch[@]}"
}
clean_up() { :; }
END-OF-WORK
run on_each_node
[ "$code" -eq 0 ] || exit "$code"
