# SPDX-License-Identifier: Apache-2.0
# Loaded behind nodes.bash by suites that submit jobs to the real Slurm and disturb it.
# shellcheck disable=SC2154 # place and parts_dir are of suite.bash

# host_job NAME LINE…: a Job NAME.yaml whose program is the host's.
host_job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "$@" >"$name.yaml"
}

# submit NAME OPTION…
submit() {
    local name=$1
    shift
    slurm cybelectl submit "$name.yaml" --scheduler slurm "$@"
}

# behind COMMAND…: on the head node, in the background, with its output in $1.out and $1.said; its id is in $!.
behind() {
    local name=$1
    shift
    "$parts_dir/slurm" exec "$place" "$@" >"$name.out" 2>"$name.said" 3>&- &
}

# ends_with CODE PID
ends_with() {
    local code=0
    wait "$2" || code=$?
    assert_equal "$code" "$1"
}

# jobs_named NAME: how many jobs Slurm itself has had under this name.
jobs_named() { slurm squeue -h -t all --name="$1" -o %A | wc -l; }
is_in_state() { [[ $(slurm squeue -h -t all --name="$1" -o %T) == "$2" ]]; }

# impatient COMMAND…: on the head node, with clients of Slurm that wait two seconds for an answer, not ten.
impatient() {
    [[ -e slurm/impatient.conf ]] || sed 's/^ClusterName/MessageTimeout=2\n&/' slurm/slurm.conf >slurm/impatient.conf
    "$parts_dir/slurm" exec "$place" env SLURM_CONF="$place/slurm/impatient.conf" "$@"
}

# behind_impatient NAME COMMAND…: the same in the background, as `behind`.
behind_impatient() {
    local name=$1
    shift
    impatient "$@" >"$name.out" 2>"$name.said" 3>&- &
}

# fake PROGRAM LINE…: a script in front of one of Slurm's commands, which is $real there.
fake() {
    local program=$1 real
    shift
    real=$(command -v "$program")
    mkdir -p fake
    printf '%s\n' '#!/bin/bash' "real=$real" "$@" >"fake/$program"
    chmod +x "fake/$program"
}
