#!/bin/bash
#PBS -N host-mpi
#PBS -l select=2:ncpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
# From host-mpi.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_pbs_job 2
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    # From here on. What else is written goes into the file of the batch system (-j oe).
    exec >host-mpi-"$job_number".out 2>host-mpi-"$job_number".err
    start_once "${PBS_JOBID:-}"
    need_cpus 2 1 # per node: ranks, threads of each

    exported=() # over ssh
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    # Not bound to cores: other jobs may have the nodes too, unless the Job has `exclusive: true`.
    launcher=(mpirun -np 4 --map-by ppr:2:node --bind-to none)
    echo 'cybelectl: job host-mpi, 2 nodes, 4 ranks, 1 thread each,' 'no image' >&2
    name_hosts
    check_launcher
    # no check of the ranks: no program for it is known in the image
    launch "${launcher[@]}" ./app
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:fffe76385611ca28ce2816ce422bd65c1c4639049d4932a2ccc9cffc217906f8, templates VERSION
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

need_cpus() { # RANKS THREADS
    cpus=${NCPUS:-0} # of the chunk: the node file has a line per rank
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "too few CPUs per node: $cpus, not $1 x $2 (ranks x threads)" \
            'threads slow each other down on one CPU' 'ask for fewer, or set launch.oversubscribe'
}

set_variables() { # NAME=VALUE...
    export "${@?}" # the ? is for shellcheck
    exported+=("${@%%=*}")
}

check_launcher() {
    [ "$EUID" -ne 0 ] || refuse 'mpirun does not start programs as root' \
        'the Job does not allow it' 'set launch.allow-root if root is meant'
    command -v "${launcher[0]}" >/dev/null || refuse "there is no ${launcher[0]} on $here" \
        'it starts the ranks' 'load its module, or name it in the Site'
}

name_hosts() { # of the allocation, and the variables that they need
    local variable
    hosts=(--hostfile "$PBS_NODEFILE")
    for variable in "${exported[@]}"; do
        hosts+=(-x "$variable")
    done
    launcher=("${launcher[0]}" "${hosts[@]}" "${launcher[@]:1}")
}

launch() { # PROGRAM ARGUMENT...: in the background, not ignoring INT and QUIT
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
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
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
    printf 'error: %s\nbecause: %s\nhelp: %s\n' "$@" >&2
    exit 1
}

cybele_own='' # for programs: variables whose names this script may use
for cybele_name in $(compgen -e -X '*[^[:lower:]_]*'); do
    [[ $cybele_name == *_proxy* ]] ||
        cybele_own+="unset -v $cybele_name; export $cybele_name=${!cybele_name@Q}; "; done
[[ ${CYBELE_JOB:-} != *[!0-9a-f-]* ]] || unset -v CYBELE_JOB
name=host-mpi ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}}
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # sent to each process of the job
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
