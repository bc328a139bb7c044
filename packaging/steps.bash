# SPDX-License-Identifier: Apache-2.0
# Sourced by ./quickstart and packaging/quickstart-bridge: steps with their titles and times, the log, packages, the build.
# They set `place` and `shown` (the folder, and its name as it is printed), `log` and `program`.
# shellcheck disable=SC2154 # place, shown, log and program are of the script that sources this
width=0 # of the terminal; 0: there is none
# shellcheck source=packaging/memory.bash
. packaging/memory.bash

# begin_steps: the folder, for one run at a time; how wide the terminal is.
begin_steps() {
    mkdir -p "$place" build
    exec {lock}>"$place/.lock"
    flock --nonblock "$lock" || { echo "quickstart: another ./quickstart runs in $shown" >&2 && exit 2; }
    [[ ! -t 1 ]] || { read -r _ width < <(stty -F /dev/tty size 2>/dev/null) && ((width > 20)) || width=80; }
}

# step TITLE COMMAND…: prints what is done, does it, prints how long it took.
step() {
    local title=$1 begin=${EPOCHREALTIME/[.,]/} code=0 first
    shift
    printf '==> %s\n' "$title" | tee -a "$log"
    first=$(wc -l <"$log")
    # Not in a condition: there the functions' own commands could fail unseen. What outlives a killed run does not hold its lock.
    set +e
    (exec {lock}>&- && set -e && "$@")
    code=$?
    set -e
    if ((code != 0)); then
        tail -n "+$((first + 1))" "$log" | tail -n 30 >&2
        printf 'quickstart: "%s" failed with exit code %d; log: %s\n' "$title" "$code" "$shown/log" >&2
        exit "$code"
    fi
    printf '    %s s\n' "$(seconds_since "$begin")" | tee -a "$log"
}

seconds_since() {
    local tenths=$(((${EPOCHREALTIME/[.,]/} - $1) / 100000))
    printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# quietly COMMAND…: its output goes to the log; on a terminal, its latest line is shown, each in place of the one before.
quietly() {
    local code=0
    "$@" 2>&1 | show_progress || code=$?
    clear_line
    return "$code"
}

# It reads to the end after Ctrl-C, too: what a command prints while it cleans up goes to the log.
show_progress() {
    local line
    trap '' INT
    while IFS= read -r line || [[ -n $line ]]; do
        printf '%s\n' "$line" >>"$log"
        line=${line##*$'\r'}
        ((width == 0)) || printf '\r    %s\e[K' "${line:0:width-5}"
    done
}

clear_line() {
    ((width == 0)) || printf '\r\e[K'
}

# install_packages LIST…: of packaging/packages-LIST.txt.
install_packages() {
    quietly packaging/install -v "$@"
}

# The lock is held by all that it starts: a build whose ./quickstart was killed ends before the next one begins.
build_program() {
    local building
    exec {building}>build/.build-lock
    flock --nonblock "$building" || { echo "    waits for another build in this checkout" | tee -a "$log" && flock "$building"; }
    quietly configure_and_build
}

# The tests' own libraries are not needed here; a build folder that has the tests keeps them.
configure_and_build() {
    local -a options=()
    [[ -e build/dev/CMakeCache.txt ]] || options=(-DCYBELE_TESTS=OFF)
    cmake --preset dev "${options[@]}"
    nice cmake --build --preset dev --target cybelectl -- -j "$(compile_jobs "$(available_memory /)" "$(nproc)")"
}
