# SPDX-License-Identifier: Apache-2.0
# From the list of a log (read twice), what to read: TARGET OFFSET OLD NEW KIND SEED, to be sorted by TARGET. The disk is brought to
# TARGET; the prefix ends at OFFSET; a reader finds the state after the operation OLD or NEW. Kinds:
#   mark     the end of each operation
#   flush    as many as `most` allows, evenly, and each of the operation `last`, which is wrong on purpose
#   write    evenly, of the rest
#   subset   some of the writes since the last flush, TARGET, are lost; `subsets` of them
FNR == 1 { pass++; old = -1; over = 0; previous = "" }
over { next }

# The entry before ends where this one begins: that is a prefix.
previous != "" && old >= 0 {
    kind = previous ~ /m/ ? (old == new ? "mark" : "write") : previous ~ /[fu]/ ? "flush" : "write"
    if (pass == 1) {
        total[kind]++
        if (kind == "write" && since > 2) total["subset"]++
    } else {
        is_due = takes(kind, share(kind))
        if (kind == "mark" || is_due || (kind == "flush" && new == last && old != last)) print $1, $1, old, new, kind, 0
        if (kind == "write" && since > 2 && takes("subset", subsets)) print flush, $1, old, new, "subset", $1
    }
}
previous ~ /f/ || previous == "" { flush = $1; since = 0 }

{
    previous = $2
    if ($2 == "-") since++
    if ($2 ~ /m/) {
        split($5, mark, "-")
        if (mark[1] == "begin") new = mark[2] + 0
        if (mark[1] == "end") old = mark[2] + 0
        if (mark[1] == "finish") over = 1
    }
}

# takes KIND COUNT: true for COUNT of all calls, evenly.
function takes(kind, count,   now) {
    now = ++calls[kind]
    return total[kind] != 0 && int(now * count / total[kind]) != int((now - 1) * count / total[kind])
}

function share(kind,   rest, flushes) {
    rest = most - total["mark"]
    flushes = rest * 0.7 < total["flush"] ? rest * 0.7 : total["flush"]
    return kind == "flush" ? flushes : rest - flushes < total["write"] ? rest - flushes : total["write"]
}
