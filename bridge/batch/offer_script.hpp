// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::bridge {

/// WORKDIR FROM STDOUT STDERR [NAME]: the result files of a job, as the account: a line `SIZE
/// SHA256 NAME` for each, and `complete`. With NAME the path of that one alone: what is not offered
/// is not shown.
inline constexpr std::string_view kOfferResults = R"sh(from=$2 out=$3 err=$4 one=$5 seen=
cd "$1" 2>/dev/null || {
    echo "the folder $1 cannot be entered" >&2
    exit 1
}
offer() {
    case $2 in *'
'*) return ;; esac
    if [ -n "$one" ]; then
        [ "$one" != "$2" ] || {
            case $1 in /*) ;; *) set -- "$PWD/$1" ;; esac
            printf '%s\n' "$1"
            exit 0
        }
        return
    fi
    sum=$(sha256sum <"$1") && size=$(wc -c <"$1") || {
        echo "$1 cannot be read" >&2
        exit 3
    }
    printf '%s %s %s\n' "$((size))" "${sum%% *}" "$2"
}
IFS=
for match in $from; do
    if [ -f "$match" ]; then
        offer "$match" "${match##*/}"
    elif [ -d "$match" ]; then
        match=${match%/}
        find "$match" -type f >/dev/null 2>&1 || {
            echo "$match cannot be listed" >&2
            exit 3
        }
        files=$(cd -- "$match" && find . -type f)
        while IFS= read -r file; do
            [ -z "$file" ] || offer "$match/${file#./}" "${match##*/}/${file#./}"
        done <<end
$files
end
    else
        echo "$match does not exist on the cluster" >&2
        exit 4
    fi
done
for match in "$out" "$err"; do
    [ -z "$match" ] || [ ! -f "$match" ] || { [ -n "$seen" ] && [ "$err" = "$out" ]; } || offer "$match" "${match##*/}"
    seen=yes
done
[ -z "$one" ] || exit 4
echo complete
)sh";

} // namespace cybele::bridge
