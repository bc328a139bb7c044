# SPDX-License-Identifier: Apache-2.0
# Instances: what the table of cases that Apptainer runs, too, cannot show (tests/cases/apptainer, group `other`).
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    mkdir bin
    ln -s "$CYBELECTL" bin/apptainer
    mkdir -p box/{bin,etc,tmp,var/tmp,proc,sys,dev,root,home,.singularity.d/{env,libs}}
    cp /bin/busybox box/bin/busybox
    for name in sh cat ls grep sleep test; do ln -s busybox "box/bin/$name"; done
    echo root:x:0:0:root:/root:/bin/sh >box/etc/passwd
    echo root:x:0: >box/etc/group
    touch box/etc/{hosts,localtime,resolv.conf}
    printf '#!/bin/sh\necho started "$@"\necho to errors >&2\n' >box/.singularity.d/startscript
    chmod 755 box/.singularity.d/startscript
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "an instance has its own processes, outlives its starter, and leaves nothing" {
    export HOME=$PWD/own
    mkdir -p own
    bin/apptainer instance start --writable-tmpfs box keep first second
    wait_for 10 grep -q 'started first second' own/.apptainer/instances/logs/*/*/keep.out
    run cat own/.apptainer/instances/logs/*/*/keep.err
    assert_output --partial 'to errors'
    bin/apptainer exec instance://keep sh -c 'echo kept >/word'
    run bin/apptainer exec instance://keep cat /word
    assert_output kept
    run bin/apptainer exec instance://keep sh -c 'test "$$" -lt 100 && ls /proc | grep -c "^[0-9]"'
    assert_success
    ((output < 10)) # of the instance, not of the host
    run -127 "$CYBELECTL" exec instance://keep missing
    run bin/apptainer instance stats keep
    assert_failure 1
    assert_output --partial 'stats are only available if cgroups are enabled'
    local pid
    pid=$(bin/apptainer instance list --json keep | grep -o '"pid": [0-9]*' | grep -o '[0-9]*')
    kill -KILL "$pid"
    wait_for 10 test ! -e "/proc/$pid"
    run bin/apptainer instance list
    refute_output --partial keep
    run bin/apptainer exec instance://keep true
    assert_failure 255
    wait_for 10 bash -c '! grep -ls "$1" /proc/[0-9]*/mountinfo' sh "$place/box"
}
