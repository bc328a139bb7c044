// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::bridge {

/// WORKDIR RECORD BEGUN TARGET FROM STDOUT STDERR LIMIT ROOT…: copies results as the account, in a
/// process of its own that survives the connection, and shows what came of it: `busy`, or the
/// report, which begins with `collected` or `failed REASON WORDS` and ends with `complete`.
/// Repeated, it continues: files whose digest is right are not copied again, and a part of a file
/// is continued. BEGUN is a number: with a higher one than before, a report of a failure is dropped
/// first.
inline constexpr std::string_view kCollectResults = R"sh(umask 077
work=$1 record=$2 begun=$3 target=$4 from=$5 out=$6 err=$7 limit=$8 state=$2/results
shift 8
cd "$work" 2>/dev/null || {
    echo "the folder $work cannot be entered" >&2
    exit 1
}
mkdir -p "$state" || exit 1
fail() {
    printf 'failed %s %s\n' "$1" "$(printf %s "$2" | tr '\n' ' ')" >"$state/report.new"
    finish
}
finish() {
    for stream in stdout stderr; do
        file=$out
        [ $stream = stdout ] || file=$err
        if [ -n "$file" ] && [ -f "$file" ] && [ -r "$file" ]; then
            tail=$(tail -c 2048 -- "$file" && echo x) || continue # once: it may still become longer
            tail=${tail%x}
            echo "tail $stream $(printf %s "$tail" | wc -c)"
            printf %s "$tail"
            echo
        fi
    done >>"$state/report.new"
    echo complete >>"$state/report.new"
    mv "$state/report.new" "$state/report"
    exit 0
}
digest() {
    set -- "$(sha256sum <"$1")" && echo "${1%% *}"
}
# is_own FILE: standard input is this file, not one that a link leads to, the account's, with one name.
is_own() {
    [ "$(readlink /proc/self/fd/0) $(stat -L -c '%u %h' /proc/self/fd/0)" = "$1 $(id -u) 1" ]
}
# copy FILE NAME: below $real, under a part's name until its digest is right.
copy() {
    case $2 in *'
'*) fail CopyFailed "$1 has a line end in its name" ;; esac
    to=$real/$2 sum=$(digest "$1") || fail CopyFailed "$1 cannot be read"
    size=$(wc -c <"$1")
    if grep -qxF -e "$2" "$state/names"; then
        [ "$(digest "$to")" = "$sum" ] || fail ResultsAmbiguous "two different files are called $2"
        return
    fi
    printf '%s\n' "$2" >>"$state/names"
    if [ ! -f "$to" ] || [ "$(digest "$to")" != "$sum" ]; then
        mkdir -p -- "${to%/*}" 2>/dev/null || fail CopyFailed "${to%/*} cannot be created"
        folder=$(cd -P -- "${to%/*}" && pwd -P) || fail CopyFailed "${to%/*} cannot be entered"
        case $folder/ in "$real"/*) ;; *) fail RootNotAdmitted "$to leads out of $real" ;; esac
        part=${folder%/}/${to##*/}.part had=0
        if [ -f "$part" ] && is_own "$part" <"$part"; then
            had=$(wc -c <"$part")
            [ "$had" -le "$size" ] && [ "$(head -c "$had" "$1" | sha256sum)" = "$(sha256sum <"$part")" ] || had=0
        fi
        if [ "$had" = 0 ]; then
            rm -f -- "$part"
            (set -C && : >"$part")
        fi && { is_own "$part" <&4 && tail -c "+$((had + 1))" -- "$1" >&4; } 4>>"$part" ||
            fail CopyFailed "$part cannot be written"
        [ "$(digest "$part")" = "$sum" ] || fail CopyFailed "$1 changed while it was copied"
        mv -fT -- "$part" "${part%.part}" || fail CopyFailed "$to cannot be replaced"
    fi
    count=$((count + 1))
    [ "$count" -gt 32 ] || printf 'result %s %s %s\n' "$((size))" "$sum" "$2" >>"$state/list"
}
# weigh: before anything is copied. A missing file is reported later.
weigh() {
    bytes=0
    for match in $from "$out" "$err"; do
        if [ -f "$match" ]; then
            size=$(stat -L -c %s -- "$match")
        elif [ -d "$match" ]; then
            size=$(cd -- "$match" && find . -type f -exec stat -c %s -- {} + | {
                sum=0
                while read -r one; do sum=$((sum + one)); done
                echo $sum
            })
        else
            size=0
        fi
        bytes=$((bytes + ${size:-0}))
    done
    [ "$bytes" -le "$limit" ] || fail ResultsTooLarge "the results have $bytes bytes, and at most $limit are copied"
}
collect() {
    mkdir -p -- "$target" 2>/dev/null && real=$(cd -P -- "$target" 2>/dev/null && pwd -P) ||
        fail CopyFailed "$target cannot be created"
    inside=
    for root; do
        root=$(cd -P -- "$root" 2>/dev/null && pwd -P) || continue
        case $real/ in "${root%/}"/*) inside=yes ;; esac
    done
    [ -n "$inside" ] || fail RootNotAdmitted "$target leads to $real, which is below no admitted root"
    count=0
    : >"$state/list"
    : >"$state/names"
    IFS=
    weigh
    for match in $from; do # a pattern is expanded, and nothing is split
        if [ -f "$match" ]; then
            copy "$match" "${match##*/}"
        elif [ -d "$match" ]; then
            match=${match%/}
            (cd -- "$match" && find . -type f) >"$state/files" || fail CopyFailed "$match cannot be listed"
            while IFS= read -r file; do
                copy "$match/${file#./}" "${match##*/}/${file#./}"
            done <"$state/files"
        else
            fail ResultsMissing "$match does not exist on the cluster"
        fi
    done
    for match in "$out" "$err"; do
        [ -z "$match" ] || [ ! -f "$match" ] || { [ "$match" = "$err" ] && [ "$err" = "$out" ] && [ -n "$seen" ]; } ||
            copy "$match" "${match##*/}"
        seen=yes
    done
    { echo collected && cat "$state/list" && echo "count $count"; } >"$state/report.new"
    finish
}
is_alive() {
    IFS=' ' read -r host boot pid start <"$state/worker" && [ "$host" = "$(uname -n)" ] &&
        [ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] && IFS= read -r stat <"/proc/$pid/stat" &&
        [ "$(echo "${stat##*) }" | cut -d ' ' -f 20)" = "$start" ]
}
last=0
[ ! -s "$state/begun" ] || read -r last <"$state/begun"
if [ "$begun" -gt "$last" ] && ! is_alive 2>/dev/null; then
    echo "$begun" >"$state/begun"
    if [ -s "$state/report" ] && [ "$(head -c 7 "$state/report")" = 'failed ' ]; then
        rm -f "$state/report"
    fi
fi
if [ ! -e "$state/report" ] && ! is_alive 2>/dev/null; then
    seen=
    (
        trap '' HUP
        IFS= read -r stat </proc/self/stat
        echo "$(uname -n) $(cat /proc/sys/kernel/random/boot_id) ${stat%% *} $(echo "${stat##*) }" | cut -d ' ' -f 20)" >"$state/worker"
        collect "$@"
    ) </dev/null >/dev/null 2>&1 &
fi
tries=0
while [ ! -e "$state/report" ] && [ $tries -lt 15 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
if [ -e "$state/report" ]; then
    cat "$state/report"
else
    echo busy
fi
exit 0
)sh";

/// WORKDIR, then STDOUT and STDERR of each object: the last of both, and `complete`. For all
/// objects of a round trip, in few processes: many may end between two polls.
inline constexpr std::string_view kReadTails = R"sh(cd "$1" 2>/dev/null || exit 1
shift
show() {
    [ -n "$2" ] && [ -f "$2" ] && [ -r "$2" ] || return 0
    tail=$(tail -c 2048 -- "$2" && echo x) || return 0
    tail=${tail%x}
    echo "tail $1 $(printf %s "$tail" | wc -c)"
    printf %s "$tail"
    echo
}
while [ $# -gt 1 ]; do
    show stdout "$1"
    [ "$1" = "$2" ] || show stderr "$2"
    echo complete
    shift 2
done
)sh";

} // namespace cybele::bridge
