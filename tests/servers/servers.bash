# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites that run on real TORQUE and OpenPBS servers (tests/parts/batch-server), each from the prefix that is given by
# CYBELE_TORQUE_PREFIX or CYBELE_OPENPBS_PREFIX. A case runs on each server that is given. With CYBELE_SERVERS_FORGET each server forgets a
# job as soon as it has ended: keep_completed = 0, job_history_enable = False.
# shellcheck disable=SC2154 # place and parts_dir are of suite.bash

given=()
[[ -z ${CYBELE_TORQUE_PREFIX:-} ]] || given+=(torque)
[[ -z ${CYBELE_OPENPBS_PREFIX:-} ]] || given+=(openpbs)

# start_servers: all that are given, at least one, at the same time; they end with the suite.
start_servers() {
    local product prefix
    local -a starts=()
    ((${#given[@]} > 0)) || { echo 'neither CYBELE_TORQUE_PREFIX nor CYBELE_OPENPBS_PREFIX is set' >&2 && return 1; }
    enter_place
    export place
    mkdir programs
    cp "$CYBELECTL" programs/cybelectl
    for product in "${given[@]}"; do
        prefix=CYBELE_${product^^}_PREFIX
        PART_OWNER=$PPID "$parts_dir/batch-server" start "$place" "$product" "${!prefix}" >&2 3>&- &
        starts+=($!)
    done
    for start in "${starts[@]}"; do
        wait "$start" || return
    done
    [[ -n ${CYBELE_SERVERS_FORGET:-} ]] || return 0
    for product in "${given[@]}"; do
        manage "$(forgets)"
    done
}

# forgets, remembers: the setting with which $product forgets a job as soon as it has ended, and the one that keeps it.
forgets() {
    [[ $product == torque ]] && echo 'set server keep_completed = 0' || echo 'set server job_history_enable = False'
}
remembers() {
    [[ $product == torque ]] && echo 'set server keep_completed = 300' || echo 'set server job_history_enable = True'
}

stop_servers() {
    for product in "${given[@]}"; do
        "$parts_dir/batch-server" stop "$place" "$product"
    done
    leave_place
}

# server COMMAND…: as the user alice on the head node of $product.
server() {
    "$parts_dir/batch-server" exec "$place" "$product" env CYBELE_STATE_DIR="$place/$product/home/state" "$@"
}

# as_manager COMMAND…: as root on the head node of $product.
as_manager() { "$parts_dir/batch-server" root "$place" "$product" "$@"; }

# on torque|openpbs CASE ARGUMENT…: runs the case on that server, in a folder of its own of alice's; where it is not given, the case is
# skipped.
on() {
    product=$1
    shift
    [[ " ${given[*]} " == *" $product "* ]] || skip "CYBELE_${product^^}_PREFIX is not set"
    dialect=${product/openpbs/pbspro}
    folder=$place/$product/home/$BATS_TEST_NUMBER
    cd "$place" || return
    server mkdir -p "$folder"
    cd "$folder" || return
    "$@"
}

# on_each CASE ARGUMENT…: on each server that is given.
on_each() {
    local one
    for one in "${given[@]}"; do
        on "$one" "$@"
    done
}

# job NAME LINE…: a Job NAME.yaml of the host's programs.
job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "$@" | server tee "$name.yaml" >/dev/null
}

# submit NAME OPTION…
submit() {
    local name=$1
    shift
    server cybelectl submit "$name.yaml" --scheduler "$dialect" "$@"
}

# rendered NAME: NAME.sh of NAME.yaml, to be given to qsub as it is.
rendered() { server cybelectl job render "$1.yaml" --scheduler "$dialect" -o "$1.sh"; }

# behind NAME COMMAND…: as alice, in the background, with its output in NAME.out and NAME.said of the test's folder; its id is in $!.
behind() {
    local name=$1
    shift
    server "$@" >"$BATS_TEST_TMPDIR/$name.out" 2>"$BATS_TEST_TMPDIR/$name.said" 3>&- &
}

# state_of ID: cybelectl's word.
state_of() { server cybelectl job status "$1" | awk '{ print $2 }'; }
is_in_state() { [[ $(state_of "$1") == "$2" ]]; }

# manage LINE…: settings of the server.
manage() { printf '%s\n' "$@" | as_manager qmgr >/dev/null; }

# forgetting CASE…: while the server forgets a job as soon as it has ended.
forgetting() {
    local failure=0
    manage "$(forgets)"
    "$@" || failure=$?
    [[ -n ${CYBELE_SERVERS_FORGET:-} ]] || manage "$(remembers)"
    return "$failure"
}
