# SPDX-License-Identifier: Apache-2.0
# The archive on hosts as clusters have them: an old kernel's system calls, a root that cannot be written, no user's folders. Two minutes;
# the dev preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    mkdir tree
    tar -C tree -xf "$("$parts_dir/release")"/*.tar.xz
    program=$(echo "$place"/tree/*/bin/cybelectl)
    cc -static -O1 -o old-kernel "$repo/tests/parts/old-kernel.c"
    export program
    "$parts_dir/bare-root" make "$place/root"
    write_job serial "command: [sh, -c, 'echo in-the-image; exit 4']"
    printf 'kind: Recipe\nname: demo\nbase: debian:12\nmpi: openmpi\npackages: {system: [jq]}\n' >recipe.yaml
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# old COMMAND…: the archive's program in an empty root, as on Linux 4.18.
old() { "$parts_dir/bare-root" run -b "$place" "$place/root" "$place/old-kernel" "$program" "$@"; }

@test "the filter holds: a call newer than Linux 4.18 does not exist under it" {
    run ./old-kernel sh -c 'exit 3'
    assert_equal "$status" 3
}

@test "as on Linux 4.18 it signs, verifies and inspects" {
    cp hello-mpi.sif old.sif
    old key new old.pem
    old sign old.sif --force --key old.pem
    run old verify old.sif --key old.pub
    assert_success
    run old inspect old.sif --format json
    assert_success
    jq -e 'type == "object"' <<<"$output"
}

@test "as on Linux 4.18 it renders Recipes, Jobs and objects" {
    run old recipe render recipe.yaml
    assert_success
    assert_line 'Bootstrap: debootstrap'
    old job render serial.yaml --scheduler torque >old.sh
    "$CYBELECTL" job render serial.yaml --scheduler torque >new.sh
    cmp old.sh new.sh
}

@test "as on Linux 4.18 it runs a program in a prebuilt image, as root and as an ordinary user" {
    run old exec hello-mpi.sif sh -c 'cat /etc/debian_version; exit 9'
    assert_equal "$status" 9
    assert_line --regexp '^12'
    chmod -R a+rX . && mkdir -p user && chmod 777 user
    # The filter is on before the user changes; what changes it needs no newer call.
    run "$place/old-kernel" "$parts_dir/enter" -m user -w -b "$place" / "$program" exec hello-mpi.sif sh -c 'id -u; cat /etc/debian_version'
    assert_success
    refute_line 0
    assert_line --regexp '^12'
}

@test "as on Linux 4.18 it runs a serial job under the local scheduler" {
    rm -f serial-*.out
    run old submit serial.yaml --scheduler local --wait
    assert_equal "$status" 4
    assert_equal "$(cat serial-*.out)" in-the-image
}

# read_only COMMAND…: in an empty root of which nothing can be written but the home and the working directory.
read_only() {
    mkdir -p home
    # shellcheck disable=SC2016
    "$parts_dir/enter" -w -b "$place" "$place/root" /bin/sh -c 'mount -t tmpfs -o ro nothing /dev/shm && mount -o remount,ro /tmp &&
        mount -o remount,ro / && ! touch /var/tmp/x 2>/dev/null && ! touch /tmp/x 2>/dev/null && HOME=$1 && export HOME && shift &&
        unset CYBELE_STATE_DIR && exec "$@"' sh "$place/home" "$program" "$@"
}

@test "nothing is written outside the home and the working directory" {
    cp hello-mpi.sif mine.sif
    read_only key new mine.pem
    read_only sign mine.sif --force --key mine.pem
    run read_only verify mine.sif --key mine.pub
    assert_success
    run read_only init demo
    assert_success
    run read_only job render demo --scheduler slurm
    assert_success
    run read_only recipe render recipe.yaml
    assert_success
    run read_only exec mine.sif cat /etc/debian_version
    assert_success
    run read_only image add mine.sif mine:1
    assert_success
    rm -f serial-*.out
    run read_only submit serial.yaml --scheduler local --wait
    assert_equal "$status" 4
    assert_equal "$(cat serial-*.out)" in-the-image
    run read_only doctor
    assert_failure 5
}

@test "the program holds no path of the folder that it was compiled in" {
    run grep -acF "$repo/" "$program"
    assert_failure 1
    assert_output 0
}

# instructions_of WORDS…: how many the processor needs for the program with these words.
instructions_of() {
    "$program" "$@" >/dev/null || return
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 >/dev/null |
        sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
}

@test "the version, a Recipe, a script and a bridge object cost few instructions" {
    local count most words
    printf '%s\n' 'kind: Job' 'name: h' 'launch: mpi' 'image: h.sif' 'command: [prog]' \
        'resources: {nodes: 2, tasks-per-node: 4}' >hybrid.yaml
    while read -r most words; do
        # shellcheck disable=SC2086 # words
        count=$(instructions_of $words)
        echo "$words: $count instructions, at most $most"
        ((count > 100000 && count < most))
    done <<'BOUNDS'
1000000 --version
4000000 recipe render recipe.yaml
6000000 job render hybrid.yaml --scheduler slurm
10000000 kube render hybrid.yaml
BOUNDS
}
