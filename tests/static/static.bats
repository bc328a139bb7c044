# SPDX-License-Identifier: Apache-2.0
# The release: one fully static program, run in an empty root with nothing but a static shell.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    "$parts_dir/bare-root" make "$place/root" "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}"
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

bare() { "$parts_dir/bare-root" run -b "$place" "$place/root" "$@"; }

@test "it needs no library and no loader" {
    local program=${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}
    run ldd "$program"
    assert_output --partial 'statically linked'
    run readelf -d "$program"
    refute_output --partial NEEDED
    run readelf -l "$program"
    refute_output --partial INTERP
    "$program" --version --format=json | jq -e '.build.linking == "static"'
}

@test "thread-local data is aligned in the dynamic program, too: at the end of a page, RELRO would begin on a page that does not exist" {
    local program alignment
    for program in "$CYBELECTL" "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}"; do
        alignment=$(readelf -SW "$program" | awk '/ \.tbss / { print $NF }')
        assert [ "${alignment:-16}" -ge 8 ]
    done
}

@test "it verifies and inspects an image" {
    run bare cybelectl verify hello-mpi.sif --key demo.pub
    assert_success
    run bare cybelectl inspect hello-mpi.sif --format json
    assert_success
    jq -e 'type == "object"' <<<"$output"
}

@test "it makes a key, signs, and refuses another key" {
    cp hello-mpi.sif again.sif
    bare cybelectl key new new.pem
    bare cybelectl sign again.sif --key new.pem
    run bare cybelectl verify again.sif --key new.pub
    assert_success
    bare cybelectl key new wrong.pem
    run bare cybelectl verify again.sif --key wrong.pub
    assert_equal "$status" 4
}

@test "it runs a program in the image and gives its exit code" {
    run bare cybelectl exec hello-mpi.sif sh -c 'cat /etc/debian_version; exit 9'
    assert_equal "$status" 9
    assert_line --regexp '^12'
}

@test "it renders the same bytes as the developer's build" {
    write_job demo 'command: [hello-mpi]' 'launch: mpi' 'resources: {nodes: 2, tasks-per-node: 2, time: 1 h}'
    for scheduler in slurm torque pbspro; do
        bare cybelectl job render demo.yaml --scheduler "$scheduler" >ours
        "$CYBELECTL" job render demo.yaml --scheduler "$scheduler" >theirs
        cmp ours theirs
    done
}

@test "it runs a serial job under the local scheduler" {
    write_job serial "command: [sh, -c, 'echo in-the-image; exit 4']"
    run bare cybelectl submit serial.yaml --scheduler local --wait
    assert_equal "$status" 4
    assert_equal "$(cat serial-*.out)" in-the-image
}

@test "what is missing is named there: no builder, no mpirun" {
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >r.yaml
    run bare cybelectl build r.yaml -o x.sif --mirror http://mirror.invalid/debian
    assert_equal "$status" 5
    assert_output --partial mmdebstrap
    assert [ ! -e x.sif ]
}
