# SPDX-License-Identifier: Apache-2.0
# Fields of a Job that meet under the rules of TORQUE and OpenPBS (tests/parts/torque-rules): steps of the set-up on each node with
# arrays, packed sweeps and copies of the image, ranks by hydra on two nodes, packed rows that are continued, a login shell.
load ../parts/suite.bash
load ../cluster/torque.bash

# ended ID…: all of them ended with 0.
ended() {
    local id
    for id; do
        assert_equal "$id $(ends "$id")" "$id 0"
    done
}

# shellcheck disable=SC2016 # of the shell on the nodes
step='{run: "echo \"step of $CYBELE_ARRAY_INDEX on $(hostname)\"", on: each-node}'

steps_of_elements() {
    local -a root=()
    [[ $(id -u) != 0 ]] || root=(', allow-root: true')
    # shellcheck disable=SC2016
    job elements "setup: [$step]" 'array: 3-4' 'script: echo "rank of $CYBELE_ARRAY_INDEX on $(hostname)"' \
        "launch: {kind: mpi, guard: false${root[*]}}" 'resources: {nodes: 2, tasks-per-node: 2, time: 2 min}'
    run --separate-stderr submit elements --wait
    printf '%s\n' "$stderr"
    assert_equal "$status" 0
    for index in 3 4; do
        assert_equal "$(grep -h '^step' elements-*-"$index".out | sort)" "step of $index on n1"$'\n'"step of $index on n2"
        assert_equal "$(grep -h '^rank' elements-*-"$index".out | sort | uniq -c | tr -s ' ')" \
            " 2 rank of $index on n1"$'\n'" 2 rank of $index on n2"
    done
    assert_equal "$(compgen -G '.cybelectl-setup.*')" ''
}
@test "each element of an array has its steps on each of its nodes, with its index" {
    on_both steps_of_elements
}

steps_of_rows() {
    # shellcheck disable=SC2016
    job rows "setup: [{run: \"export WORD=first\"}, $step]" 'sweep: {n: 1-5, pack: 3, at-once: 2}' \
        "command: [sh, -c, 'echo \"\$WORD=\$1\"', sh, '@{n}']" 'resources: {time: 2 min}'
    run --separate-stderr submit rows --wait
    assert_equal "$status" 0
    id=$output
    assert_equal "$(cat rows-*-[01].out | sed -n '/^step/s/ on n[12]$//p' | sort)" $'step of 0\nstep of 1'
    run --separate-stderr "$CYBELECTL" job results "$id" --csv
    assert_equal "$(cut -d, -f 2-5,10 <<<"$output" | paste -sd' ')" \
        'row,n,state,code,first 0,1,done,0,1 1,2,done,0,2 2,3,done,0,3 3,4,done,0,4 4,5,done,0,5'
}
@test "a packed sweep has its steps once for each element, before its rows" {
    on_both steps_of_rows
}

copies_after_steps() {
    copy_fixture
    # shellcheck disable=SC2016
    write_job copied 'setup: [{run: "mkdir -p \"$PWD/made\"", on: each-node}]' 'image-copy: {expand: "$PBS_O_WORKDIR/made/images"}' \
        'script: echo "image $APPTAINER_CONTAINER"' 'resources: {time: 2 min}'
    run --separate-stderr submit copied --wait
    printf '%s\n' "$stderr"
    cat copied-*.err
    assert_equal "$status" 0
    assert_equal "$(grep -c "^image $PWD/made/images/cybelectl-image\.[^/]*/hello-mpi\.sif$" copied-*.out)" 1
    assert_equal "$(ls -A made/images)" ''
}
@test "a step makes the folder that the image is copied to" {
    on_both copies_after_steps
}

ranks_by_hydra() {
    local folder
    local -a as_root=()
    folder=$("$parts_dir/mpi" mpich)
    gcc -O2 -o hello -I "$folder/include" "$catalogue/hello-mpi/hello.c" -L "$folder/lib" -lmpi -Wl,-rpath,"$folder/lib"
    # shellcheck disable=SC2016
    job hydra "setup: [{run: 'export PATH=$folder/bin:\$PATH LD_LIBRARY_PATH=$folder/lib UCX_TLS=tcp,self'}, $step]" 'script: |' \
        '  echo "level $LEVEL on $(hostname)"' '  exec ./hello' 'environment: {LEVEL: "a b"}' \
        'launch: {kind: mpi, launcher: hydra, guard: false}' 'resources: {nodes: 2, tasks-per-node: 2, time: 2 min}'
    printf '127.0.0.1 localhost n1\n127.0.0.2 n2\n' >hosts # both share this machine's network; a name of its own address is no other node to hydra
    [[ $(id -u) == 0 ]] || as_root=(sudo -E env "PATH=$PATH")
    # shellcheck disable=SC2016 # for the shell inside
    run --separate-stderr "${as_root[@]}" unshare --mount -- bash -c 'mount --bind hosts /etc/hosts && exec "$@"' hosts \
        "$CYBELECTL" submit hydra.yaml --scheduler "$dialect" --monitoring-period 1 --wait
    printf '%s\n' "$stderr"
    cat hydra-*.err
    assert_equal "$status" 0
    assert_equal "$(grep -c '^level a b on n[12]$' hydra-*.out)" 4
    assert_equal "$(sed -nE 's/^rank [0-3] of 4 on (n[12])\b.*/\1/p' hydra-*.out | sort | uniq -c | tr -s ' \n' ' ')" ' 2 n1 2 n2 '
    assert_equal "$(grep -c '^step of  on n[12]$' hydra-*.out)" 2
}
@test "launcher: hydra starts the ranks of the host's MPICH on two nodes, with their steps and variables" {
    on_both ranks_by_hydra
}

rows_are_continued() {
    # shellcheck disable=SC2016
    job limited 'command: [sh, -c, "echo $1 >>turns; [ $1 != 3 ] || [ $(grep -c 3 turns) = 2 ] || exec sleep 60; echo ran=$1", sh, "@{n}"]' \
        'sweep: {n: 1-5, pack: 3, at-once: 1}' 'resources: {time: 5 s}' 'continue: {on: [timeout], most: 2}'
    run --separate-stderr submit limited --wait
    printf '%s\n' "$stderr"
    assert_equal "$status" 0
    assert_equal "$(sort turns | paste -sd' ')" '1 2 3 3 4 5'
    assert_regex "$stderr" 'is continued \(1 of 2\)'
    run --separate-stderr "$CYBELECTL" job results "$(tail -n 1 <<<"$output")" --csv
    assert_equal "$(cut -d, -f 2-5,10 <<<"$output" | paste -sd' ')" 'row,n,state,code,ran 2,3,done,0,3'
}
@test "of a packed sweep that reaches its time limit only the rows that did not end are continued" {
    on_both rows_are_continued
}

login_shell_and_image() {
    copy_fixture
    mkdir home
    echo 'export OF_PROFILE="a b"; export APPTAINERENV_OF_PROFILE="a b"' >home/.bash_profile
    # shellcheck disable=SC2016
    write_job login 'launch: batch' 'shell: [bash, -l]' 'arguments: [one, "two three"]' 'setup: [{run: "export HOME=$PWD/home"}]' 'script: |' \
        '  shopt -q login_shell && echo "login $OF_PROFILE, $# words, $2"' \
        '  $CYBELE_CONTAINER sh -c '"'"'echo "inside $OF_PROFILE $APPTAINER_CONTAINER"'"'"'' '  exit 9' \
        'resources: {nodes: 2, tasks-per-node: 1, time: 2 min}' 'output: {stdout: login.out, stderr: login.err}'
    run --separate-stderr submit login --wait
    printf '%s\n' "$stderr"
    cat login.err
    assert_equal "$status" 9
    assert_file_contains login.out '^login a b, 2 words, two three$'
    assert_equal "$(grep -c '^inside a b .*hello-mpi\.sif$' login.out)" 1
}
@test "a script in a login shell starts the image, with what its profile sets" {
    on_both login_shell_and_image
}
