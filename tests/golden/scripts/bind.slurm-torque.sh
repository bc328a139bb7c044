#!/bin/bash
#PBS -N bound
#PBS -l select=2:ncpus=2:mpiprocs=2
#PBS -l walltime=01:00:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# From bind.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    start_once "${SLURM_JOB_ID:-}"
    export SLURM_EXPORT_ENV=ALL # variables for srun, which mpirun calls, too
    use_image "$PWD"/bound.sif apptainer singularity cybelectl
    need_cpus 2 1 # per node: ranks, threads of each

    unset -v LD_{PRELOAD,AUDIT} PYTHON{HOME,PATH,STARTUP,USERBASE} PERL5LIB # meant for the host
    unset -v {APPTAINER,SINGULARITY}_{PID,NET,CONTAIN,CLEANENV,CONTAINALL} # would isolate ranks
    options=()
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    forbid_memory_reads # ranks in separate user namespaces cannot read each other's memory
    find_host_mpi /opt/openmpi
    container=("$runtime" exec "${options[@]}" "$image" env LD_LIBRARY_PATH="$host_libraries")
    launcher=(/opt/openmpi/bin/mpirun -np 4 --map-by ppr:2:node:PE=1 --bind-to core)
    echo 'cybelectl: job bound, 2 nodes, 4 ranks, 1 thread each,' \
        'MPI in the image: openmpi 4.1.4, no signature required' >&2
    check_launcher
    check_host_mpi
    check_ranks 4 /opt/cybelectl/bin/mpi-probe # else N copies of one rank could run and end with 0
    launch "${launcher[@]}" "${container[@]}" /.singularity.d/runscript
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:87665786fc235202238c970de93548ff75e9461a0c9d0b2a64b4c4ebf27dafc5, templates VERSION
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
            'threads slow each other down on one CPU' 'ask for fewer threads'
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

find_host_mpi() { # PREFIX: what will be bound over the image's MPI
    local file part
    host_libraries=/opt/cybelectl/host-mpi
    host_prefix=$1
    host_library=$(list_host_mpi)
    host_library=${host_library%%$'\n'*}
    [ -n "$host_library" ] || refuse \
        'the host'\''s MPI is not on this machine below '\''/opt/openmpi'\''' \
        'the image'\''s programs ask for libmpi.so.40, which was not found there' \
        'name its prefix as host-mpi under launch, or write launch: mpi'
    # Its parts, at the places where it looks for them.
    host_parts=()
    for part in "$(path_of pkglibdir)" "$(path_of pkgdatadir)" \
        "$(dirname "$(readlink -f "$host_library")")"/pmix*/lib/pmix \
        /usr/lib/*-linux-gnu/pmix*/lib/pmix; do
        if [ -d "$part" ]; then
            host_parts+=("$part")
            options+=(-B "$part")
        fi
    done
    while read -r file; do
        options+=(-B "$file:$host_libraries/${file##*/}:ro")
    done < <(list_needed)
}

list_host_mpi() { # the paths that exist, the preferred one first
    local folder file
    {
        if [ -n "$host_prefix" ]; then
            printf '%s\n' "$host_prefix"/lib{,64,/release} "$host_prefix"/lib/*-linux-gnu
        else
            path_of libdir
            mpicc -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-L//p'
            file=$(command -v mpirun) &&
                printf '%s\n' "$(dirname "$(readlink -f "$file")")"/../lib{,64}
            # An ordinary user's PATH may lack sbin.
            PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null |
                sed -n 's|.* => \(.*\)/libmpi\.so\..*|\1|p' || :
        fi
    } | while read -r folder; do # to the end: SIGPIPE in the writer would end the job
        for file in "$folder"/libmpi.so.40*; do
            [ ! -r "$file" ] || printf '%s\n' "$file"
        done
    done
}

path_of() { # KIND: of an Open MPI
    "${host_prefix:+$host_prefix/bin/}ompi_info" --parsable --path "$1" 2>/dev/null |
        sed -n "s/^path:$1://p" || :
}

list_needed() { # all that the library loads but the C library, which is the image's
    local part
    {
        printf '%s => %s\n' "${host_library##*/}" "$host_library"
        for part in "${host_library%/*}"/libmpi_*.so.??; do # of Fortran and C++
            [ ! -r "$part" ] || printf '%s => %s\n' "${part##*/}" "$part"
        done
        ldd "$host_library"
        [ ${#host_parts[@]} -eq 0 ] ||
            find "${host_parts[@]}" -name '*.so' -exec ldd {} + 2>/dev/null
    } | awk -v of_c="ld-linux|libc|libm|libpthread|libdl|librt|libresolv|libutil|libnsl|libanl" '
        $2 == "=>" && $3 ~ /^\// && !seen[$1]++ &&
            $1 !~ "^(" of_c "|libmvec|libthread_db|libnss_[a-z]*)(-[0-9.]*)?\\.so" {print $3}'
}

check_host_mpi() { # may it be bound, and does it load with the image's C library
    private=$(mktemp -d --tmpdir cybelectl.XXXXXX)
    launch in_image test -r "$host_libraries/${host_library##*/}" ||
        refuse "the host's MPI '$host_library' cannot be bound into the container" \
            "$(tail -n 1 "$private/errors")" \
            'ask the site to let users bind (user bind control), or write launch: mpi'
    launch in_image env LD_LIBRARY_PATH="$host_libraries" \
        LD_PRELOAD="$host_libraries/${host_library##*/}" true || :
    if [ "$code" -ne 0 ] || [ -s "$private/errors" ]; then
        refuse "the host's MPI '$host_library' does not load in this image" \
            "$(head -n 1 "$private/errors")" \
            "use an image with a C library as new as the host's, or write launch: mpi"
    fi
}

in_image() { # PROGRAM ARGUMENT...
    exec "$runtime" exec "${options[@]}" "$image" "$@" 2>"$private/errors"
}

check_launcher() {
    [ "$EUID" -ne 0 ] || refuse 'mpirun does not start programs as root' \
        'the Job does not allow it' 'set launch.allow-root if root is meant'
    command -v "${launcher[0]}" >/dev/null || refuse "there is no ${launcher[0]} on $here" \
        'it starts the ranks' 'load its module, or name it in the Site'
}

check_ranks() { # RANKS PROBE, which prints "cybelectl-probe rank 0 of 4"
    local seen good cause what="$1 ranks were started, but MPI in the container"
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
name=bound ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} private=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
