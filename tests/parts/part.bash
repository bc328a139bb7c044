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

# cached NAME COMMAND…: prints the path of the cache's entry NAME. Where it is missing, `COMMAND… PATH` makes it at another path; it
# appears under its name when it is complete, with the digests of its files beside it. One process makes it, others wait. What an
# interrupted one left is removed. With VERIFY_CACHE=1 the digests are checked first, and a damaged entry is made again.
cached() {
    local entry
    entry=$(cache_dir)/$1
    shift
    if [[ ! -e $entry.sums || (-n ${VERIFY_CACHE:-}) ]] && ! is_intact_entry "$entry"; then
        make_entry "$entry" "$@" || return
    fi
    printf '%s\n' "$entry"
}

# is_intact_entry ENTRY
is_intact_entry() {
    [[ -e $1.sums && -e $1 ]] && (cd "$(dirname "$1")" && sha256sum --quiet --status -c "$1.sums")
}

# make_entry ENTRY COMMAND…: under its lock, which is an own descriptor of this process.
make_entry() {
    local entry=$1
    shift
    (
        exec {lock}>"$entry.lock"
        flock "$lock"
        ! is_intact_entry "$entry" || exit 0
        if [[ -e $entry.sums || ! -e $entry ]]; then # else it is complete and only its digests are missing
            rm -rf --one-file-system "$entry" "$entry.sums" "$entry.new" || exit
            "$@" "$entry.new" {lock}>&- >&2 || exit
            mv "$entry.new" "$entry" || exit
        fi
        write_sums "$entry"
    )
}

# write_sums ENTRY: the digests of its files, by names below the cache's folder.
write_sums() (
    set -o pipefail
    cd "$(dirname "$1")" && find "$(basename "$1")" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >"$1.sums.new" &&
        mv "$1.sums.new" "$1.sums"
)

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
    local -a names=(PATH HOME XDG_CACHE_HOME TMPDIR VERIFY_CACHE PART_OWNER CYBELE_TMPDIR CYBELE_CACHE_DIR CYBELE_STATE_DIR)
    [[ -z ${PART_ENVIRONMENT:-} ]] || mapfile -t names < <(compgen -e)
    for name in "${names[@]}"; do
        [[ -z ${!name:-} ]] || settings+=("$name=${!name}")
    done
    cache_dir >/dev/null # so that it is the caller's
    exec sudo env "${settings[@]}" "$0" "$@"
}

# wait_for SECONDS COMMAND…: runs COMMAND until it succeeds, soon again at first, then every tenth of a second; fails
# when the time is over.
wait_for() {
    local end=$((SECONDS + $1)) turn=0
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep "$((turn++ < 10 ? 1 : 10))e-2"
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
