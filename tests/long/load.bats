# SPDX-License-Identifier: Apache-2.0
# Load: 100,000 jobs in the journal, 10,000 images in the store, 1,000 containers of one image at the same time. Nothing is lost, nothing
# is left over. The figures are printed.
load ../parts/suite.bash

setup_file() {
    local name
    work_place
    export place CYBELE_STORE=$place/scratch/store
    CYBELECTL=${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}
    export CYBELECTL
    mkdir -p box/{bin,etc,tmp,var/tmp,proc,sys,dev,root,home,.singularity.d/env}
    cp /bin/busybox box/bin/
    for name in sh echo true cat; do ln -s busybox "box/bin/$name"; done
    touch box/etc/{hosts,localtime,resolv.conf}
    "$CYBELECTL" build -q "$PWD/box" -o base.sif --sbom=none
    "$CYBELECTL" sif new other.sif
    cc -static -O2 -o peak "$repo/tests/parts/peak.c"
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

measure() { "$repo/tests/cases/load/measure" "$@"; }
figures() { printf '# %s\n' "${lines[@]}" >&3; }

# things: mounts, processes of the program and loop devices of this machine.
things() {
    wc -l </proc/self/mountinfo
    pgrep -c cybelectl || true
    losetup -n -O BACK-FILE 2>/dev/null | grep -cF "$place" || true
}

has_same_things() { [[ $(things) == "$before" ]]; }

@test "100,000 jobs in the journal: listed, one submitted, one cancelled" {
    run measure jobs 100000
    assert_success
    figures
    assert_line 'jobs listed: 100000'
    assert_line 'its id: 1'
    assert_line 'jobs listed after both: 100000'
    assert_line 'jobs listed with those that ended: 100001'
    wait_for 30 no_supervisor
    rm -rf "$CYBELE_STATE_DIR"
}

@test "10,000 images in the store: the index made again, listed, pruned, one started" {
    run measure images 10000
    assert_success
    figures
    assert_line 'images listed: 10000'
    assert_line 'images listed again: 10000'
    assert_line 'images after it: 10000'
    assert_line 'start: started'
    assert_line 'images at the end: 10000'
    rm -rf "$CYBELE_STORE"
}

@test "1,000 containers of one image at the same time: none fails, nothing is left" {
    before=$(things)
    run measure starts 1000
    assert_success
    figures
    assert_line 'containers at the same time: 1000'
    assert_line 'exit codes: {7: 1000}'
    wait_for 60 has_same_things
    assert_equal "$(find "$CYBELE_TMPDIR" -mindepth 1 ! -path "$CYBELE_STORE*")" ''
}
