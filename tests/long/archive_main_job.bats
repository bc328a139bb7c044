# SPDX-License-Identifier: Apache-2.0
# The whole main job by the archive on Debian 11, whose C library, mmdebstrap and Open MPI are older: build, sign, verify, two ranks that
# see each other. Five minutes; the dev preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place BATS_TEST_TIMEOUT=900
    "$repo/packaging/release" -o "$place/out" >&2
    mkdir tree home
    tar -C tree -xf out/*.tar.xz
    program=$(echo "$place"/tree/*/bin/cybelectl)
    root=$("$parts_dir/fixture" debian-11-mpi)
    export program root
    cp -r "$catalogue"/hello-mpi* .
    write_job pair 'command: [hello-mpi]' 'launch: {kind: mpi, allow-root: true, oversubscribe: true}' 'resources: {tasks-per-node: 2}'
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# there COMMAND…: on Debian 11, where the home and the working directory are kept.
there() { "$parts_dir/enter" -w -b "$place" "$root" env HOME="$place/home" CYBELE_STATE_DIR="$place/state" "$@"; }

@test "from the archive alone: built, signed, verified, and two ranks agree" {
    run there "$program" doctor
    assert_success
    assert_line 'this machine can build images and run MPI jobs'
    there "$program" key new demo.pem
    run there "$program" build hello-mpi.yaml -o hello-mpi.sif --sign-key demo.pem
    assert_success
    run there "$program" verify hello-mpi.sif --key demo.pub
    assert_success
    run there "$program" submit pair.yaml --scheduler local --wait
    assert_success
    assert_equal "$(cat pair-*.out | grep -cE '^rank [01] of 2 on ')" 2
    assert_equal "$(cat pair-*.out | sed -nE 's/.*, sum ([0-9]+).*/\1/p' | sort -u)" 1
}
