# SPDX-License-Identifier: Apache-2.0
# Limits of containers by cgroup version 2, in a virtual machine whose kernel offers its controllers: as root, as a user in a
# cgroup that is delegated, and in one that is not.
load ../parts/suite.bash

setup_file() {
    local name
    enter_place
    export place
    mkdir -p work/box/{bin,etc,tmp,var/tmp,proc,sys,dev,root,home,.singularity.d/env}
    cp /bin/busybox work/box/bin/
    for name in cat cut find grep head ls sh sleep tail tr true; do ln -s busybox "work/box/bin/$name"; done
    touch work/box/etc/{hosts,localtime,resolv.conf}
    printf '#!/bin/sh\nexec sleep 1000\n' >work/box/.singularity.d/startscript
    chmod 755 work/box/.singularity.d/startscript
    printf '%s\n' '[memory]' '  limit = 67108864 # bytes' '[cpu]' '  quota = 50000' '  period = 200000' '  shares = 2048' \
        '[unified]' '"pids.max" = "33"' >work/limits.toml
    cp "$repo/tests/cases/limits/inside" work/
    cp "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}" work/cybelectl
    "$parts_dir/machine" run work >lines
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# lines_of WHO: each line of one of them, of which $output is made.
lines_of() { run sed -n "s/^$1 //p" lines; }

# What both see.
assert_limits() {
    assert_line 'memory: 0: 67108864 33554432 0'
    assert_line 'swap without limit: 0: max'
    assert_line --regexp '^too much memory: 0: .*ended with 137$'
    assert_line 'the program itself: 137:'
    assert_line 'cpus: 0: 25000 100000'
    assert_line 'throttled: 0: throttled'
    assert_line 'shares: 0: 20'
    assert_line --regexp $'^cpuset: 0: Cpus_allowed_list:\t1 Mems_allowed_list:\t0$'
    assert_line --partial "cpuset that is not there: 255: error: --cpuset-cpus: the kernel refuses '77'"
    assert_line --regexp "^pids: 2: 8 .*can't fork"
    assert_line 'no limit of pids: 0: max'
    assert_line 'weight: 0: default 4950'
    assert_line --partial "weight of a device: 255: error: --blkio-weight-device: the kernel refuses '7:0 910'"
    assert_line 'file: 0: 67108864 50000 200000 79 33'
    assert_line 'exit code: 42:'
    assert_line 'input: 0: through'
    assert_line 'signal: 3: got'
    assert_line 'by the other name: 0: 67108864'
    assert_line 'by a variable: 0: 9'
    assert_line 'left: 0:'
    assert_line 'after KILL: 0:'
    assert_line 'left after KILL: 0:'
}

# Of an instance.
assert_instance() {
    assert_line --partial 'instance: 0: INFO: instance started successfully'
    assert_line 'in the instance: 0: 67108864 50'
    assert_line --partial 'limits of a running one: 255: FATAL: a running instance is given no limits'
    assert_line --regexp '^stats: 0: .*CPU USAGE MEM USAGE / LIMIT MEM % BLOCK I/O PIDS kept .*KiB / 64MiB'
    assert_line 'stats as json: 0: "limit": 67108864'
    assert_line --partial 'stop: 0: INFO: Stopping kept instance'
    assert_line 'left of the instance: 0:'
}

@test "root: each limit is what the kernel was told and holds; nothing is left" {
    lines_of root
    assert_limits
    run grep '^the slice is gone: 0:' lines
    assert_success
}

@test "a user in a delegated cgroup: the same, with the callers in a leaf" {
    lines_of user
    assert_limits
    run grep '^the leaf of the callers: 0:' lines
    assert_success
}

@test "an instance has limits, its programs share them, and stats shows their use" {
    run bash -c "sed -n 's/^root //p' lines | tr -s ' '"
    assert_instance
    run bash -c "sed -n 's/^user //p' lines | tr -s ' '"
    assert_instance
}

@test "a user whose cgroup is not delegated is refused, with what to do" {
    run grep '^not delegated: ' lines
    assert_output --partial "255: error: --memory is not supported here"
    assert_output --partial 'systemd-run --user --scope -p Delegate=yes'
}

@test "systemd: a delegated scope and a service of an ordinary user have limits, and without them nothing is started" {
    "$parts_dir/machine" run-systemd work >lines.systemd
    run cat lines.systemd
    assert_line 'the manager: 0:'
    assert_line --regexp '^its controllers: 0: .*memory'
    assert_line --regexp '^in a scope of the user: 0: 67108864 50 50000 100000 too much: 137 error: --blkio-weight is not supported'
    assert_line --regexp '^in a service of the user: 0: 67108864 50 50000 100000 too much: 137'
    assert_line --partial 'without a scope: 255: error: --memory is not supported here'
    assert_line --regexp '^in a scope of root: 0: 67108864 50 50000 100000 too much: 137'
    assert_line 'as root in a service: 0: 67108864'
    assert_line 'left: 0:'
}
