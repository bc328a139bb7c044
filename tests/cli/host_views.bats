# SPDX-License-Identifier: Apache-2.0
# Machines that lack a way to mount or a namespace, each made by a filter of system calls: another way is taken, or the refusal
# names what is missing; a protection that was asked for is never left out in silence.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    cc -static -O1 -o host-without "$repo/tests/parts/host-without.c"
    cp "$CYBELECTL" cybelectl
    cp /bin/busybox sh
    printf '%s\n' 'Bootstrap: scratch' '%files' 'sh /bin/sh' 'sh /bin/cat' 'sh /bin/id' >app.def
    ./cybelectl build app.def >&2
    chmod 755 app.sif
}
setup() {
    cd "$place" || return
    mkdir -p scratch
    export CYBELE_TMPDIR=$place/scratch
}
teardown_file() { leave_place; }

without() { "$place/host-without" "$@"; }

@test "the filters hold" {
    run without namespaces unshare -U true
    assert_failure
    assert_output --partial 'not permitted'
    run without processes unshare -Upf true
    assert_failure
    run -0 without processes unshare -U true
    run without loop python3 -c 'import fcntl; fcntl.ioctl(open("/dev/loop-control"), 0x4C82)'
    assert_failure
    assert_output --partial 'not permitted'
}

@test "without loop devices root mounts by FUSE, and without both it unpacks; each said with -v" {
    run -0 ./cybelectl -v exec app.sif sh -c 'echo inside'
    assert_output --partial 'kernel squashfs'
    run -0 without loop ./cybelectl -v exec app.sif sh -c 'echo inside'
    assert_line inside
    assert_output --partial 'mounted by FUSE'
    run as_user -c ./host-without loop ./cybelectl -v exec app.sif sh -c 'echo inside'
    assert_success
    assert_line inside
    assert_output --partial unpack
}

@test "without user namespaces an ordinary user is refused, and told what is missing" {
    run as_user ./host-without namespaces ./cybelectl exec app.sif true
    assert_equal "$status" 255
    assert_line --partial 'user namespace'
    assert_line --partial 'help: '
    run as_user ./host-without namespaces ./cybelectl build --force -o other.sif app.def
    assert_equal "$status" 5
    assert_line --partial 'this user cannot build images here'
    assert_file_not_exists other.sif
    assert_equal "$(find scratch -mindepth 1)" ''
}

@test "a protection that cannot be had is refused, never left out" {
    run -0 without namespaces ./cybelectl exec --pid app.sif sh -c 'echo $$'
    run without processes ./cybelectl exec --pid app.sif sh -c 'echo started'
    assert_equal "$status" 255
    refute_line started
    assert_line --partial 'error: '
    run without processes ./cybelectl exec --containall app.sif sh -c 'echo started'
    assert_equal "$status" 255
    refute_line started
}
