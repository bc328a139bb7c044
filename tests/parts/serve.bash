# SPDX-License-Identifier: Apache-2.0
# Servers of a test, ended with it (`running` is the array of their process ids), and a home that knows no other.
# shellcheck disable=SC2154
running=()

# serve NAME SCRIPT ARG…: starts a part, sets $NAME to its port.
serve() {
    local name=$1
    shift
    mkfifo "$name.in"
    "$parts_dir/$1" "${@:2}" <"$name.in" >"$name.port" 2>"$name.errors" 3>&- &
    running+=($!)
    eval "exec {held_$name}>'$name.in'" # open until the test ends
    wait_for 30 test -s "$name.port" || { cat "$name.errors"; return 1; }
    printf -v "$name" %s "$(cat "$name.port")"
}

# end_servers: for teardown.
end_servers() {
    local pid
    for pid in "${running[@]}"; do end_process "$pid"; done
}

# own_home: for setup. A working place with a home, store and cache of its own, and no login or proxy of this machine.
own_home() {
    work_place
    export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache} # the roots of other programs stay where they are
    export HOME=$place/home CYBELE_STORE=$place/store no_proxy='*' CYBELE_CACHE_DIR=$place/cache
    unset XDG_RUNTIME_DIR REGISTRY_AUTH_FILE APPTAINER_DOCKER_USERNAME APPTAINER_DOCKER_PASSWORD SSL_CERT_FILE
    mkdir home
}
