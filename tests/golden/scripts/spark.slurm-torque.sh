#!/bin/bash
#PBS -N soybean-train
#PBS -l select=2:ncpus=4:mpiprocs=1:mem=8192mb
#PBS -l walltime=01:00:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# Rendered by cybelectl for slurm-torque, template set VERSION.
# Job soybean-train, sha256:eee63c2e7f571befa08344e535288db6bdcab126d79f2d8d8ad47b0e8e86c48a
set -euo pipefail

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=soybean-train
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
image=soybean-train.sif
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
ranks=2
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
export OMP_NUM_THREADS=1
export MKL_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
options=(
    --env OMP_NUM_THREADS=1
    --env MKL_NUM_THREADS=1
    --env OPENBLAS_NUM_THREADS=1
    --env BLIS_NUM_THREADS=1
    --env NUMEXPR_NUM_THREADS=1
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
declare -p PATH name first_node job_token private >"$private/words"
declare -p runtime image options >>"$private/words"

on_each_node() { # starts node.sh on each; ends when all have ended, with the first code that is not 0
    exec srun --mpi=none --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=4 --kill-on-bad-exit=0 --wait=0 /bin/bash "$private/node.sh" "$private"
}

# --- Spark of this job's own: master and driver here, a worker on each node; all of it ends with the job
spark_results=results/spark-$job_token
case $spark_results in
    /*) ;;
    *) spark_results=$PWD/$spark_results ;;
esac
(umask 077 && mkdir -p -- "$spark_results/logs" "$spark_results/events" "$private/conf")
spark_host=$first_node
master_process=''
workers_process=''

# The secret is in a file that only this user reads, never among arguments.
(
    umask 077
    # shellcheck disable=SC2016 # properties of the job are taken literally
    printf '%s\n' 'spark.authenticate true' \
        "spark.authenticate.secret $(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" \
        'spark.network.crypto.enabled true' 'spark.master.rest.enabled false' \
        'spark.ui.enabled false' 'spark.eventLog.enabled true' "spark.eventLog.dir $spark_results/events" \
        "spark.driver.host $spark_host" "spark.driver.bindAddress $spark_host" \
        'spark.driver.memory 1024m' 'spark.executor.memory 4492m' 'spark.sql.shuffle.partitions 8' >"$private/conf/spark-defaults.conf"
)
unset -v SPARK_HOME SPARK_CONF_DIR SPARK_LOCAL_IP PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON
options+=(-B "$PWD" -B "$spark_results")
declare -p options >>"$private/words"
declare -p spark_results >>"$private/words"

cat >"$private/spark.sh" <<'END-OF-SPARK'
in_spark() { # SETTING… -- PROGRAM WORD…: replaces itself by a program of Spark, in the container
    local -a settings=("SPARK_CONF_DIR=$private/conf" SPARK_DAEMON_MEMORY=512m SPARK_NO_DAEMONIZE=1)
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    # shellcheck disable=SC2016 # for the shell inside
    set -- env "${settings[@]}" /bin/sh -c '
        [ -z "${SPARK_HOME:-}" ] || PATH=$SPARK_HOME/bin:$PATH
        command -v "$1" >/dev/null || PATH=$PATH:/opt/spark/bin
        exec "$@"' sh "$@"
    exec "$runtime" exec "${options[@]}" "$image" "$@"
}
END-OF-SPARK
# shellcheck source=/dev/null
. "$private/spark.sh"

# shellcheck disable=SC2016 # for the shell inside
check in_spark -- sh -c 'command -v spark-submit && { command -v java || ls "$JAVA_HOME/bin/java"; }' >"$private/found" 2>&1
if [ "$code" -ne 0 ]; then
    because=$(tail -n 1 "$private/found")
    refuse "there is no Spark with Java in the image" "${because:-spark-submit was not found}" \
        'name an image with both, with spark-submit in its PATH'
fi

stop_daemons() { # in this order: nothing new starts, then workers, then the master; nothing stays
    echo stop >"$private/state"
    ends_within 8 "$workers_process" || kill "$workers_process" 2>/dev/null || :
    ends_within 3 "$workers_process" || :
    [ -z "$master_process" ] || kill "$master_process" 2>/dev/null || :
    ends_within 3 "$master_process" || :
    end_marked KILL
}

ask_master() { # what the master says of itself, on one line; empty: it does not answer
    # shellcheck disable=SC2016 # for the inner bash
    timeout 5 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "GET /json/ HTTP/1.0\r\n\r\n" >&3 && cat <&3' \
        ask "$master_page" 2>/dev/null | tr -d ' \r\n' || :
}

start_master() { # with its page for this machine only; a port that another took meanwhile is left
    local answer log=$spark_results/logs/master.log
    while [ "$SECONDS" -lt "$deadline" ]; do
        master_port=$(free_port "$first_port")
        master_page=$(free_port "$((master_port < 29999 ? master_port + 1 : 20000))")
        master=spark://$spark_host:$master_port
        (in_spark SPARK_LOCAL_IP=127.0.0.1 SPARK_MASTER_OPTS=-Dspark.port.maxRetries=0 -- spark-class \
            org.apache.spark.deploy.master.Master --host "$spark_host" --port "$master_port" \
            --webui-port "$master_page" --properties-file "$private/conf/spark-defaults.conf") >"$log" 2>&1 &
        master_process=$!
        while is_running "$master_process" && [ "$SECONDS" -lt "$deadline" ]; do
            answer=$(ask_master)
            case $answer in
                *'"url":"'"$master"'"'*'"status":"ALIVE"'*) return 0 ;;
            esac
            sleep 0.2
        done
        grep -q 'BindException\|Address already in use' "$log" || break
        first_port=$((first_port < 29990 ? first_port + 7 : 20000))
    done
    tail -n 20 "$log" >&2
    refuse "Spark's master did not come up within 120 s" "its log is $log" \
        'read the log, or raise ready-within'
}

start_workers() { # and wait until the master has them all
    local alive=0
    (on_each_node) </dev/null &
    workers_process=$!
    while [ "$alive" -lt "$nodes" ]; do
        alive=$(ask_master | sed -n 's/.*"aliveworkers":\([0-9]*\).*/\1/p')
        alive=${alive:-0}
        if [ -n "$(cat "$private"/codes/* 2>/dev/null)" ] || ! is_running "$workers_process"; then
            tail -n 5 "$spark_results"/logs/worker-*.log >&2
            refuse "a worker of Spark ended before it was of use" "the logs are in $spark_results/logs" \
                'read them; with the master alone nothing is computed'
        elif [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 5 "$spark_results"/logs/worker-*.log >&2
            refuse "$alive of $nodes workers of Spark came up within 120 s" \
                "the master at $master does not know the others" 'read their logs, or raise ready-within'
        fi
        [ "$alive" -ge "$nodes" ] || sleep 0.2
    done
}

deadline=$((SECONDS + 120))
start_master
declare -p master spark_host >>"$private/words"
cat >"$private/work.sh" <<'END-OF-WORK'
work_name="Spark's worker"
. "$private/spark.sh"
scratch=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$scratch/cybelectl-spark.XXXXXX") || exit 1
options+=(-B "$scratch")
worker_host=$(uname -n)
cores=4
if [ "$worker_host" = "$first_node" ]; then
    cores=3 # master and driver are here too
fi
[ "$spark_host" != 127.0.0.1 ] || worker_host=127.0.0.1
work() {
    in_spark "SPARK_LOCAL_DIRS=$scratch" "SPARK_WORKER_DIR=$scratch" SPARK_LOCAL_IP="$worker_host" -- spark-class \
        org.apache.spark.deploy.worker.Worker --host "$worker_host" --cores "$cores" \
        --memory 4941m --webui-port 0 --work-dir "$scratch" \
        --properties-file "$private/conf/spark-defaults.conf" "$master" \
        >"$spark_results/logs/worker-$(uname -n).log" 2>&1
}
clean_up() {
    local log
    for log in "$scratch"/app-*/*/stderr; do
        [ ! -s "$log" ] || cat "$log" >>"$spark_results/logs/executor-$node.log"
    done
    rm -rf -- "$scratch"
}
END-OF-WORK
start_workers
printf 'cybelectl: Spark at %s with %s workers, logs in %s\n' "$master" "$nodes" "$spark_results" >&2

driver() {
    printf '%s\n' "$BASHPID" >"$private/driver"
    # shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
    in_spark SPARK_LOCAL_IP="$spark_host" "SPARK_LOCAL_DIRS=$private" -- spark-submit --master "$master" \
        --deploy-mode client --properties-file "$private/conf/spark-defaults.conf" --driver-memory 1024m \
        /opt/train.py --input tiles.csv
}
( # with no worker left the driver would wait for ever
    while sleep 1; do
        read -r state <"$private/state" || state=''
        if [ "$state" = stop ]; then
            exit
        elif ! is_running "$workers_process"; then
            printf 'error: no worker of Spark is left\nbecause: the last one ended before the driver\nhelp: %s\n' \
                "read the logs in $spark_results/logs" >&2
            kill "$(cat "$private/driver")" || :
            exit
        fi
    done
) </dev/null &
run driver
[ "$code" -eq 0 ] || exit "$code"
