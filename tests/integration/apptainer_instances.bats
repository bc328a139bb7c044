# SPDX-License-Identifier: Apache-2.0
# Instances by the name of Apptainer: each call by both programs on equal folders, and what only ours can show.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    "$parts_dir/apptainer" make >&2
    mkdir bin
    ln -s "$CYBELECTL" bin/apptainer
    cat >calls <<'END'
# calls PROGRAM: a story of instances; what differs by nature (process ids, paths) is left out.
P=$1
box() {
    mkdir -p "$1"/{bin,etc,tmp,var/tmp,proc,sys,dev,root,home,.singularity.d/{env,libs}}
    cp /bin/busybox "$1/bin/busybox"
    for name in sh cat echo ls sleep touch grep ps true id tr env kill test; do ln -s busybox "$1/bin/$name"; done
    echo root:x:0:0:root:/root:/bin/sh >"$1/etc/passwd"
    echo root:x:0: >"$1/etc/group"
    touch "$1"/etc/{hosts,localtime,resolv.conf}
    printf '#!/bin/sh\necho started "$@"\necho to errors >&2\n' >"$1/.singularity.d/startscript"
    printf '#!/bin/sh\necho ran "$@"\nexec sleep 100\n' >"$1/.singularity.d/runscript"
    chmod 755 "$1"/.singularity.d/*script
}
call() {
    local text code
    text=$(timeout 60 "$P" "$@" 2>errors </dev/null)
    code=$?
    printf '%s: %s\n' "$*" "$code"
    printf '%s\n' "$text" | sed -E "s|$PWD|PLACE|g; s/[0-9]{2,}/N/g; s/ +/ /g; s|/logs/[^/]*/[^/]*/|/logs/|"
    sed -E "s|$PWD|PLACE|g; s/PID=[0-9]+/PID=N/" errors | grep '^INFO'
}
export HOME=$PWD/home
mkdir -p home
box box
box bare && rm bare/.singularity.d/startscript
box failing && printf '#!/bin/sh\nexit 7\n' >failing/.singularity.d/startscript
call instance list
call instance start box one first second
call instance start box one
call exec instance://one echo inside
call exec instance://one sh -c 'exit 5'
call exec instance://one sh -c 'touch /tmp/instance-was-here; echo $0 "$@"' a b
call exec --cwd / instance://one sh -c 'ls -d proc'
call exec --env WORD=given instance://one sh -c 'echo $WORD'
call exec instance://one missing
call exec instance://none true
call run instance://one
call instance list one
call instance list 'o*'
call instance list no
call instance start --pid-file pid bare two
"$P" instance list --json two | grep -c "\"pid\": $(cat pid)"
call instance run box three word
call instance list
call instance start box 'bad/name'
call instance start box
call instance start
call instance start missing four
cat home/.apptainer/instances/logs/*/*/one.out home/.apptainer/instances/logs/*/*/one.err
call instance stats none
call instance stop none
call instance stop one
call instance stop one
call instance stop -s TERM three
call instance stop --all
call instance list
call instance list --json
END
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "a story of instances is the same by both programs" {
    mkdir -p theirs ours
    cp calls theirs && cp calls ours
    chown -R 1234:1234 theirs ours
    (cd theirs && "$parts_dir/apptainer" run -u bash ./calls apptainer >said 2>&1)
    (cd ours && "$parts_dir/enter" -m user -w -b "$place" / bash ./calls "$place/bin/apptainer" >said 2>&1)
    run diff theirs/said ours/said
    assert_success
    assert_file_contains ours/said '^inside$'
}

@test "an instance has its own processes, outlives its starter, and leaves nothing" {
    cp ours/calls . 2>/dev/null || true
    export HOME=$PWD/own
    mkdir -p own
    cp -a ours/box .
    bin/apptainer instance start --writable-tmpfs box keep
    bin/apptainer exec instance://keep sh -c 'echo kept >/word'
    run bin/apptainer exec instance://keep cat /word
    assert_output kept
    run bin/apptainer exec instance://keep sh -c 'test "$$" -lt 100 && ls /proc | grep -c "^[0-9]"'
    assert_success
    run "$CYBELECTL" exec instance://keep missing
    assert_failure 127
    run bin/apptainer instance stats keep
    assert_failure 255
    assert_output --partial 'stats are only available if cgroups are enabled'
    local pid
    pid=$(bin/apptainer instance list --json keep | grep -o '"pid": [0-9]*' | grep -o '[0-9]*')
    kill -KILL "$pid"
    wait_for 10 test ! -e "/proc/$pid"
    run bin/apptainer instance list
    refute_output --partial keep
    run bin/apptainer exec instance://keep true
    assert_failure 255
    run grep -ls "$place/box" /proc/[0-9]*/mountinfo
    assert_output ''
}
