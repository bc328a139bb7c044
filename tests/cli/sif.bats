# SPDX-License-Identifier: Apache-2.0
# The verbs of `cybelectl sif` on images that they make themselves. Half a minute.
load ../parts/suite.bash

setup() {
    work_place
    export SOURCE_DATE_EPOCH=1700000000
    printf 'bootstrap: scratch\n' >app.def
    head -c 5000 /dev/zero | tr '\0' p >root.squashfs
}
teardown() { leave_place; }

# a definition (1), a primary partition (2) and a system one (3); the last two of group 1.
make_image() {
    "$CYBELECTL" sif new app.sif
    "$CYBELECTL" sif add app.sif app.def --datatype 1
    "$CYBELECTL" sif add app.sif root.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch 2 --groupid 1 \
        --filename root
    "$CYBELECTL" sif add app.sif root.squashfs --datatype partition --partfs squash --parttype system --partarch arm64 \
        --groupid 1
}

# number_at FILE OFFSET BYTES: an unsigned little-endian number.
number_at() {
    od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

@test "list prints Apptainer's table" {
    make_image
    run "$CYBELECTL" sif list app.sif
    assert_success
    assert_output - <<'END'
------------------------------------------------------------------------------
ID   |GROUP   |LINK    |SIF POSITION (start-end)  |TYPE
------------------------------------------------------------------------------
1    |NONE    |NONE    |32176-32195               |Def.FILE
2    |1       |NONE    |32768-37768               |FS (Squashfs/*System/amd64)
3    |1       |NONE    |40960-45960               |FS (Squashfs/System/arm64)
END
}

@test "list as JSON has every field" {
    make_image
    printf '{}' >sbom.json
    "$CYBELECTL" sif add app.sif sbom.json --datatype 9 --sbomformat spdx-json --link 2
    printf 'x' >s
    "$CYBELECTL" sif add app.sif s --datatype 5 --signhash 1 --linkgroup 1 \
        --signentity 433FE984155206BD962725E20E8713472A879943
    "$CYBELECTL" sif add app.sif sbom.json --datatype oci-blob
    run -0 "$CYBELECTL" sif list app.sif --format json
    jq -e '.format == 1 and (.objects | length) == 6' <<<"$output"
    jq -e '.objects[1] | .name == "root" and .architecture == "amd64" and .partition == "*System" and .group == 1' <<<"$output"
    jq -e '.objects[3] | .["sbom-format"] == "spdx-json" and .["linked-object"] == 2' <<<"$output"
    jq -e '.objects[4] | .hash == "SHA-256" and .["linked-group"] == 1 and .fingerprint == "433fe984155206bd962725e20e8713472a879943"' <<<"$output"
    jq -e '.objects[5].digest == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"' <<<"$output"
}

@test "header leaves out what the image does not have" {
    make_image
    run "$CYBELECTL" sif header app.sif
    assert_success
    assert_output - <<'END'
Version:              01
Primary Architecture: amd64
Descriptors Free:     45
Descriptors Total:    48
Descriptors Offset:   4096
Descriptors Size:     27 KiB
Data Offset:          32176
Data Size:            13 KiB
END
    unset SOURCE_DATE_EPOCH
    "$CYBELECTL" sif new timed.sif
    run "$CYBELECTL" sif header timed.sif
    assert_line --regexp '^ID: +[0-9a-f]{8}-[0-9a-f]{4}-4'
    assert_line --regexp '^Created At: +20[0-9-]+ [0-9:]+ \+0000 UTC$'
    refute_line --partial 'Primary Architecture'
    run -0 "$CYBELECTL" sif header app.sif --format json
    jq -e '.header["descriptors-free"] == 45 and (.header | has("created") | not)' <<<"$output"
}

@test "dump writes an object's bytes, to standard output or a file" {
    make_image
    "$CYBELECTL" sif dump 1 app.sif | cmp - app.def
    "$CYBELECTL" sif dump 2 app.sif -o out
    cmp out root.squashfs
    "$CYBELECTL" sif dump app.sif 1 | cmp - app.def
    refuses 3 "$CYBELECTL" sif dump 9 app.sif
    assert_line --partial 'its objects are 1, 2, 3'
    refuses 2 "$CYBELECTL" sif dump one app.sif
}

@test "dump replaces a file, but never the image that it reads" {
    make_image
    cp app.sif before
    ln -s app.sif link
    for name in app.sif ./app.sif link; do
        refuses 3 "$CYBELECTL" sif dump 1 app.sif -o "$name"
        assert_line --partial 'it is the image that the object comes from'
    done
    cmp app.sif before
    printf old >out
    "$CYBELECTL" sif dump 1 app.sif -o out
    cmp out app.def
}

@test "a change that ended is on the disk: after the removal of its journal the folder is synced" {
    make_image
    local change
    for change in 'add app.sif app.def --datatype 7' 'del 4 app.sif'; do
        # shellcheck disable=SC2086 # several words
        strace -qq -y -o trace -e trace=unlink,fsync "$CYBELECTL" sif $change
        run sed -n "/unlink.*journal.*= 0/{s/.*/removed/p}; \\#fsync([0-9]*<$PWD>) *= 0#{s/.*/synced/p}" trace
        assert_line --index -1 synced
        assert_line removed
    done
}

@test "add takes no bytes of the image itself, of a folder or of a pipe" {
    make_image
    cp app.sif before
    ln app.sif other
    mkfifo pipe
    # a fault here would fill the disk
    for name in app.sif other; do
        refuses 3 timeout 20 bash -c 'ulimit -f 100000 && "$@"' _ "$CYBELECTL" sif add app.sif "$name" --datatype 7
        assert_line --partial 'it is the image that the object is for'
    done
    run -3 bash -c 'ulimit -f 100000 && timeout 20 "$0" sif add app.sif - --datatype 7 <app.sif' "$CYBELECTL"
    assert_line --partial 'it is the image that the object is for'
    refuses 3 "$CYBELECTL" sif add app.sif . --datatype 7
    assert_line --partial 'it is a directory'
    refuses 3 timeout 20 "$CYBELECTL" sif add app.sif pipe --datatype 7
    assert_line --partial 'it is a pipe'
    cmp app.sif before
}

@test "add takes an object from standard input, and puts it into the first free entry" {
    make_image
    "$CYBELECTL" sif del 1 app.sif
    "$CYBELECTL" sif add app.sif - --datatype 7 --filename 'a b' < <(cat app.def)
    run -0 "$CYBELECTL" sif list app.sif --format json
    jq -e '.objects[0] | .id == 1 and .name == "a b" and .offset == 45960' <<<"$output"
    "$CYBELECTL" sif dump 1 app.sif | cmp - app.def
}

@test "del frees the entry, and with --zero and --compact the bytes" {
    make_image
    length=$(stat -c %s app.sif)
    "$CYBELECTL" sif del 3 app.sif
    assert_equal "$(stat -c %s app.sif)" "$length"
    assert_equal "$(number_at app.sif 80 8)" 46
    "$CYBELECTL" sif del 2 app.sif --zero --compact
    assert_equal "$(stat -c %s app.sif)" 32195
    refuses 3 "$CYBELECTL" sif del 2 app.sif
}

@test "setprim exchanges the primary partition and the header's architecture" {
    make_image
    "$CYBELECTL" sif setprim 3 app.sif
    run "$CYBELECTL" sif list app.sif
    assert_line --partial 'FS (Squashfs/System/amd64)'
    assert_line --partial 'FS (Squashfs/*System/arm64)'
    assert_equal "$(head -c 47 app.sif | tail -c 2)" 04
    refuses 3 "$CYBELECTL" sif setprim 1 app.sif
    assert_line --partial 'not a partition but Def.FILE'
}

@test "options that are missing or unknown are told with what there is" {
    make_image
    refuses 2 "$CYBELECTL" sif add app.sif app.def
    assert_line --partial '--datatype is missing'
    refuses 2 "$CYBELECTL" sif add app.sif app.def --datatype 12
    refuses 2 "$CYBELECTL" sif add app.sif app.def --datatype 4 --parttype 1 --partfs 1
    assert_line --partial '--partarch is missing'
    refuses 2 "$CYBELECTL" sif add app.sif app.def --datatype 5 --signhash 1 --signentity 12
    refuses 2 "$CYBELECTL" sif add app.sif app.def --datatype 9 --sbomformat toml
    refuses 2 "$CYBELECTL" sif add app.sif app.def --datatype 7 --link 0
    refuses 3 "$CYBELECTL" sif add app.sif missing --datatype 7
    refuses 3 "$CYBELECTL" sif add app.sif root.squashfs --datatype 4 --parttype 2 --partfs 1 --partarch 2
    assert_line --partial 'already contains a primary partition'
    refuses 3 "$CYBELECTL" sif add app.sif app.def --datatype 7 --filename $'a\eb'
    refuses 3 "$CYBELECTL" sif new app.sif
    ln -s nowhere link
    refuses 3 "$CYBELECTL" sif new link
    [[ ! -e nowhere ]]
}

@test "what is no image, or a pipe or a folder, is refused by name" {
    mkfifo pipe
    refuses 3 "$CYBELECTL" sif list pipe
    assert_line --partial 'it is a pipe'
    refuses 3 "$CYBELECTL" sif list .
    assert_line --partial 'it is a directory'
    refuses 3 "$CYBELECTL" sif list app.def
    assert_line --partial 'app.def is a definition file, not an image'
    echo 'some words' >words.txt
    refuses 3 "$CYBELECTL" sif list words.txt
    assert_line --partial 'it is a text file'
    run -3 bash -c 'cat app.def | "$0" sif list /dev/stdin' "$CYBELECTL"
    assert_line --partial 'it is a pipe'
    make_image
    run -0 bash -c '"$0" sif list /dev/stdin <app.sif' "$CYBELECTL"
    assert_line --partial 'Def.FILE'
}

@test "control characters of an image's own text are escaped" {
    make_image
    printf '#!\033[31m' | dd of=app.sif conv=notrunc status=none
    run "$CYBELECTL" sif header app.sif
    assert_success
    assert_line 'Launch Script:        #!\x1b[31m'
}

@test "after a kill in the middle of a change the image is whole" {
    make_image
    for delay in 0.001 0.003 0.005 0.007 0.009 0.012; do
        timeout -s KILL "$delay" "$CYBELECTL" sif add app.sif root.squashfs --datatype 7 || true
        run "$CYBELECTL" sif list app.sif
        if [[ $status != 0 ]]; then # refused, with what helps
            assert_output --partial 'cybelectl sif recover app.sif'
            "$CYBELECTL" sif recover app.sif
            "$CYBELECTL" sif list app.sif
        fi
    done
    "$CYBELECTL" sif add app.sif app.def --datatype 7
    run find . -name '*.journal'
    refute_output
}

@test "many changers at once lose nothing" {
    local changers=()
    make_image
    for i in 1 2 3 4 5 6; do
        "$CYBELECTL" sif add app.sif app.def --datatype 7 --filename "n$i" &
        changers+=($!)
    done
    wait "${changers[@]}" # not all children: the clock of the suite is one of them
    run -0 "$CYBELECTL" sif list app.sif --format json
    assert_equal "$(jq -r '[.objects[].name | select(startswith("n"))] | sort | join(" ")' <<<"$output")" "n1 n2 n3 n4 n5 n6"
}

@test "a file is written whole where the kernel cannot keep it without a name" {
    # Such files get their name by /proc.
    run unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$CYBELECTL" sif new nameless.sif
    assert_success
    "$CYBELECTL" sif header nameless.sif
    assert_equal "$(find . -name '*.new.*')" ""
}
