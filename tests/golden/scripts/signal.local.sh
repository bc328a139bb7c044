#!/bin/bash
# From signal.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    enter_folder "${CYBELE_SUBMIT_DIR:-$PWD}" '' # without the local scheduler: where it is started

    export {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=1
    echo 'cybelectl: job signal, 1 node, 1 rank, 1 thread each, no image' >&2
    send_signal_after 6900 USR1
    launch simulate --resume
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:ff1597f1297c351593485373a0dfc0d8aad3ab604b80d52a6c931b352ba254fe, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
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
    [ "$ended" = no ] || [ "$SECONDS" -lt 7198 ] || state=timeout # 2 s before the limit
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
name=signal ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}}
exec {idle}<> <(:) # to read it is to wait
trap 'ended=yes; [ -n "$payload" ] || exit 143; kill "$payload" 2>/dev/null || :' HUP INT QUIT TERM
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "kill -s $signal \"\$payload\" 2>/dev/null || :" "$signal"
done
trap finish_job EXIT
main "$@"
