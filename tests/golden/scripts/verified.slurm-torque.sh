#!/bin/bash
#PBS -N verified
#PBS -l select=1:ncpus=2:mpiprocs=1
#PBS -l walltime=00:10:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# From verified.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${SLURM_SUBMIT_DIR:-$PWD}" "${SLURM_JOB_ID:-}"
    start_once "${SLURM_JOB_ID:-}"
    use_image "$PWD"/store/app.sif apptainer singularity cybelectl
    need_cpus 1 2 # per node: ranks, threads of each
    verified=() # options of cybelectl, which mounts the very bytes that it verified
    verified=(--require all)
    verify_at_start --verify-key centre.pub "$HOME"/mine.pub
    copy_image 1 # number of nodes; not needed if the runtime verifies it
    verify_keys all centre.pub "$HOME"/mine.pub # for the job

    unset -v LD_{PRELOAD,AUDIT} PYTHON{HOME,PATH,STARTUP,USERBASE} PERL5LIB # meant for the host
    options=("${verified[@]}")
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=2 OMP_PLACES=cores OMP_PROC_BIND=close
    container=("$runtime" exec "${options[@]}" "$image")
    echo 'cybelectl: job verified, 1 node, 1 rank, 2 threads each, signature required' >&2
    launch "${container[@]}" app
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:0ed8f1c40adc8bd5b71108b4511a8db190e4b9e0780f34c4cd13abbe9109b3d6, templates VERSION
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

verify_at_start() { # OPTION FILE...: where the runtime is cybelectl
    local file
    if [ "${runtime##*/}" != cybelectl ]; then
        verified=()
        return
    fi
    for file in "${@:2}"; do
        [ "${file:0:1}" = / ] || file=$PWD/$file
        verified+=("$1" "$file")
    done
}

copy_image() { # NODES: others could exchange the image once it is verified; the copy they cannot
    local folder scratch=''
    local -a folders=("${TMPDIR:-/tmp}" /tmp)
    verifier=$(type -P cybelectl) || verifier=$runtime
    [ "${#verified[@]}" -eq 0 ] || return 0
    if [ "$1" -gt 1 ]; then
        folders=("$PWD" "${HOME:-/}") # all nodes read them
    fi
    for folder in "${folders[@]}"; do
        if [ -w "$folder" ] && is_own "$folder"; then
            scratch=$folder
            break
        fi
    done
    [ -n "$scratch" ] ||
        refuse "no private copy of the image can be made in '${folders[0]}' on $here" \
            'other users can exchange what is in it, or it cannot be written' \
            'set TMPDIR, or the workdir of a Job of several nodes, to a folder of your own'
    image_folder=$(umask 077 && mktemp -d "$scratch/.cybelectl-image.XXXXXX") ||
        refuse "cannot make a folder in '$scratch' on $here" \
            'a private copy of the image is verified there' 'free some space there, or set TMPDIR'
    cp -- "$image" "$image_folder/${image##*/}" ||
        refuse "cannot copy the image '$image' to '$scratch' on $here" \
            'a private copy of it is verified and runs' 'free some space there, or set TMPDIR'
    image=$image_folder/${image##*/}
}

is_own() { # FOLDER: no other user can exchange what is in it
    local place owner group mode
    place=$(cd -P -- "$1" 2>/dev/null && pwd) || return 1
    while read -r owner group mode < <(stat -c '%u %g %a' -- "$place"); do
        if [ "$owner" -ne 0 ] && [ "$owner" -ne "$EUID" ]; then
            # A user namespace without root shows root's folders as those of user 65534.
            if [ "$owner" -ne 65534 ] || grep -q 4294967295 /proc/self/uid_map; then
                return 1
            fi
        fi
        if [ $((8#$mode & 8#1000)) -eq 0 ]; then # not sticky, as /tmp is
            if [ $((8#$mode & 8#2)) -ne 0 ] ||
                { [ $((8#$mode & 8#20)) -ne 0 ] && [ "$group" -ne "$owner" ]; }; then
                return 1
            fi
        fi
        [ "$place" != / ] || return 0
        place=${place%/*}
        place=${place:-/}
    done
    return 1
}

verify_keys() { # any|all|N KEY...
    local required=$1 good=0 key said digest seen='' count=0
    local -a keys=()
    [ "${#verified[@]}" -eq 0 ] || return 0
    shift
    for key in "$@"; do
        [ -r "$key" ] || refuse "cannot read the key '$key' on $here" \
            'the image is verified with it' 'put it on a file system that all nodes share'
        keys+=(--key "$key")
    done
    if [ "${verifier##*/}" = cybelectl ]; then
        "$verifier" verify "${keys[@]}" --require "$required" "$image" >&2 ||
            refuse "the image '$image' is not verified" 'the reason is above' 'do what it says'
        return
    fi
    for key in "$@"; do
        if [ "$#" -gt 1 ]; then
            digest=$(digest_of "$key") || refuse "cannot compare the key '$key' with the others" \
                "neither cybelectl nor openssl can read it on $here" \
                'install one of them there'
            [[ $seen != *"$digest"* ]] || continue
            seen+=$digest
        fi
        count=$((count + 1))
        if said=$("$verifier" verify --key "$key" "$image" 2>&1); then
            good=$((good + 1))
        else
            printf '%s\n' "$said" >&2
        fi
    done
    case $required in
        any) required=1 ;;
        all) required=$count ;;
    esac
    [ "$good" -ge "$required" ] || refuse "the image '$image' is not verified" \
        "$good of $count keys have signed it, $required must" \
        'the messages above say why: sign the image, get it again, or name the right key'
}

digest_of() { # KEY: of the key itself, so that a second file of it is not a second signer
    { openssl ec -pubin -in "$1" -conv_form uncompressed -param_enc named_curve -outform DER ||
        openssl pkey -pubin -in "$1" -outform DER; } 2>/dev/null | sha256sum
}

set_variables() { # NAME=VALUE...: here and in the container
    export "${@?}" # the ? is for shellcheck
    options+=("${@/#/--env=}")
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
    local code=$? state=failed used='' new=$record/.exit.json.$$
    trap '' HUP INT QUIT TERM ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    rm -rf -- "$image_folder"
    [ -n "$record" ] && umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } || exit "$code"
    [ "$code" -ne 0 ] || state='done' # time -2 is the start, -1 is now
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 598 ] || state=timeout # 2 s before the limit
    times >"$new"
    read -r -d '' used <"$new" || used=${used//[.,s]/} # such as 1m2.345s four times
    used=${used//m/*60000+10#} && used=$((${used//[[:space:]]/+}))
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%(%s)T,"end":%(%s)T,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$code" "$((code > 128 && code < 193 ? code - 128 : 0))" \
        -2 -1 "\"host\":\"$here\",\"cpu-milliseconds\":$used" >"$new" &&
        mv -f -- "$new" "$record/exit.json"
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
name=verified ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} image_folder=''
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
