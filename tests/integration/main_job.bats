# SPDX-License-Identifier: Apache-2.0
# The main job on this machine: the host's mpirun, one container a rank, by root and by an ordinary user.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# ranks_agree N FILE…: N ranks wrote their line, each with the same sum.
ranks_agree() {
    local n=$1
    shift
    assert_equal "$(cat "$@" | grep -cE "^rank [0-9]+ of $n on ")" "$n"
    assert_equal "$(cat "$@" | sed -nE 's/^rank ([0-9]+) of .*/\1/p' | sort -n | tr '\n' ' ')" "$(seq -s ' ' 0 $((n - 1))) "
    assert_equal "$(cat "$@" | sed -nE 's/.*, sum ([0-9]+).*/\1/p' | sort -u | wc -l)" 1
}

mpi_job() {
    local allow=
    [[ $(id -u) != 0 ]] || allow=', allow-root: true'
    write_job "$1" 'command: [hello-mpi]' "launch: {kind: mpi$allow}" "resources: {tasks-per-node: ${2:-2}}"
}

@test "ranks in containers see each other and agree" {
    mpi_job pair 2
    run "$CYBELECTL" submit pair.yaml --scheduler local --wait
    assert_equal "$status" 0
    ranks_agree 2 pair-*.out
}

@test "more ranks than cores run when the Job says so" {
    local allow=
    [[ $(id -u) != 0 ]] || allow=', allow-root: true'
    write_job six 'command: [hello-mpi]' "launch: {kind: mpi, oversubscribe: true$allow}" 'resources: {tasks-per-node: 6}'
    run "$CYBELECTL" submit six.yaml --scheduler local --wait
    assert_equal "$status" 0
    ranks_agree 6 six-*.out
}

@test "root is refused by default, with the remedy" {
    write_job rooted 'command: [hello-mpi]' 'launch: mpi' 'resources: {tasks-per-node: 2}'
    run sudo_or_plain "$CYBELECTL" submit rooted.yaml --scheduler local --wait
    assert_failure 255
    assert_output --partial 'allow-root'
    assert_equal "$(find . -name 'rooted-*')" '' # refused before it is submitted
}

sudo_or_plain() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo -E "$@"; fi
}

# An mpirun that clears the environment between itself and the container: each rank is then alone.
make_clearing_mpirun() {
    mkdir -p bin
    cat >bin/mpirun <<EOF
#!/bin/bash
words=()
for word in "\$@"; do
    [[ \${word##*/} == cybelectl && -z \$done ]] && words+=(env -i "PATH=\$PATH" "HOME=\$HOME") && done=1
    words+=("\$word")
done
exec $(command -v mpirun) "\${words[@]}"
EOF
    chmod +x bin/mpirun
}

@test "singletons are found by the guard: the job fails with the diagnosis" {
    make_clearing_mpirun
    mpi_job alone 2
    PATH=$place/bin:$PATH run "$CYBELECTL" submit alone.yaml --scheduler local --wait
    assert_failure
    printf '%s\n' "$output" >>alone.txt
    cat alone-*.err alone-*.out >>alone.txt
    assert_file_contains alone.txt 'MPI in the container sees 1'
    assert_file_contains alone.txt 'its environment was cleared'
    run grep -c '^rank ' alone-*.out
    assert_output 0
}

@test "with the guard off the same job ends well with a wrong result: what the guard is for" {
    local allow=
    [[ $(id -u) != 0 ]] || allow=', allow-root: true'
    make_clearing_mpirun
    write_job off 'command: [hello-mpi]' "launch: {kind: mpi, guard: false$allow}" 'resources: {tasks-per-node: 2}'
    PATH=$place/bin:$PATH run "$CYBELECTL" submit off.yaml --scheduler local --wait
    assert_equal "$(grep -c '^rank 0 of 1 on ' off-*.out)" 2
}

@test "an ordinary user with subordinate ids builds, verifies and runs the whole job" {
    mkdir user
    cp "$CYBELECTL" "$catalogue/hello-mpi.yaml" demo.pem demo.pub user/
    cp -r "$catalogue/hello-mpi" user/
    cd user || return
    chmod 600 demo.pem
    mpi_job pair 2
    sed -i 's/, allow-root: true//' pair.yaml
    run as_user sh -ec 'touch begin
        ./cybelectl build hello-mpi.yaml -o hello-mpi.sif --sign-key demo.pem
        ./cybelectl verify hello-mpi.sif --key demo.pub
        ./cybelectl submit pair.yaml --scheduler local --wait
        id -u >uid; find /tmp /var/tmp /dev/shm -user "$(id -u)" -newer begin ! -path "*/cybelectl-test.*" >left 2>/dev/null || true'
    assert_success
    refute [ "$(cat uid)" = 0 ]
    ranks_agree 2 pair-*.out
    assert_equal "$(cat left)" ""
}

@test "the three commands of a researcher: init, build, submit" {
    mkdir three && cd three || return
    "$CYBELECTL" init demo
    [[ $(id -u) != 0 ]] || sed -i 's/^launch: *mpi$/launch: {kind: mpi, allow-root: true}/; s/{kind: mpi}/{kind: mpi, allow-root: true}/' demo/job*.yaml
    run "$CYBELECTL" build demo
    assert_success
    run "$CYBELECTL" submit demo -n 2 --wait
    assert_equal "$status" 0
    assert_equal "$(cat -- *.out demo/*.out 2>/dev/null | grep -cE '^rank [01] of 2 on ')" 2
}
