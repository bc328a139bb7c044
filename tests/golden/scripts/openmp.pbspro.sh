#!/bin/bash
#PBS -N stencil
#PBS -l select=1:ncpus=4:mpiprocs=1:mem=1500mb
#PBS -l place=scatter
#PBS -l walltime=01:30:00
#PBS -j oe
# From openmp.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_pbs_job 1
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    exec >stencil-"$job_number".out 2>stencil-"$job_number".err
    start_once "${PBS_JOBID:-}"
    use_image 'images/sten cil.sif' apptainer singularity cybelectl
    need_cpus 1 4 # of each node: ranks, threads of each

    hide_host_settings
    export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 BLIS_NUM_THREADS=4
    export NUMEXPR_NUM_THREADS=4 OMP_PLACES=cores OMP_PROC_BIND=spread LABEL='a b,c' LEVEL=3
    options=(-B "$HOME"/data:/data:ro -B /scratch)
    pass_on OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS BLIS_NUM_THREADS
    pass_on NUMEXPR_NUM_THREADS OMP_PLACES OMP_PROC_BIND LEVEL
    read_secret TOKEN "$HOME"/.token

    container=("$runtime" exec "${options[@]}" "$image")
    echo 'cybelectl: job stencil, 1 node, 1 rank, 4 threads each,' \
        'MPI of the host unknown, of the image unknown, image as found' >&2
    launch "${container[@]}" env 'LABEL=a b,c' stencil --size 4096
}

# ---- What main calls, the same in each script: see `cybelectl explain scripts` ----
# sha256:fbbbce8cf2bab952e4bbae6be63dfab6251a880d8bd9d10b4631b2c26f767a93, templates VERSION

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

read_secret() { # VARIABLE FILE
    [ -r "$2" ] || refuse "cannot read '$2' on $(uname -n)" \
        "the job's environment takes $1 from it" 'put it there, readable to you alone'
    printf -v "$1" %s "$(<"$2")"
    export "${1?}"
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
    write_record "$code" || :
    exit "$code"
}

write_record() { # CODE: exit.json appears when it is complete
    local state=failed signal=0 end host used=0 new=$record/.exit.json.$$
    [ "$1" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 5398 ] || state=timeout
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

name=stencil ended=no payload='' record=''
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
