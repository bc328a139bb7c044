#!/bin/bash
#SBATCH --nodes=2
#SBATCH --job-name=bound
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out
#SBATCH --error=%x-%j.err
#SBATCH --export=ALL
# Rendered by cybelectl for slurm, template set VERSION.
# Job bound, sha256:87665786fc235202238c970de93548ff75e9461a0c9d0b2a64b4c4ebf27dafc5
set -euo pipefail

# --- The end: signals go to the program, its exit code is the job's, and how it ended is written down.
name=bound
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

# --- Slurm
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
image=bound.sif
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
threads=1
available=$(cpus_of_poorest_node)
if [ "$available" -gt 0 ] && [ "$((ranks_per_node * threads))" -gt "$available" ]; then
    refuse "$ranks_per_node ranks a node with $threads threads each do not fit on $available CPUs" \
        'more processes than CPUs slow every one of them down' \
        'ask for fewer threads'
fi

# --- Environment of the program
# Of the host's own settings these would mislead what runs in the container.
unset -v LD_PRELOAD LD_AUDIT PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
# These of a user's own would hide from the ranks what their launcher tells them.
unset -v APPTAINER_PID APPTAINER_NET APPTAINER_CONTAIN APPTAINER_CLEANENV APPTAINER_CONTAINALL SINGULARITY_PID SINGULARITY_NET SINGULARITY_CONTAIN SINGULARITY_CLEANENV SINGULARITY_CONTAINALL
export OMP_NUM_THREADS=1
export MKL_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
# Ranks in user namespaces of their own may not copy from each other's memory; root's are in none.
# cybelectl joins a node's ranks in one, and sees to the rest itself.
if [ "$(id -u)" -ne 0 ] && [ "${runtime##*/}" != cybelectl ]; then
    export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"
    export OMPI_MCA_smsc="${OMPI_MCA_smsc:-^cma}" UCX_TLS="${UCX_TLS:-^cma}"
    export UCX_POSIX_USE_PROC_LINK="${UCX_POSIX_USE_PROC_LINK:-n}" MPIR_CVAR_CH4_CMA_ENABLE="${MPIR_CVAR_CH4_CMA_ENABLE:-0}"
fi
options=(
    --env OMP_NUM_THREADS=1
    --env MKL_NUM_THREADS=1
    --env OPENBLAS_NUM_THREADS=1
    --env BLIS_NUM_THREADS=1
    --env NUMEXPR_NUM_THREADS=1
)

# --- The launch; the words are the job's own, as it gave them
# --- The host's MPI, bound over the image's: where it is, what it needs, and whether it may be bound
host_libraries=/opt/cybelectl/host-mpi
host_prefix=/opt/openmpi
path_of() { # KIND: of an Open MPI
    "${host_prefix:+$host_prefix/bin/}ompi_info" --parsable --path "$1" 2>/dev/null | sed -n "s/^path:$1://p" || :
}
find_host_mpi() { # prints the paths of the libraries that exist, the preferred one first
    local folder file
    {
        if [ -n "$host_prefix" ]; then
            printf '%s\n' "$host_prefix"/lib{,64,/release} "$host_prefix"/lib/*-linux-gnu
        else
            path_of libdir
            mpicc -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-L//p'
            file=$(command -v mpirun) && printf '%s\n' "$(dirname "$(readlink -f "$file")")"/../lib{,64}
            # An ordinary user's PATH may lack sbin.
            PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | sed -n 's|.* => \(.*\)/libmpi\.so\..*|\1|p' || :
        fi
    } | while read -r folder; do # to the end: SIGPIPE in the writer would end the job under pipefail
        for file in "$folder"/libmpi.so.40*; do
            [ ! -r "$file" ] || printf '%s\n' "$file"
        done
    done
}
host_library=$(find_host_mpi)
host_library=${host_library%%$'\n'*}
if [ -z "$host_library" ]; then
    refuse 'the host'\''s MPI is not on this machine below '\''/opt/openmpi'\''' 'the image'\''s programs ask for libmpi.so.40, which was not found there' \
        'name its prefix as host-mpi under launch, or write launch: mpi'
fi
# Everything that it loads but the C library, which is the image's; its parts, at the places where it looks.
host_parts=()
for part in "$(path_of pkglibdir)" "$(path_of pkgdatadir)" "$(dirname "$(readlink -f "$host_library")")"/pmix*/lib/pmix /usr/lib/*-linux-gnu/pmix*/lib/pmix; do
    if [ -d "$part" ]; then
        host_parts+=("$part")
        options+=(-B "$part")
    fi
done
while read -r file; do
    options+=(-B "$file:$host_libraries/${file##*/}:ro")
done < <({
    printf '%s => %s\n' "${host_library##*/}" "$host_library"
    for part in "${host_library%/*}"/libmpi_*.so.??; do # of Fortran and C++
        [ ! -r "$part" ] || printf '%s => %s\n' "${part##*/}" "$part"
    done
    ldd "$host_library"
    [ ${#host_parts[@]} -eq 0 ] || find "${host_parts[@]}" -name '*.so' -exec ldd {} + 2>/dev/null
} | awk '$2 == "=>" && $3 ~ /^\// && !seen[$1]++ {print $1, $3}' |
    awk '$1 !~ /^(ld-linux|libc|libm|libpthread|libdl|librt|libresolv|libutil|libnsl|libanl|libmvec|libthread_db|libnss_[a-z]*)(-[0-9.]*)?\.so/ {print $2}')
may_bind() {
    exec "$runtime" exec "${options[@]}" "$image" test -r "$host_libraries/${host_library##*/}" 2>"$private/errors"
}
may_load() { # a library that is too new for the image's own C library does not load
    exec "$runtime" exec "${options[@]}" "$image" env LD_LIBRARY_PATH="$host_libraries" \
        LD_PRELOAD="$host_libraries/${host_library##*/}" true 2>"$private/errors"
}
contained=("$runtime" exec "${options[@]}" "$image" env LD_LIBRARY_PATH="$host_libraries")
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
program=("${contained[@]}" /.singularity.d/runscript)
printf 'cybelectl: job %s, %s nodes, %s ranks, %s threads each, MPI of the host %s, of the image %s, image %s\n' \
    "$name" "$nodes" "$ranks" "$threads" unknown 'openmpi 4.1.4' 'as found' >&2
if [ "$(id -u)" -eq 0 ]; then
    refuse 'mpirun does not start programs as root' 'the job does not allow it' \
        'write allow-root: true under launch where root is meant'
fi
# shellcheck disable=SC2016,SC2054 # words of the job are taken literally, also `$` and commas
launcher=(/opt/openmpi/bin/mpirun -np 4 --map-by ppr:2:node:PE=1 --bind-to core)
command -v "${launcher[0]}" >/dev/null || refuse "there is no ${launcher[0]} on $(uname -n)" \
    'it starts the ranks' "install an MPI, or name the site's with its modules in the Site"
once_a_node=(/opt/openmpi/bin/mpirun -np 2 --map-by ppr:1:node --bind-to none)
check "${once_a_node[@]}" test -r "$image"
if [ "$code" -ne 0 ]; then
    refuse "the image '$image' cannot be read on every node" \
        "the check of the $nodes nodes ended with code $code" \
        'put it on a file system that all nodes share'
fi
private=$(mktemp -d "${TMPDIR:-/tmp}/cybelectl.XXXXXX")
check may_bind
if [ "$code" -ne 0 ]; then
    refuse "the host's MPI '$host_library' cannot be bound into the container" \
        "$(tail -n 1 "$private/errors")" 'ask the centre to let users bind (user bind control), or write launch: mpi'
fi
check may_load
if [ "$code" -ne 0 ] || [ -s "$private/errors" ]; then
    refuse "the host's MPI '$host_library' does not load in this image" \
        "$(head -n 1 "$private/errors")" 'take an image with a C library as new as the host'\''s, or write launch: mpi'
fi
# The guard: MPI in the container must see all ranks, or N jobs of one rank would compute N times the
# same and end with 0. No exit code shows that, so the image's own MPI is asked.
[ -n "$private" ] || private=$(mktemp -d "${TMPDIR:-/tmp}/cybelectl.XXXXXX")
probe() {
    exec timeout -k 5 60 "${launcher[@]}" "${contained[@]}" /opt/cybelectl/bin/mpi-probe \
        >"$private/answers" 2>"$private/errors"
}
check probe
sed -n 's/^cybelectl-probe rank \([0-9]*\) of \([0-9]*\) host .*/\1 \2/p' "$private/answers" |
    sort -u >"$private/ranks"
good=$(grep -c " $ranks\$" "$private/ranks" || :)
if [ "$code" -ne 0 ] || [ "$good" -ne "$ranks" ]; then
    cat -- "$private/errors" >&2
    started="$ranks ranks were started, but MPI in the container"
    pair='launcher mpirun of Open MPI (host MPI unknown), MPI of the image openmpi 4.1.4'
    remedy='start the ranks with an MPI of the image'\''s family, and let the environment pass (no --cleanenv, no --containall)'
    sizes=$(awk '{print $2}' "$private/ranks" | sort -nu | paste -sd ' ' -)
    case $code:$sizes in
        124:* | 137:*) refuse "$started gave no answer in 60 s" "$pair" "$remedy" ;;
        *:'') refuse "$started did not start (code $code)" "$pair" "$remedy" ;;
        *:"$ranks") refuse "$started reached $good of them only (code $code)" "$pair" "$remedy" ;;
    esac
    refuse "$started sees $sizes" 'nothing of the launcher'\''s PMIx or PMI reached the container: its environment was cleared, or the pair does not match: '"$pair" "$remedy"
fi
run "${launcher[@]}" "${program[@]}"
[ "$code" -eq 0 ] || exit "$code"
