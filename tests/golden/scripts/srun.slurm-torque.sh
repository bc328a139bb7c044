#!/bin/bash
#PBS -N steps
#PBS -l select=2:ncpus=4:mpiprocs=2:mem=4096mb
#PBS -l walltime=49:00:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# From srun.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    start_once "${SLURM_JOB_ID:-}"
    export SLURM_EXPORT_ENV=ALL # variables for srun, which mpirun calls, too
    use_image "$PWD"/soybean.sif apptainer singularity cybelectl
    need_cpus 2 2 # per node: ranks, threads of each

    unset -v LD_{PRELOAD,AUDIT} PYTHON{HOME,PATH,STARTUP,USERBASE} PERL5LIB # meant for the host
    unset -v {APPTAINER,SINGULARITY}_{PID,NET,CONTAIN,CLEANENV,CONTAINALL} # would isolate ranks
    options=()
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=2 OMP_PLACES=cores OMP_PROC_BIND=close
    forbid_memory_reads # ranks in separate user namespaces cannot read each other's memory
    # With Slurm's own choice a rank may leave MPI_Init too early, and one start in 100 crashes.
    export SLURM_PMIX_FENCE="${SLURM_PMIX_FENCE:-ring}"
    container=("$runtime" exec "${options[@]}" "$image")
    launcher=(srun --mpi=pmix --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=2 \
        --kill-on-bad-exit=1)
    echo 'cybelectl: job steps, 2 nodes, 4 ranks, 2 threads each,' \
        'MPI in the image: openmpi 4.1.4, no signature required' >&2
    # An srun of Slurm 22.05 to 23.02 does not read this number from the allocation.
    export SRUN_CPUS_PER_TASK=2 SLURM_CPUS_PER_TASK=2
    check_launcher
    check_ranks 4 /opt/cybelectl/bin/mpi-probe # else N copies of one rank could run and end with 0
    launch "${launcher[@]}" "${container[@]}" preprocess
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:72018ef98d89aaa075db28b725e0bf2b614acaefa416d9525f9af6c4c3c7e2b0, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
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
    cpus=$(tr , '\n' <<<"${SLURM_JOB_CPUS_PER_NODE:-0}" | sort -n | sed '2,$d; s/[^0-9].*//')
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "too few CPUs per node: $cpus, not $1 x $2 (ranks x threads)" \
            'threads slow each other down on one CPU' 'ask for fewer, or set launch.oversubscribe'
}

set_variables() { # NAME=VALUE...: here and in the container
    export "${@?}" # the ? is for shellcheck
    options+=("${@/#/--env=}")
}

forbid_memory_reads() { # `cma` reads another process, PROC_LINK opens its files by /proc
    [ "$(id -u)" -ne 0 ] && [ "${runtime##*/}" != cybelectl ] || return 0
    set -a # export what is set here
    : "${OMPI_MCA_btl_vader_single_copy_mechanism:=none}" "${UCX_TLS:=^cma}" \
        "${UCX_POSIX_USE_PROC_LINK:=n}"
    set +a
}

check_launcher() {
    command -v "${launcher[0]}" >/dev/null || refuse "there is no ${launcher[0]} on $here" \
        'it starts the ranks' 'load its module, or name it in the Site'
}

check_ranks() { # RANKS PROBE, which prints "cybelectl-probe rank 0 of 4"
    local seen good cause what="$1 ranks were started, but MPI in the container"
    private=$(mktemp -d --tmpdir cybelectl.XXXXXX)
    launch timeout -k 5 60 "${launcher[@]}" "${container[@]}" "$2" \
        >"$private/answers" 2>"$private/errors" || :
    seen=$(awk '/^cybelectl-probe rank/ && !seen[$3, $5]++ {print $5}' "$private/answers" | sort)
    good=$(grep -cx "$1" <<<"$seen" || :)
    [ "$code:$good" != "0:$1" ] || { echo "cybelectl: $1 ranks see each other" >&2; return 0; }
    cat -- "$private/errors" >&2
    cause=$(sed -nE '/^(error|FATAL): +/{s///p;q}' "$private/errors")
    case $code:$good:$seen:${cause:+runtime} in # as 0:0:1: where each rank is alone
        124:* | 137:*) what+=' gave no answer in 60 s' ;;
        *::runtime) refuse "the container did not start on a node (code $code)" "$cause" \
            'correct what it names (see above)' ;;
        *::) what+=" did not start (code $code)" ;;
        *:0:*) what+=" sees $(uniq <<<"$seen" | xargs)" ;;
        *) what+=" reached only $good of them (code $code)" ;;
    esac
    refuse "$what" 'its environment was cleared, or it does not match the launcher (see above)' \
        "use an MPI of the image's family (no --cleanenv, no --containall)"
}

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
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    rm -rf -- "$private"
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 176398 ] || state=timeout # 2 s before the limit
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
name=steps ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} private=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
