#!/bin/bash
#PBS -N soybean-train
#PBS -l select=1:ncpus=4:mpiprocs=1:mem=8192mb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
# From spark-host.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_pbs_job 1
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    exec >soybean-train-"$job_number".out 2>soybean-train-"$job_number".err
    start_once "${PBS_JOBID:-}"
    need_cpus 1 4 # of each node: ranks, threads of each

    export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
    export NUMEXPR_NUM_THREADS=1

    echo 'cybelectl: job soybean-train, 1 node, 1 rank, 4 threads each,' \
        'MPI of the host unknown, of the image none, image none' >&2
    worker_cores=4 first_worker_cores=3 worker_mib=4941
    daemon_mib=512 driver_mib=1024 ready_within=120 # seconds
    prepare_nodes
    configure_spark results 'spark.driver.memory 1024m' 'spark.executor.memory 851m' \
        'spark.executor.cores 1'
    need_spark
    start_master
    start_workers
    launch spark_driver train.py
}

# ---- What main calls, the same in each script: see `cybelectl explain scripts` ----
# sha256:8139ff942291d6280927a2a70734edb74442cde74a6d581fb1b34b46b2217f5c, templates VERSION

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

need_cpus() { # RANKS THREADS: of each node; no CPU runs two threads
    local cpus
    cpus=${NCPUS:-0} # of the chunk: the node file has a line per rank
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "$1 ranks a node with $2 threads each do not fit on $cpus CPUs" \
            'more processes than CPUs slow every one of them down' \
            'ask for fewer threads'
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
    declare -p master spark_host spark_results worker_cores first_worker_cores \
        worker_mib daemon_mib >>"$private/words"
    declare -f serve_node spark_worker in_spark clean_up >"$private/node.sh"
    echo 'serve_node "$@"' >>"$private/node.sh"
    exec /bin/bash "$private/node.sh" "$private"
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
    scratch=${TMPDIR:-/tmp}
    scratch=$(mktemp -d "$scratch/cybelectl-spark.XXXXXX") || exit 1
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
        echo "cybelectl: Spark's worker on $node ended with code $code" >&2
    clean_up
    echo "$code" >"$private/codes/$node"
    for folder in /proc/[0-9]*; do
        if [ "${folder##*/}" != "$$" ] &&
            grep -qzxF "CYBELE_NODE=$CYBELE_NODE" "$folder/environ" 2>/dev/null; then
            kill -s KILL "${folder##*/}" 2>/dev/null
        fi
    done
    exit "$code"
}

configure_spark() { # FOLDER of results, PROPERTY...
    spark_results=$1/spark-$job_token
    shift
    [ "${spark_results:0:1}" = / ] || spark_results=$PWD/$spark_results
    spark_host=127.0.0.1
    (
        umask 077 # the secret is in a file that only this user reads, never among arguments
        mkdir -p -- "$spark_results/logs" "$spark_results/events" "$private/conf"
        printf '%s\n' 'spark.authenticate true' \
            "spark.authenticate.secret $(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" \
            'spark.network.crypto.enabled true' 'spark.master.rest.enabled false' \
            'spark.ui.enabled false' 'spark.eventLog.enabled true' \
            "spark.eventLog.dir $spark_results/events" "spark.driver.host $spark_host" \
            "spark.driver.bindAddress $spark_host" "$@" >"$private/conf/spark-defaults.conf"
    )
}

in_spark() { # SETTING... -- PROGRAM WORD...: a program of Spark, in this process
    local -a settings=("SPARK_CONF_DIR=$private/conf" "SPARK_DAEMON_MEMORY=${daemon_mib}m"
        SPARK_NO_DAEMONIZE=1)
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
    exec "$@"
}

need_spark() {
    local because
    # shellcheck disable=SC2016 # for the shell inside
    run_check in_spark -- sh -c 'command -v spark-submit &&
        { command -v java || ls "$JAVA_HOME/bin/java"; }' >"$private/found" 2>&1
    [ "$code" -ne 0 ] || return 0
    because=$(tail -n 1 "$private/found")
    refuse "there is no Spark with Java in PATH" \
        "${because:-spark-submit was not found}" \
        'name an image with both, with spark-submit in its PATH'
}

start_master() { # with its page for this machine only; a port that another took meanwhile is left
    local log=$spark_results/logs/master.log
    master_process='' workers_process='' deadline=$((SECONDS + ready_within))
    while [ "$SECONDS" -lt "$deadline" ]; do
        master_port=$(free_port "$first_port")
        master_page=$(free_port "$((master_port < 29999 ? master_port + 1 : 20000))")
        master=spark://$spark_host:$master_port
        (in_spark SPARK_LOCAL_IP=127.0.0.1 SPARK_MASTER_OPTS=-Dspark.port.maxRetries=0 -- \
            spark-class org.apache.spark.deploy.master.Master --host "$spark_host" \
            --port "$master_port" --webui-port "$master_page" \
            --properties-file "$private/conf/spark-defaults.conf") >"$log" 2>&1 &
        master_process=$!
        while is_running "$master_process" && [ "$SECONDS" -lt "$deadline" ]; do
            case $(ask_master) in
                *'"url":"'"$master"'"'*'"status":"ALIVE"'*) return 0 ;;
            esac
            sleep 0.2
        done
        grep -q 'BindException\|Address already in use' "$log" || break
        first_port=$((first_port < 29990 ? first_port + 7 : 20000))
    done
    tail -n 20 "$log" >&2
    refuse "Spark's master did not come up within $ready_within s" "its log is $log" \
        'read the log, or raise ready-within'
}

ask_master() { # what the master says of itself, on one line; empty: it does not answer
    # shellcheck disable=SC2016 # for the inner bash
    timeout 5 bash -c '
        exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "GET /json/ HTTP/1.0\r\n\r\n" >&3 && cat <&3' \
        ask "$master_page" 2>/dev/null | tr -d ' \r\n' || :
}

is_running() { # PROCESS, or nothing
    [ -n "$1" ] && kill -s 0 "$1" 2>/dev/null
}

start_workers() { # and wait until the master has them all
    local alive=0
    (on_each_node spark_worker) </dev/null &
    workers_process=$!
    while [ "$alive" -lt 1 ]; do
        alive=$(ask_master | sed -n 's/.*"aliveworkers":\([0-9]*\).*/\1/p')
        alive=${alive:-0}
        if [ -n "$(cat "$private"/codes/* 2>/dev/null)" ] || ! is_running "$workers_process"; then
            tail -n 5 "$spark_results"/logs/worker-*.log >&2
            refuse "a worker of Spark ended before it was of use" \
                "the logs are in $spark_results/logs" \
                'read them; with the master alone nothing is computed'
        elif [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 5 "$spark_results"/logs/worker-*.log >&2
            refuse "$alive of 1 workers of Spark came up within $ready_within s" \
                "the master at $master does not know the others" \
                'read their logs, or raise ready-within'
        fi
        [ "$alive" -ge 1 ] || sleep 0.2
    done
    echo "cybelectl: Spark at $master with 1 workers, logs in $spark_results" >&2
    stop_without_workers </dev/null &
}

spark_worker() { # on a node
    local host cores=$worker_cores
    host=$(uname -n)
    [ "$host" != "$first_node" ] || cores=$first_worker_cores # master and driver are here too
    [ "$spark_host" != 127.0.0.1 ] || host=127.0.0.1
    in_spark "SPARK_LOCAL_DIRS=$scratch" "SPARK_WORKER_DIR=$scratch" SPARK_LOCAL_IP="$host" -- \
        spark-class org.apache.spark.deploy.worker.Worker --host "$host" --cores "$cores" \
        --memory "${worker_mib}m" --webui-port 0 --work-dir "$scratch" \
        --properties-file "$private/conf/spark-defaults.conf" "$master" \
        >"$spark_results/logs/worker-$(uname -n).log" 2>&1
}

clean_up() { # a node
    local log
    for log in "$scratch"/app-*/*/stderr; do
        [ ! -s "$log" ] || cat "$log" >>"$spark_results/logs/executor-$node.log"
    done
    rm -rf -- "$scratch"
}

stop_without_workers() { # the driver would wait for them for ever
    local state
    while sleep 1; do
        read -r state <"$private/state" || state=''
        if [ "$state" = stop ]; then
            exit
        elif ! is_running "$workers_process"; then
            (refuse 'no worker of Spark is left' 'the last one ended before the driver' \
                "read the logs in $spark_results/logs") || :
            kill "$(cat "$private/driver")" || :
            exit
        fi
    done
}

spark_driver() { # PROGRAM WORD...
    echo "$BASHPID" >"$private/driver"
    in_spark SPARK_LOCAL_IP="$spark_host" "SPARK_LOCAL_DIRS=$private" -- \
        spark-submit --master "$master" --deploy-mode client --driver-memory "${driver_mib}m" \
        --properties-file "$private/conf/spark-defaults.conf" "$@"
}

stop_spark() { # nothing new starts, then workers, then the master; nothing stays
    local folder
    echo stop >"$private/state"
    ends_within 8 "$workers_process" || kill "$workers_process" 2>/dev/null || :
    ends_within 3 "$workers_process" || :
    [ -z "$master_process" ] || kill "$master_process" 2>/dev/null || :
    ends_within 3 "$master_process" || :
    for folder in /proc/[0-9]*; do # what still bears the mark, whoever its parent is by now
        if [ "${folder##*/}" != "$$" ] &&
            grep -qzxF "CYBELE_LAUNCH=$private" "$folder/environ" 2>/dev/null; then
            kill -s KILL "${folder##*/}" 2>/dev/null || :
        fi
    done
}

ends_within() { # SECONDS PROCESS
    local tries
    for ((tries = 0; tries < $1 * 10; tries++)); do
        is_running "$2" || return 0
        sleep 0.1
    done
    return 1
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

run_check() { # PROGRAM ARGUMENT...: before the program; if the job has to end meanwhile, it does
    launch "$@" || :
    [ "$ended" = no ] || exit 143
}

forward_signal() {
    [ -z "$payload" ] || kill -s "$1" "$payload" 2>/dev/null || :
}

finish_job() { # on every way out but KILL
    local code=$? process
    trap - EXIT
    trap '' TERM INT HUP USR1 USR2
    [ -z "${master_process+set}" ] || stop_spark || :
    for process in $(jobs -p); do
        kill "$process" 2>/dev/null || :
    done
    [ -z "$private" ] || rm -rf -- "$private" || :
    write_record "$code" || :
    exit "$code"
}

write_record() { # CODE: exit.json appears when it is complete
    local state=failed signal=0 end host used=0 new=$record/.exit.json.$$
    [ "$1" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 3598 ] || state=timeout
    [ "$1" -le 128 ] || [ "$1" -gt 192 ] || signal=$(($1 - 128))
    make_record || return
    umask 077
    printf -v end '%(%s)T' -1
    read -r host </proc/sys/kernel/hostname || host=$(uname -n)
    times >"$new" && measure_cpu_time "$new"
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%d,"end":%d,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$1" "$signal" "$start" "$end" \
        "\"host\":\"$host\",\"cpu-milliseconds\":$used" >"$new" &&
        mv -f -- "$new" "$record/exit.json"
}

make_record() { # its folder
    [ -n "$record" ] && { [ -d "$record" ] || (umask 077 && mkdir -p -- "$record"); }
}

measure_cpu_time() { # FILE that `times` wrote: 1m2.345s each, of this shell and what it waited for
    local word format='^([0-9]+)m([0-9]+)[.,]([0-9]+)s$'
    for word in $(<"$1"); do
        [[ $word =~ $format ]] || continue
        used=$((used + BASH_REMATCH[1] * 60000 + 10#${BASH_REMATCH[2]}${BASH_REMATCH[3]}))
    done
}

refuse() { # WHAT BECAUSE HELP
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

name=soybean-train ended=no payload='' record='' private=''
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
