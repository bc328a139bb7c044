// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/account_failure.hpp"

#include <string_view>

/// Shell scripts that work on a job's record, the folder WORKDIR/.cybelectl/UID, as the account.
/// What may be done by one controller only begins with mkdir, which succeeds for one of them.
namespace cybele::bridge {

/// ACCOUNT: whether commands run as it. Another user's words on the account's folders, which it may
/// not enter, would not say that.
inline constexpr std::string_view kCheckUser = R"sh([ "$(id -un)" != "$1" ] || exit 0
echo "commands run as another user: $(id -un), not $1" >&2
exit 18
)sh";
static_assert(kCheckUser.find(kRunAsOther) != std::string_view::npos);

/// ACCOUNT RECORD NUMBER BYTES INCOMING OBJECT COMMAND…: takes the claim of that number, moves the
/// script into it, notes there whose job it is and calls the batch system's submission. Exit code
/// 17: another controller has the claim. 18: nothing was begun, such as by another user.
inline constexpr std::string_view kHandOver = R"sh(umask 077
account=$1 record=$2 claim=$2/claim-$3 bytes=$4 incoming=$5 object=$6
shift 6
if [ "$(id -un)" != "$account" ]; then
    rm -f "$incoming"
    rmdir "$record" "${record%/*}" 2>/dev/null # which the account itself could not use
    echo "commands run as another user: $(id -un), not $account" >&2
    exit 18
fi
if ! mkdir "$claim" 2>/dev/null; then
    rm -f "$incoming"
    [ -d "$claim" ] && exit 17
    echo "the folder $claim cannot be made" >&2
    exit 18
fi
if ! head -c "$bytes" "$incoming" >"$claim/job.sh" || [ "$(wc -c <"$claim/job.sh")" -ne "$bytes" ] ||
    ! printf '%s\n' "$object" >"$claim/object"; then
    rm -rf "$claim" "$incoming"
    echo "the script cannot be written below $record" >&2
    exit 18
fi
chmod 700 "$claim/job.sh"
rm -f "$record"/incoming-*
# The process that submits is known before it begins: the shell writes its own identity, then it becomes the command.
sh -c 'IFS= read -r stat </proc/$$/stat && IFS= read -r boot </proc/sys/kernel/random/boot_id
set -- "$0" "${stat##*) }" "$boot" "$@"
claim=$1 boot=$3 start=$(echo $2 | cut -d " " -f 20)
shift 3
echo "$(uname -n) $boot $$ $start $(date +%s)" >"$claim/process" && exec "$@"' "$claim" "$@" >"$claim/output" 2>"$claim/errors" </dev/null
echo $? >"$claim/code.new"
mv "$claim/code.new" "$claim/code"
if [ "$(cat "$claim/code")" = 0 ] && [ ! -e "$record/answer" ]; then
    cp "$claim/output" "$claim/answer.new" && ln "$claim/answer.new" "$record/answer" 2>/dev/null ||
        mv "$claim/answer.new" "$record/answer"
fi
exit 0
)sh";
static_assert(kHandOver.find(kRunAsOther) != std::string_view::npos);

/// RECORD NUMBER OBJECT: takes the claim of that number for a submission that no command makes.
/// Exit code 17: another controller has it. 18: nothing was begun.
inline constexpr std::string_view kClaimScript = R"sh(umask 077
mkdir -p "$1" 2>/dev/null
if mkdir "$1/claim-$2" 2>/dev/null; then
    printf '%s\n' "$3" >"$1/claim-$2/object" && exit 0
    rm -rf "$1/claim-$2"
    exit 18
fi
[ -d "$1/claim-$2" ] && exit 17
echo "the folder $1/claim-$2 cannot be made" >&2
exit 18
)sh";

/// WORKDIR RECORD yes|no: shows the record; with `yes`, takes the next claim so that no hand-over
/// begins any more.
inline constexpr std::string_view kSearchScript = R"sh(umask 077
record=$2
if [ ! -d "$1" ] || [ ! -x "$1" ] || [ ! -r "$1" ]; then
    echo "the folder $1 cannot be read" >&2
    exit 1
fi
scan() {
    claims=0 closed=no next=1 last=
    while [ -d "$record/claim-$next" ]; do
        if [ -e "$record/claim-$next/closed" ]; then
            closed=yes
        else
            claims=$next last=$record/claim-$next
        fi
        next=$((next + 1))
    done
}
scan
if [ "$3" = yes ]; then
    mkdir -p "$record" || exit 1
    while [ $closed = no ]; do
        if mkdir "$record/claim-$next" 2>/dev/null; then
            : >"$record/claim-$next/closed" || exit 1
        elif [ ! -d "$record/claim-$next" ]; then
            exit 1
        fi
        scan
    done
fi
alive=no age=0
if [ -n "$last" ]; then
    now=$(date +%s) host= boot= pid= start= since=
    if [ -s "$last/process" ]; then
        read -r host boot pid start since <"$last/process"
    fi
    [ -n "$since" ] || since=$(stat -c %Y "$last")
    age=$((now - since))
    if [ -n "$pid" ] && [ "$host" != "$(uname -n)" ]; then
        [ "$age" -ge 600 ] || alive=yes # cannot be seen from here
    elif [ -n "$pid" ] && [ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] &&
        IFS= read -r stat 2>/dev/null <"/proc/$pid/stat"; then
        [ "$(echo "${stat##*) }" | cut -d ' ' -f 20)" != "$start" ] || alive=yes
    fi
fi
echo "claims $claims"
echo "closed $closed"
echo "alive $alive"
echo "age $age"
[ ! -L "$record/released" ] || echo "released $(readlink "$record/released")"
show() {
    if [ -f "$2" ]; then
        echo "$1 $(head -c 4096 "$2" | wc -c)"
        head -c 4096 "$2"
        echo
    fi
}
show answer "$record/answer"
show end "$record/exit.json"
if [ -n "$last" ]; then
    show code "$last/code"
    show output "$last/output"
    show errors "$last/errors"
    show refusal "$last/refusal"
fi
echo complete
)sh";

/// RECORD NUMBER WORDS: a service refused the submission of that claim with these words.
inline constexpr std::string_view kNoteRefusal = R"sh(umask 077
printf '%s\n' "$3" >"$1/claim-$2/refusal.new" && mv "$1/claim-$2/refusal.new" "$1/claim-$2/refusal"
)sh";

/// RECORD NUMBER: gives back a claim through which nothing was submitted.
inline constexpr std::string_view kGiveBack = R"sh(rm -rf "$1/claim-$2"
)sh";

/// RECORD ID: the id that a service gave.
inline constexpr std::string_view kNoteAnswerScript = R"sh(umask 077
mkdir -p "$1" && printf '%s\n' "$2" >"$1/answer.$$" && mv "$1/answer.$$" "$1/answer"
)sh";

/// FOLDER, then ID and UID of each job: this is the one job of the record FOLDER/UID that may be
/// let go, unless another one is already. Prints the ids that may. A symbolic link is made once,
/// and with its content.
inline constexpr std::string_view kCommit = R"sh(umask 077
folder=$1 code=0
shift
while [ $# -gt 1 ]; do
    link=$folder/$2/released
    [ -L "$link" ] || { mkdir -p "$folder/$2" && ln -s "$1" "$link"; } || [ -L "$link" ] || code=1
    [ "$(readlink "$link")" != "$1" ] || echo "$1"
    shift 2
done
exit $code
)sh";

/// WORKDIR UID…: a line for each: `UID none`, `UID orphan`, or `UID claim BRIDGE NAMESPACE/NAME
/// REVISION LEASE` of the last claim, without LEASE by an earlier version.
inline constexpr std::string_view kDescribe = R"sh(work=$1
shift
if [ ! -d "$work" ] || [ ! -x "$work" ] || [ ! -r "$work" ]; then
    echo "the folder $work cannot be read" >&2
    exit 1
fi
for uid; do
    record=$work/.cybelectl/$uid
    if [ -e "$record/orphan" ]; then
        echo "$uid orphan"
    elif [ -d "$record/claim-1" ]; then
        object=
        for file in "$record"/claim-*/object; do
            [ ! -f "$file" ] || IFS= read -r object <"$file"
        done
        echo "$uid claim $object"
    else
        echo "$uid none"
    fi
done
)sh";

/// RECORD: the object was deleted, and its job stays.
inline constexpr std::string_view kNoteOrphanScript = R"sh(umask 077
mkdir -p "$1" && : >"$1/orphan"
)sh";

} // namespace cybele::bridge
