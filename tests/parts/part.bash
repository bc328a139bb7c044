# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of the parts and by the suites. Needs bash.

parts_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export parts_dir

# cache_dir: where things that are expensive to make are kept, outside the tree.
cache_dir() {
    local dir=${XDG_CACHE_HOME:-$HOME/.cache}/cybelectl-tests
    mkdir -p "$dir"
    printf '%s\n' "$dir"
}

# key_of TEXT…: a short name for what a cached thing is made from.
key_of() {
    printf '%s\n' "$@" | sha256sum | cut -c1-16
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# become_root ARG…: starts the calling script again through sudo where the caller is an ordinary user.
# The names of the caller travel in PART_UID and PART_GID, its settings in the environment.
become_root() {
    local name
    local -a settings=("PART_UID=$(id -u)" "PART_GID=$(id -g)")
    [[ $(id -u) == 0 ]] && return
    command -v sudo >/dev/null || die "needs root or sudo"
    local -a names=(PATH HOME XDG_CACHE_HOME TMPDIR PART_OWNER CYBELE_TMPDIR CYBELE_CACHE_DIR CYBELE_STATE_DIR)
    [[ -z ${PART_ENVIRONMENT:-} ]] || mapfile -t names < <(compgen -e)
    for name in "${names[@]}"; do
        [[ -z ${!name:-} ]] || settings+=("$name=${!name}")
    done
    cache_dir >/dev/null # so that it is the caller's
    exec sudo env "${settings[@]}" "$0" "$@"
}

# wait_for SECONDS COMMAND…: runs COMMAND until it succeeds; fails when the time is over.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# end_process PID: asks the process to end, then makes it; returns when it is gone.
end_process() {
    kill -TERM "$1" 2>/dev/null || return 0
    wait_for 5 is_gone "$1" || kill -KILL "$1" 2>/dev/null || true
    wait_for 5 is_gone "$1"
}

is_gone() {
    [[ ! -e /proc/$1/stat ]] || [[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == Z* ]]
}
