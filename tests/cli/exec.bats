# SPDX-License-Identifier: Apache-2.0
# What a program in a container sees, as root and as an ordinary user: the behaviour that users of
# Apptainer know, and what MPI needs.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    cp "$CYBELECTL" cybelectl
    chmod 644 hello-mpi.sif
    mkdir data
    echo content >data/file
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

run_image() { run "$place/cybelectl" exec "$@"; }

@test "the exit code is the program's; signals, missing and unfit programs as in a shell" {
    run_image hello-mpi.sif sh -c 'exit 42'
    assert_equal "$status" 42
    # shellcheck disable=SC2016
    run_image hello-mpi.sif sh -c 'kill -TERM $$'
    assert_equal "$status" 143
    run -127 "$CYBELECTL" exec hello-mpi.sif no-such-program
    run_image hello-mpi.sif /etc/passwd
    assert_equal "$status" 126
}

@test "every refusal of ours is 255" {
    refuses 255 "$CYBELECTL" exec none.sif true
    refuses 255 "$CYBELECTL" exec -B /no/such/folder:/mnt hello-mpi.sif true
}

@test "standard input, arguments and the working directory arrive" {
    run bash -c 'echo through | "$1" exec hello-mpi.sif cat' sh "$CYBELECTL"
    assert_output through
    run_image hello-mpi.sif printf '<%s>' 'a b' '$x' ''
    assert_output '<a b><$x><>'
    run_image hello-mpi.sif pwd
    assert_output "$place"
}

@test "a bind shows a folder; :ro refuses writing" {
    run_image -B "$place/data:/mnt" hello-mpi.sif cat /mnt/file
    assert_output content
    run_image -B "$place/data:/mnt" hello-mpi.sif touch /mnt/new
    assert_success
    run_image -B "$place/data:/mnt:ro" hello-mpi.sif touch /mnt/newer
    assert_failure
    rm -f data/new
}

@test "the host's environment passes, --env wins, --cleanenv cleans" {
    FROM_HOST=1 OMPI_X=2 run_image --env 'GIVEN=a b' hello-mpi.sif env
    assert_line FROM_HOST=1
    assert_line OMPI_X=2
    assert_line 'GIVEN=a b'
    assert_line --regexp '^PATH=/opt/bin:'
    FROM_HOST=1 run_image --cleanenv hello-mpi.sif env
    refute_line FROM_HOST=1
}

@test "an open descriptor passes, as PMI needs" {
    run bash -c 'exec 9<data/file; "$1" exec hello-mpi.sif sh -c "cat <&9"' sh "$CYBELECTL"
    assert_output content
}

@test "processes, network, IPC and shared memory are the host's, as MPI needs" {
    for name in pid net ipc uts; do
        run_image hello-mpi.sif readlink "/proc/self/ns/$name"
        assert_output "$(readlink "/proc/self/ns/$name")"
    done
    touch "/dev/shm/cybelectl-test.$$"
    run_image hello-mpi.sif ls "/dev/shm/cybelectl-test.$$"
    rm -f "/dev/shm/cybelectl-test.$$"
    assert_success
}

@test "the image is read-only, and a signal to us reaches the program" {
    run_image hello-mpi.sif touch /opt/x
    assert_failure
    # shellcheck disable=SC2016
    "$CYBELECTL" exec hello-mpi.sif sh -c 'trap "echo got >signal; exit 9" USR1; echo >ready; while :; do sleep 0.1; done' &
    local pid=$! code=0
    wait_for 20 test -e ready
    kill -USR1 "$pid"
    wait "$pid" || code=$?
    assert_equal "$code" 9
    assert_file_exist signal
}

@test "run passes its arguments to the runscript, shell reads commands" {
    run "$CYBELECTL" run hello-mpi.sif
    assert_line --regexp '^rank 0 of 1 on '
    run bash -c 'echo "echo in-shell; exit 6" | "$1" shell hello-mpi.sif' sh "$CYBELECTL"
    assert_equal "$status" 6
    assert_line in-shell
}

@test "an ordinary user: same name, home, exit code; no privilege" {
    run as_user ./cybelectl exec hello-mpi.sif sh -c 'id -u; echo "$HOME"; grep CapEff /proc/self/status; exit 5'
    assert_equal "$status" 5
    refute_line 0
    assert_line --regexp '^CapEff:.0+$'
}

@test "an ordinary user without FUSE: unpacked instead, said with -v" {
    run as_user -c ./cybelectl exec -v hello-mpi.sif sh -c 'exit 5'
    assert_equal "$status" 5
    assert_output --partial unpack
}

@test "--mount binds as -B does; what it cannot read is refused" {
    run_image --mount "type=bind,source=$place/data,destination=/mnt,ro" hello-mpi.sif sh -c 'cat /mnt/file; ! touch /mnt/new 2>/dev/null'
    assert_success
    assert_output content
    refuses 255 "$CYBELECTL" exec --mount "type=tmpfs,destination=/mnt" hello-mpi.sif true
}

# A driver that this machine does not have: its programs and libraries by name, listed by an ldconfig of the test.
make_driver() {
    mkdir -p driver
    printf '#!/bin/sh\necho "driver in the container"\n' >driver/nvidia-smi
    echo library >driver/libcuda.so.1
    printf '#!/bin/sh\nprintf "\\tlibcuda.so.1 (libc6,x86-64) => %%s\\n" "%s"\n' "$place/driver/libcuda.so.1" >driver/ldconfig
    chmod +x driver/nvidia-smi driver/ldconfig
}

@test "a squashfs without a container, also behind the line of Singularity 2, is run, inspected and built from" {
    mkdir -p tree/bin tree/.singularity.d/env
    cp /bin/busybox tree/bin
    ln -sf busybox tree/bin/sh
    echo 'export FROM=file' >tree/.singularity.d/env/90-environment.sh
    mksquashfs tree bare.squashfs -quiet -no-progress -noappend >/dev/null
    { echo '#!/usr/bin/env run-singularity' && cat bare.squashfs; } >old.simg
    for image in bare.squashfs old.simg; do
        chmod 644 "$image"
        run_image "$image" sh -c 'echo $FROM'
        assert_output file
        run "$CYBELECTL" inspect --files "$image" /bin/sh
        assert_output --partial busybox
        "$CYBELECTL" build -F "$image" -o new.sif
        run_image new.sif sh -c 'echo $FROM'
        assert_output file
    done
}

@test "--nv brings in the driver's libraries and programs, also with --contain; without one it says so" {
    make_driver
    for contain in --no-home --contain; do
        PATH=$place/driver:$PATH run_image --nv "$contain" hello-mpi.sif sh -c 'nvidia-smi; cat /.singularity.d/libs/libcuda.so.1; echo "$LD_LIBRARY_PATH"'
        assert_success
        assert_line 'driver in the container'
        assert_line library
        assert_line --partial /.singularity.d/libs
    done
    run_image --rocm hello-mpi.sif echo fine
    assert_success
    assert_line fine
    assert_output --partial '--rocm finds no such driver'
}

@test "nothing is left mounted" {
    run_image hello-mpi.sif true
    assert_equal "$(losetup -n -O BACK-FILE | grep -F "$place")" ""
    assert_equal "$(grep -ls "$place" /proc/[0-9]*/mountinfo)" ""
}
