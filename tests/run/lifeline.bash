# SPDX-License-Identifier: Apache-2.0
# Sourced by ./test: what it starts ends with it, however it ends.
# shellcheck disable=SC2154 # logs is of ./test

lifeline= # a FIFO that this process alone holds open for writing; tests/run/isolate ends what it runs when that is over

# prepare_lifeline: also removes what a killed run has left: the folders of a ./test that does not run any more.
prepare_lifeline() {
    local folder owner
    local -a old=()
    for folder in /var/tmp/cybelectl-suite.*; do
        owner=${folder#*.} && owner=${owner%%.*}
        [[ ! -d $folder ]] || grep -qas '/*test' "/proc/$owner/cmdline" || old+=("$folder")
    done
    [[ ${#old[@]} == 0 ]] || as_root rm -rf --one-file-system "${old[@]}"
    mkfifo "$logs/lifeline"
    exec {lifeline}<>"$logs/lifeline"
}

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# isolated NAME COMMAND…: in the background, with its process id in $! and no descriptor of ours.
isolated() {
    local name=$1
    shift
    tests/run/isolate "$logs/lifeline" "/var/tmp/cybelectl-suite.$$.$name" "$@" {lifeline}>&- {checkout}>&- >"$logs/$name.said" 2>&1 &
}

# end_all: returns when nothing of this run is left.
end_all() {
    [[ -z $lifeline ]] || exec {lifeline}>&-
    wait
}

# interrupted CODE: for a signal.
interrupted() {
    trap '' INT TERM HUP
    end_all
    echo "test: interrupted; nothing of it runs any more"
    failed=$((failed + 1))
    finish || true
    exit "$1"
}
