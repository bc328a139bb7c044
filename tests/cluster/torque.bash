# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites that submit jobs under the rules of TORQUE and OpenPBS (tests/parts/torque-rules).
# shellcheck disable=SC2154 # place, parts_dir and CYBELECTL are of suite.bash

setup() {
    work_place
    mkdir programs
    ln -s "$CYBELECTL" programs/cybelectl
}
teardown() {
    [[ ! -d $place/rules ]] || "$parts_dir/torque-rules" stop "$place"
    leave_place
}

# on_both CASE…: in a folder of its own, with the product's commands in PATH.
on_both() {
    local path=$PATH
    for product in ${products:-torque openpbs}; do
        cd "$place" && rm -rf rules jobs && mkdir jobs
        PATH=$("$parts_dir/torque-rules" start "$place" "$product"):$path
        dialect=${product/openpbs/pbspro}
        export CYBELE_STATE_DIR=$place/state/$product # the numbers of their jobs are the same
        cd jobs || return
        "$@"
        PATH=$path
        "$parts_dir/torque-rules" stop "$place"
    done
}

job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "$@" >"$name.yaml"
}
submit() {
    local name=$1
    shift
    "$CYBELECTL" submit "$name.yaml" --scheduler "$dialect" --monitoring-period 1 "$@"
}
keep() { "$parts_dir/torque-rules" keep "$place" "$1"; }
fault() { "$parts_dir/torque-rules" fault "$place" "$1"; }
ends() { "$parts_dir/torque-rules" wait "$place" "$1"; }
state_of() { "$CYBELECTL" job status "$1" | awk '{ print $2 }'; }
is_in_state() { [[ $(state_of "$1") == "$2" ]]; }
