#!/bin/bash
#PBS -N soybean-train
#PBS -l select=2:ncpus=4:mpiprocs=1:mem=8192mb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
# From spark.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_pbs_job 2
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    # From here on. What else is written goes into the file of the batch system (-j oe).
    exec >soybean-train-"$job_number".out 2>soybean-train-"$job_number".err
    start_once "${PBS_JOBID:-}"
    use_image "$PWD"/soybean-train.sif apptainer singularity cybelectl
    need_cpus 1 4 # per node: ranks, threads of each

    unset -v LD_{PRELOAD,AUDIT} PYTHON{HOME,PATH,STARTUP,USERBASE} PERL5LIB # meant for the host
    options=()
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    echo 'cybelectl: job soybean-train, 2 nodes, 2 ranks, 4 threads each, no signature required' >&2
    worker_cores=4 first_worker_cores=3 worker_mib=4941
    daemon_mib=512 ready_within=120 # seconds
    prepare_nodes
    configure_spark "$PWD"/results 'spark.driver.memory 1024m' 'spark.executor.memory 4492m' \
        'spark.sql.shuffle.partitions 8'
    need_spark
    start_master
    start_workers
    launch spark_driver /opt/train.py --input tiles.csv
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:eee63c2e7f571befa08344e535288db6bdcab126d79f2d8d8ad47b0e8e86c48a, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
}

need_pbs_job() { # NODES: job_number is the same for the elements of an array
    job_number=${PBS_JOBID:-local}
    job_number=${job_number%%[.[]*}
    [ -r "${PBS_O_WORKDIR:+${PBS_NODEFILE:-}}" ] || refuse 'this is not a job of PBS' \
        'PBS_O_WORKDIR or PBS_NODEFILE is missing' 'submit it with qsub'
    local hosts_of_job
    hosts_of_job=$(sort -u "$PBS_NODEFILE" | grep -c . || :)
    [ "$hosts_of_job" -eq "$1" ] || refuse "the job asks for $1 nodes" \
        "the node file names $hosts_of_job" 'ask the support of the site, or ask for fewer nodes'
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

need_cpus() { # RANKS THREADS
    cpus=${NCPUS:-0} # of the chunk: the node file has a line per rank
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "too few CPUs per node: $cpus, not $1 x $2 (ranks x threads)" \
            'threads slow each other down on one CPU' 'ask for fewer threads'
}

set_variables() { # NAME=VALUE...: here and in the container
    export "${@?}" # the ? is for shellcheck
    options+=("${@/#/--env=}")
}

prepare_nodes() {
    private=$(mktemp -d "$PWD/.cybelectl-$name.XXXXXX") # all nodes read it, no other user
    export CYBELE_LAUNCH=$private # marks every process of this launch
    first_node=$here job_token=$job_number
    export -p >"$private/environment"
    mkdir "$private/codes"
    echo run >"$private/state"
    first_port=$((20000 + $(cksum <<<"$job_token" | cut -d ' ' -f 1) % 10000)) # differs per job
}

on_each_node() { # PROGRAM WORD...
    local on_node=("$@") job_process=$$
    {
        declare -p PATH first_node private on_node job_process master spark_results \
            worker_cores first_worker_cores worker_mib daemon_mib runtime image options
    } >"$private/words"
    {
        declare -f serve_node kill_marked sweep_node spark_worker in_spark
        echo 'serve_node "$@"'
    } >"$private/node.sh"
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
        pbsdsh -- /bin/bash -u "$private/node.sh" "$private" &
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
            "exec /bin/bash -u $(printf '%q %q' "$private/node.sh" "$private") lifeline" \
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

serve_node() { # FOLDER [lifeline]: runs on each node
    private=$1 node=$(uname -n)
    if [ -d "$private/output" ]; then # pbsdsh would write to the batch system's own files
        exec >"$private/output/$node.out" 2>"$private/output/$node.err"
        # TORQUE kills this process a moment after a cancel: what sweeps up has its own session.
        setsid /bin/bash -c "$(declare -f sweep_node kill_marked); sweep_node \"\$@\"" sweep "$$" \
            "$private" "$node" </dev/null >/dev/null 2>&1 &
    fi
    if [ "${CYBELE_LAUNCH:-}" != "$private" ]; then # ssh and pbsdsh bring no environment
        kept_tmp=${TMPDIR:-}
        set -a
        # shellcheck source=/dev/null
        . "$private/environment"
        set +a
        unset -v TMPDIR
        [ -z "$kept_tmp" ] || export TMPDIR="$kept_tmp"
    fi
    cd -- "$PWD" || exit 1
    export CYBELE_NODE=$private/$node # marks what this node starts
    # shellcheck source=/dev/null
    . "$private/words"
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/cybelectl-spark.XXXXXX") || exit 1
    options+=(-B "$scratch")
    (trap - INT QUIT; "${on_node[@]}") &
    process=$!
    trap 'kill "$process" 2>/dev/null' TERM INT HUP
    trap 'kill -s USR1 "$process" 2>/dev/null' USR1
    trap 'kill -s USR2 "$process" 2>/dev/null' USR2
    ( # PBS sends no signal, and srun makes TERM a KILL: `stop` ends it
        until [ "$(cat "$private/state")" = stop ] || [ ! -d "$private" ]; do
            sleep 0.5
        done
        kill "$process" && sleep 5 && kill -s KILL "$process"
    ) 2>/dev/null &
    helpers=($!)
    if [ "${2:-}" = lifeline ]; then # the other end of standard input is the job: gone with it
        (cat >/dev/null; kill -s TERM "$process") <&0 &
        helpers+=($!)
    fi
    while code=0; do
        wait "$process" || code=$?
        kill -s 0 "$process" 2>/dev/null || break
    done
    kill "${helpers[@]}" 2>/dev/null
    [ "$code" -eq 0 ] || [ "$(cat "$private/state")" = stop ] ||
        echo "cybelectl: Spark's worker on $node ended with code $code" >&2
    for log in "$scratch"/app-*/*/stderr; do
        [ ! -s "$log" ] || cat "$log" >>"$spark_results/logs/executor-$node.log"
    done
    rm -rf -- "$scratch"
    echo "$code" >"$private/codes/$node"
    kill_marked "CYBELE_NODE=$CYBELE_NODE"
    exit "$code"
}

kill_marked() { # NAME=VALUE of its environment
    local folder
    for folder in /proc/[0-9]*; do
        [ "${folder##*/}" = "$$" ] || ! grep -qzxF "$1" "$folder/environ" 2>/dev/null ||
            kill -s KILL "${folder##*/}" 2>/dev/null || :
    done
}

sweep_node() { # PROCESS FOLDER NODE: when the process has ended, nothing of it is left
    main=$1 private=$2 node=$3 first_node='' job_process=''
    # shellcheck source=/dev/null
    . "$private/words"
    while kill -s 0 "$main"; do
        sleep 0.5
    done
    kill_marked "CYBELE_NODE=$private/$node" # what has a session of its own, too
    if [ "$node" = "$first_node" ]; then
        while kill -s 0 "$job_process"; do # it removes the folder itself, unless it is killed
            sleep 0.5
        done
        rm -rf -- "$private"
    fi
}

configure_spark() { # FOLDER of results, PROPERTY...
    spark_results=$1/spark-$job_token
    spark_host=$first_node
    (
        umask 077 # no command line shows the secret
        mkdir -p -- "$spark_results"/{logs,events} "$private/conf"
        cat >"$private/conf/spark-defaults.conf" <<END
spark.authenticate true
spark.authenticate.secret $(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
spark.network.crypto.enabled true
spark.master.rest.enabled false
spark.ui.enabled false
spark.eventLog.enabled true
spark.eventLog.dir $spark_results/events
spark.driver.host $spark_host
spark.driver.bindAddress $spark_host
$(printf '%s\n' "${@:2}")
END
    )
    unset -v SPARK_{HOME,CONF_DIR,LOCAL_IP} PYSPARK_{,DRIVER_}PYTHON
    options+=(-B "$PWD" -B "$spark_results")
}

in_spark() { # [NAME=VALUE...] PROGRAM WORD...
    # shellcheck disable=SC2016 # for the shell inside
    exec "$runtime" exec "${options[@]}" "$image" /bin/sh -c \
        'PATH=${SPARK_HOME:+$SPARK_HOME/bin:}$PATH:/opt/spark/bin; exec env "$@"' sh \
        SPARK_CONF_DIR="$private/conf" SPARK_DAEMON_MEMORY="${daemon_mib}m" "$@"
}

need_spark() {
    # shellcheck disable=SC2016 # for the shell inside
    launch in_spark sh -c 'command -v spark-submit &&
        { command -v java || ls "$JAVA_HOME/bin/java"; }' >"$private/found" 2>&1 && return
    refuse "there is no Spark with Java in the image" \
        "$(tail -n 1 "$private/found" | grep . || echo 'spark-submit was not found')" \
        'name an image with both, with spark-submit in its PATH'
}

start_master() {
    local log=$spark_results/logs/master.log
    workers_process='' deadline=$((SECONDS + ready_within))
    while [ "$SECONDS" -lt "$deadline" ]; do
        master=spark://$spark_host:$first_port master_page=$((first_port + 1))
        in_spark SPARK_LOCAL_IP=127.0.0.1 SPARK_MASTER_OPTS=-Dspark.port.maxRetries=0 \
            spark-class org.apache.spark.deploy.master.Master --host "$spark_host" \
            --port "$first_port" --webui-port "$master_page" >"$log" 2>&1 &
        master_process=$!
        while kill -0 "$master_process" 2>/dev/null && [ "$SECONDS" -lt "$deadline" ]; do
            [[ $(ask_master) != *"\"url\":\"$master\""*'"status":"ALIVE"'* ]] || return 0
            sleep 0.2
        done
        grep -q 'BindException\|Address already in use' "$log" || break
        first_port=$((first_port + 2))
    done
    tail -n 20 "$log" >&2
    refuse "Spark's master did not come up within $ready_within s" "its log is $log" \
        'read the log, or raise ready-within'
}

ask_master() { # of the state of Spark: JSON on one line
    timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$master_page &&
        printf 'GET /json/ HTTP/1.0\r\n\r\n' >&3 && cat <&3" 2>/dev/null | tr -d ' \r\n' || :
}

start_workers() {
    local alive=0 what=''
    (trap - INT QUIT; on_each_node spark_worker) </dev/null &
    workers_process=$!
    while [ "${alive:-0}" -lt 2 ]; do
        [ "$SECONDS" -lt "$deadline" ] ||
            what="${alive:-0} of 2 workers of Spark came up within $ready_within s"
        kill -0 "$workers_process" 2>/dev/null && [ -z "$(cat "$private"/codes/* 2>/dev/null)" ] ||
            what='a worker of Spark ended before it was of use'
        if [ -n "$what" ]; then
            tail -n 5 "$spark_results"/logs/worker-*.log >&2
            refuse "$what" "its logs are in $spark_results/logs" 'read them, or raise ready-within'
        fi
        sleep 0.2
        alive=$(ask_master | sed -n 's/.*"aliveworkers":\([0-9]*\).*/\1/p')
    done
    echo "cybelectl: Spark at $master with 2 workers, logs in $spark_results" >&2
    ( # without workers the driver would wait for ever
        tail -f --pid="$workers_process" /dev/null
        [ "$(cat "$private/state")" != stop ] || exit 0
        (refuse 'no worker of Spark is left' 'the last one ended before the driver' \
            "read the logs in $spark_results/logs") || kill "$(cat "$private/driver")"
    ) </dev/null &
}

spark_worker() { # on each node
    local cores=$worker_cores
    [ "$node" != "$first_node" ] || cores=$first_worker_cores # master and driver are here too
    in_spark SPARK_LOCAL_DIRS="$scratch" SPARK_LOCAL_IP="$node" \
        spark-class org.apache.spark.deploy.worker.Worker --host "$node" --cores "$cores" \
        --memory "${worker_mib}m" --webui-port 0 --work-dir "$scratch" \
        "$master" >"$spark_results/logs/worker-$node.log" 2>&1
}

spark_driver() { # PROGRAM WORD...
    echo "$BASHPID" >"$private/driver"
    in_spark SPARK_LOCAL_IP="$spark_host" SPARK_LOCAL_DIRS="$private" \
        spark-submit --master "$master" --deploy-mode client "$@"
}

stop_spark() { # workers, then the master
    echo stop >"$private/state"
    timeout 8 tail -s 0.1 -f --pid="$workers_process" /dev/null || kill "$workers_process"
    timeout 3 tail -s 0.1 -f --pid="$workers_process" /dev/null
    kill "$master_process"
    timeout 3 tail -s 0.1 -f --pid="$master_process" /dev/null
    kill_marked "CYBELE_LAUNCH=$private"
} 2>/dev/null

launch() { # PROGRAM ARGUMENT...: in the background, not ignoring INT and QUIT
    [ "$ended" = no ] || exit 143
    (trap - INT QUIT; declare -F -- "$1" >/dev/null || eval "$cybele_own"'exec "$@"'; "$@") \
        {idle}<&- &
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
    set +e; [ -z "${master_process+set}" ] || stop_spark
    for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    rm -rf -- "$private"
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 3598 ] || state=timeout # 2 s before the limit
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%(%s)T,"end":%(%s)T,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$code" "$((code > 128 && code < 193 ? code - 128 : 0))" \
        -2 -1 "\"host\":\"$here\"" >"$new" && mv -f -- "$new" "$record/exit.json"
    exit "$code"
}

refuse() { # WHAT BECAUSE HELP
    [ "$ended" = no ] || exit 143
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

cybele_own='' # for programs: variables whose names this script may use
for cybele_name in $(compgen -e -X '*[^[:lower:]_]*'); do
    [[ $cybele_name == *_proxy* ]] ||
        cybele_own+="unset -v $cybele_name; export $cybele_name=${!cybele_name@Q}; "; done
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
name=soybean-train ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} private=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # sent to each process of the job
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
