#!/bin/bash
#PBS -N learn
#PBS -l select=1:ncpus=6:mpiprocs=2
#PBS -l walltime=00:10:00
#PBS -J 0-1
#PBS -W depend=afterok:123
#PBS -j oe
# From packed.job.yaml by cybelectl VERSION. Change that file, not this one.
set -euo pipefail

main() {
    need_pbs_job
    array_index=${PBS_ARRAY_INDEX:-}
    enter_folder "$PBS_O_WORKDIR" "$job_number"
    # From here on. What else is written goes into the file of the batch system (-j oe).
    exec >learn-"$job_number-$array_index".out 2>learn-"$job_number-$array_index".err
    be_element
    start_once "${PBS_JOBID:-}"
    need_cpus 2 3 # per node: ranks, threads of each
    run_rows
}

run_row() {

    export {OMP,MKL,OPENBLAS,BLIS,NUMEXPR}_NUM_THREADS=3
    echo 'cybelectl: job learn, 1 node, 2 rows at a time, 3 threads each, no image' >&2
    launch train --lr "$CYBELE_SWEEP_lr"
}

# ---- The functions; `cybelectl explain scripts` describes each ----
# sha256:9295af1c8855e43016f30df646946f446c81ee0e35d64a8539da0d92384a0ab7, templates VERSION
enter_folder() { # FOLDER of submission, NUMBER of the job
    cd -- "$1" || refuse "cannot enter '$1' on $here" \
        'the job was submitted there' 'submit from a shared file system'
    [ -z "${CYBELE_JOB:-$2}" ] || : "${record:=$PWD/.cybelectl/${CYBELE_JOB:-$name-$2}}"
    export -n CYBELE_JOB CYBELE_JOB_DIR # not for jobs that this one submits
}

need_pbs_job() { # job_number is the same for the elements of an array
    job_number=${PBS_JOBID:-local}
    job_number=${job_number%%[.[]*}
    [ -r "${PBS_O_WORKDIR:+${PBS_NODEFILE:-}}" ] || refuse 'this is not a job of PBS' \
        'PBS_O_WORKDIR or PBS_NODEFILE is missing' 'submit it with qsub'
}

be_element() {
    [ -n "$array_index" ] || refuse 'this job is not an element of an array' \
        'the scheduler gave no index' 'submit it, do not run it'
    export CYBELE_ARRAY_INDEX=$array_index
    [ -z "$record" ] || record=$record/$array_index
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

choose_row() { # NUMBER: the values of the sweep's row
    case $1 in
        0) set -- 1 ;;
        1) set -- 2 ;;
        2) set -- 3 ;;
        3) set -- 4 ;;
        4) set -- 5 ;;
        5) set -- 6 ;;
        6) set -- 7 ;;
        *) refuse "the sweep has no row $1" 'it has 7 rows, from 0' 'submit it again' ;;
    esac
    export CYBELE_SWEEP_lr="${1}"
}

run_rows() { # of this element, 2 at a time, each on CPUs of its own
    local row slot last mask first=$((${array_index:-0} * 4)) failed=0
    local -a slot_cpus=() slot_rows=() inboxes=()
    local job_number=${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-${job_number:-${CYBELE_JOB_ID:-0}}}}
    last=$((first + 4 < 7 ? first + 4 - 1 : 7 - 1))
    list_cpus
    exec {ends}<> <(:)
    umask >&"$ends"
    read -r -u "$ends" mask
    row_processes=() payload=rows
    make_records
    for ((row = first; row <= last; row++)); do
        find_slot
        [ "$ended" = no ] || break
        [ -n "${row_processes[slot]:-}" ] || start_slot
        slot_rows[slot]=$row
        echo "${slot_rows[slot]}" >&"${inboxes[slot]}"
    done
    while [ "${#slot_rows[@]}" -gt 0 ]; do
        take_row
    done
    for slot in "${!row_processes[@]}"; do
        echo >&"${inboxes[slot]}" # no further row
        wait "${row_processes[slot]}" || :
    done
    row_processes=() payload=''
    [ "$ended" = no ] || exit 143
    [ "$failed" -eq 0 ] || refuse "$failed of the rows $first to $last failed" \
        'each has a record and outputs of its own' "read them: cybelectl job results $job_number"
}

make_records() { # the folders of all rows, by one process
    local -a folders=()
    [ -n "$record" ] || return 0
    for ((row = first; row <= last; row++)); do
        folders+=("$row")
    done
    (umask 077 && { [ -d "$record" ] || mkdir -p -- "$record"; } &&
        cd -- "$record" && exec mkdir -p -- "${folders[@]}") || :
}

list_cpus() { # of each slot; fewer CPUs than the rows need are shared by all
    local word parts part cpu IFS=$' ,\t'
    local -a all_cpus=()
    command -v taskset >/dev/null || return 0
    while read -r word parts && [[ $word != Cpus_allowed_list: ]]; do
        :
    done <"/proc/$$/status" || return 0
    for part in $parts; do
        for ((cpu = ${part%-*}; cpu <= ${part#*-}; cpu++)); do
            all_cpus+=("$cpu")
        done
    done
    IFS=,
    for ((slot = 0; slot < 2 && ${#all_cpus[@]} >= 6; slot++)); do
        slot_cpus[slot]="${all_cpus[*]:slot * 3:3}"
    done
}

find_slot() { # that no row has
    for ((slot = 0; slot < 2; slot++)); do
        [ -n "${slot_rows[slot]:-}" ] || return 0
    done
    take_row
}

start_slot() { # the process that starts the rows of $slot, whose numbers come through its inbox
    local inbox=${inboxes[slot]:-}
    [ -z "$inbox" ] || exec {inbox}<&- # of one that was killed
    exec {inbox}<> <(:)
    inboxes[slot]=$inbox
    serve_slot "${slot_cpus[slot]:-}" &
    row_processes[slot]=$!
}

take_row() { # the end of a row, which its slot's process says, unless it is killed
    local number code gone seen mark
    while :; do
        number='' mark=''
        read -r -t 0.2 -N 1 -u "$ends" mark || : # a time limit within a line would lose the end
        [ -z "$mark" ] || read -r -u "$ends" slot number code gone || number=''
        [ -z "$number" ] || [ "${slot_rows[slot]:-}" != "$number" ] || break
        for slot in "${!slot_rows[@]}"; do # bash 5.2 may not hear of an end
            code=0 gone=yes seen=''
            read -r seen 2>/dev/null <"/proc/${row_processes[slot]}/stat" || :
            if [[ -z $seen || $seen == *') Z '* ]]; then
                wait "${row_processes[slot]}" || code=$?
                break 2
            fi
        done
    done
    [ "$code" -eq 0 ] || failed=$((failed + 1))
    unset -v "slot_rows[slot]"
    [ "$gone" = no ] || { wait "${row_processes[slot]}" && :; unset -v "row_processes[slot]"; }
}

serve_slot() { # CPU,...: one row after another, in a process of its own
    local inbox=${inboxes[slot]} other signal signalled seen
    trap 'finish_slot' EXIT
    trap 'signalled=yes ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' TERM INT HUP
    for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do
        trap -- "signalled=yes; forward_signal $signal" "$signal"
    done
    row_processes=() payload='' served='' served_slot=$slot spent=0 # locals are gone at an exit
    meter=$inbox # empty while a row runs
    for other in "${inboxes[@]}"; do
        [ "$other" = "$inbox" ] || exec {other}<&-
    done
    [ -z "$1" ] || taskset -pc "$1" "$BASHPID" >/dev/null 2>&1 || :
    umask 077
    while [ "$ended" = no ] && read -r -u "$inbox" served && [ -n "$served" ]; do
        printf -v start '%(%s)T' -1
        serve_row "$served" {idle}<&- {ends}<&- {inbox}<&- &
        payload=$! code='' signalled=yes
        while [ "$signalled" = yes ]; do # a signal ends `wait`, and then its code is not the row's
            signalled=no seen=0
            wait "$payload" || seen=$?
            [[ $seen = @(127|-1) && -n $code ]] || code=$seen # bash 5.2 says -1, too
        done
        write_record "$code" "$served" || :
        echo " $served_slot $served $code $ended" >&"$ends"
        served='' payload=''
    done
    exit 0 # at the end of a function, bash 4 calls no trap
}

finish_slot() { # a signal came while its row was not started
    local code=$? process
    trap - EXIT
    trap '' TERM INT HUP ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    if [ -n "$served" ]; then
        for process in $(jobs -p); do
            kill "$process" 2>/dev/null || :
        done
        write_record "$code" "$served" || :
        echo " $served_slot $served $code yes" >&"$ends"
    fi
    exit "$code"
}

serve_row() { # ROW: in a process of its own, until `launch` gives it to the program
    trap : ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ # are for the program
    umask "$mask"
    [ -z "$record" ] || record=$record/$1
    array_index=row$1
    export CYBELE_ARRAY_INDEX=$1
    choose_row "$1"
    local output=learn-"$job_number-$array_index".out errors=learn-"$job_number-$array_index".err
    [ "${output:0:1}" = / ] || output=$PWD/$output
    [ "${errors:0:1}" = / ] || errors=$PWD/$errors
    exec >"$output" 2>"$errors"
    if [ -d "${record:-}" ]; then
        printf '%s\n' "$output" "$errors" >"$record/output" || :
    fi
    run_row
}

need_cpus() { # RANKS THREADS
    cpus=${NCPUS:-0} # of the chunk: the node file has a line per rank
    [ "$cpus" -eq 0 ] || [ "$(($1 * $2))" -le "$cpus" ] ||
        refuse "too few CPUs per node: $cpus, not $1 x $2 (ranks x threads)" \
            'threads slow each other down on one CPU' 'ask for fewer threads'
}

launch() { # PROGRAM ARGUMENT...: in place of the row's shell, which ignores INT and QUIT
    trap - INT QUIT ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    declare -F -- "$1" >/dev/null || eval "$cybele_own"'exec "$@"'
    "$@"
}

finish_job() {
    local code=$?
    trap '' HUP INT QUIT TERM ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ
    set +e; for payload in $(jobs -p); do kill "$payload" 2>/dev/null; done
    write_record "$code"
    exit "$code"
}

write_record() { # CODE [ROW]: of the job, or of a row without a further process
    local code=$1 state=failed record=${record:+$record${2:+/$2}} used='' more
    local new=$record/.exit.json.$$ file=$record/exit.json
    [ -n "${2:-}" ] || file=$new
    [ -n "$record" ] && umask 077 || return "$code"
    [ -d "$record" ] || mkdir -p -- "$record" || return "$code"
    [ "$code" -ne 0 ] || state='done'
    [ "$ended" = no ] || state=cancelled
    [ "$ended" = no ] || [ "$SECONDS" -lt 598 ] || state=timeout # 2 s before the limit
    times >&"$meter" # a file that is cut for each row waits for the disk
    read -r -u "$meter" used && read -r -u "$meter" more && used="$used $more"
    used=${used//[.,s]/} # such as 1m2.345s four times
    used=${used//m/*60000+10#} && used=$((${used//[[:space:]]/+} - spent)) spent=$((spent + used))
    printf '{"uuid":"%s","state":"%s","code":%d,"signal":%d,"start":%(%s)T,"end":%(%s)T,%s}\n' \
        "${CYBELE_JOB:-}" "$state" "$code" "$((code > 128 && code < 193 ? code - 128 : 0))" \
        "$start" -1 "\"host\":\"$here\",\"cpu-milliseconds\":$used" >"$file" &&
        [ "$file" = "$new" ] && mv -f -- "$new" "$record/exit.json"
}

forward_signal() {
    if [ "$payload" = rows ]; then
        [ "${#row_processes[@]}" -eq 0 ] || kill -s "$1" "${row_processes[@]}" 2>/dev/null || :
        return 0
    fi
    [ -z "$payload" ] || kill -s "$1" "$payload" 2>/dev/null || :
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
name=learn ended=no payload='' && read -r here </proc/sys/kernel/hostname
record=${CYBELE_JOB:+${CYBELE_JOB_DIR:-}} row_processes=() spent=0
exec {idle}<> <(:); meter=$idle
printf -v start '%(%s)T' -2
trap 'ended=yes; [ -n "$payload" ] || exit 143; forward_signal TERM' HUP INT QUIT
trap 'ended=yes; [ -n "$payload" ] || exit 143' TERM # sent to each process of the job
for signal in ALRM PROF URG USR1 USR2 VTALRM WINCH XCPU XFSZ; do # some end it with code 0
    trap -- "forward_signal $signal" "$signal"
done
trap finish_job EXIT
main "$@"
