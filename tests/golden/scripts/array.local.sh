#!/bin/bash
# From array.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

# shellcheck disable=SC2016,SC2054 # words of the Job are literal
main() {
    enter_folder "${CYBELE_SUBMIT_DIR:-$PWD}" '' # without the local scheduler: where it is started
    array_index=${CYBELE_ARRAY_INDEX:-}
    be_element
    use_image "$PWD"/sweep.sif cybelectl

    unset -v LD_{PRELOAD,AUDIT} PYTHON{HOME,PATH,STARTUP,USERBASE} PERL5LIB # meant for the host
    options=()
    set_variables {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    container=("$runtime" exec "${options[@]}" "$image")
    echo 'cybelectl: job sweep, 1 node, 1 rank, 1 thread each, no signature required' >&2
    send_signal_after 480 USR1
    launch "${container[@]}" /bin/sh -eu -c 'set -x
test "$CYBELE_ARRAY_INDEX" -ge 0 && echo "it'\''s $CYBELE_ARRAY_INDEX"
' sweep "$@"
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:284f81f1e5159c50bee50102052ee8d820b69cbd9105b90914cd48b0075c6d42, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
}

be_element() {
    [ -n "$array_index" ] || refuse 'this job is not an element of an array' \
        'the scheduler gave no index' 'submit it, do not run it'
    export CYBELE_ARRAY_INDEX=$array_index
    [ -z "$record" ] || record=$record/$array_index
}

use_image() { # FILE PROGRAM...: the first program that is here is the runtime
    image=$1
    runtime=$(command -v "${@:2}" | head -n 1) || refuse "there is no container runtime on $here" \
        "looked for ${*:2}" 'install one, or name it in the Site (runtime)'
    [ -r "$image" ] || refuse "cannot read the image '$image' on $here" \
        'it is not there, or not readable' 'move it to a shared file system'
}

set_variables() { # NAME=VALUE...: here and in the container
    export "${@?}" # the ? is for shellcheck
    options+=("${@/#/--env=}")
}

send_signal_after() { # SECONDS SIGNAL: the scheduler sends none before the end
    (
        sleep "$1" &
        nap=$!
        trap 'kill "$nap" 2>/dev/null; exit 0' TERM
        wait "$nap" && kill -s "$2" "$$"
    ) </dev/null >/dev/null 2>&1 &
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
name=sweep ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}}
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
