# SPDX-License-Identifier: Apache-2.0
# Where `-o FILE` writes: links, devices and FIFOs stay what they are. Ten seconds.
load ../parts/suite.bash

setup() {
    work_place
    export SOURCE_DATE_EPOCH=1700000000 CYBELE_STORE=$place/store
    printf 'bootstrap: scratch\n' >app.def
    "$CYBELECTL" sif new app.sif
    "$CYBELECTL" sif add app.sif app.def --datatype 1
}
teardown() { leave_place; }

@test "a small output goes into a FIFO, and the FIFO stays" {
    mkfifo pipe
    cat pipe >got &
    "$CYBELECTL" sif dump 1 app.sif -o pipe
    wait "$!"
    cmp got app.def
    [[ -p pipe ]]
    "$CYBELECTL" sif dump 1 app.sif -o /dev/stdout | cmp - app.def
}

@test "a small output goes into a character device, and the device stays" {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    "${as_root[@]}" mknod -m 666 null c 1 3
    "$CYBELECTL" sif dump 1 app.sif -o null
    [[ -c null ]]
    refuses 3 "$CYBELECTL" image copy app.sif null --force
    assert_line --partial 'it is a device'
    [[ -c null ]]
}

@test "an image takes the place of no FIFO, with --force or --link neither" {
    mkfifo pipe
    ln -s pipe link
    "$CYBELECTL" image add app.sif app
    for name in pipe link; do
        refuses 3 "$CYBELECTL" image copy app.sif "$name" --force
        assert_line --partial 'it is a FIFO'
        refuses 3 "$CYBELECTL" image copy store:app "$name" --force --link
        assert_line --partial 'it is a FIFO'
    done
    [[ -p pipe && -L link ]]
}

@test "a link stays, and the file that it leads to is written" {
    mkdir data
    printf old >data/out
    ln -s data/out link
    ln -s data/image image
    "$CYBELECTL" sif dump 1 app.sif -o link
    [[ -L link ]]
    cmp data/out app.def
    refuses 3 "$CYBELECTL" image copy app.sif image
    "$CYBELECTL" image copy app.sif image --force
    [[ -L image ]]
    cmp data/image app.sif
    "$CYBELECTL" image add app.sif app
    "$CYBELECTL" image copy store:app image --force --link
    [[ -L image && data/image -ef "$("$CYBELECTL" image path app)" ]]
}

@test "standard output that is full or closed is told, a reader that went is not" {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    "${as_root[@]}" mknod -m 666 full c 1 7
    run -5 bash -c '"$0" sif list app.sif 2>&1 >full' "$CYBELECTL"
    assert_line 'error: cannot write standard output'
    assert_line 'because: No space left on device'
    run -5 bash -c '"$0" sif list app.sif 2>&1 >&-' "$CYBELECTL"
    assert_line 'because: Bad file descriptor'
    run bash -c 'set -o pipefail; "$0" sif dump 1 app.sif 2>&1 1> >(exec true) | cat' "$CYBELECTL"
    refute_output
}
