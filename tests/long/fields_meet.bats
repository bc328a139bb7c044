# SPDX-License-Identifier: Apache-2.0
# Fields of a Job that meet on the nodes of a real Slurm: steps of the set-up on each node with arrays, packed sweeps and copies of the
# image, ranks by hydra on two nodes, packed rows that are continued, a login shell around a script that starts the image.
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/jobs.bash

setup_file() {
    start_nodes
    copy_fixture
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# by_slurm NAME: renders NAME.yaml, submits it, waits; its code is the job's.
by_slurm() {
    "$CYBELECTL" job render "$1.yaml" --scheduler slurm -o "$1.sh" 2>"$1.notes" || { cat "$1.notes" && return 99; }
    slurm sbatch --ignore-pbs --wait "$1.sh"
}

# shellcheck disable=SC2016 # of the shell on the nodes
step='{run: "echo \"step of $CYBELE_ARRAY_INDEX on $(hostname)\"; touch \"/tmp/step-$CYBELE_ARRAY_INDEX\"", on: each-node}'

@test "each element of an array has its steps on each of its nodes, with its index" {
    # shellcheck disable=SC2016
    host_job elements "setup: [$step]" 'array: 3-4' \
        'script: ls "/tmp/step-$CYBELE_ARRAY_INDEX" >/dev/null && echo "rank of $CYBELE_ARRAY_INDEX on $(hostname)"' \
        'launch: {kind: mpi, launcher: srun, pmi: default, guard: false}' 'resources: {nodes: 2, tasks-per-node: 2, time: 2 min}'
    run by_slurm elements
    cat elements-*.err
    assert_equal "$status" 0
    for index in 3 4; do
        assert_equal "$(grep -h '^step' elements-*_"$index".out | sort)" "step of $index on n1"$'\n'"step of $index on n2"
        assert_equal "$(grep -h '^rank' elements-*_"$index".out | sort | uniq -c | tr -s ' ')" \
            " 2 rank of $index on n1"$'\n'" 2 rank of $index on n2"
    done
}

@test "a packed sweep has its steps once for each element, before its rows" {
    # shellcheck disable=SC2016
    host_job rows "setup: [{run: \"export WORD=first\"}, $step]" 'sweep: {n: 1-5, pack: 3, at-once: 2}' \
        "command: [sh, -c, 'ls /tmp/step-[01] >/dev/null && echo \"\$WORD=\$1\"', sh, '@{n}']" 'resources: {time: 2 min}'
    run --separate-stderr submit rows --wait
    assert_equal "$status" 0
    id=$output
    assert_equal "$(grep -h '^step' "rows-${id}"_[01].out | sed 's/ on n[12]$//' | sort)" $'step of 0\nstep of 1'
    run --separate-stderr slurm cybelectl job results "$id" --csv
    assert_equal "$(cut -d, -f 2-5,10 <<<"$output" | paste -sd' ')" \
        'row,n,state,code,first 0,1,done,0,1 1,2,done,0,2 2,3,done,0,3 3,4,done,0,4 4,5,done,0,5'
    host_job no-rows 'setup: [{run: "exit 7", on: each-node}]' 'sweep: {n: 1-2, pack: all, at-once: 2}' \
        "command: [echo, '@{n}']" 'resources: {time: 2 min}'
    run --separate-stderr submit no-rows --wait
    assert_equal "$status" 1
    run --separate-stderr slurm cybelectl job list --elements "$output"
    refute_output --partial 'done'
}

@test "a step on each node makes the folder that the image is copied to" {
    write_job copied 'setup:' '  - {run: "export PLACE=/tmp/here"}' '  - {run: "mkdir -p $PLACE; touch $PLACE/made", on: each-node}' \
        'image-copy: {expand: "$PLACE/images"}' "launch: {kind: mpi, launcher: srun, pmi: pmix$(root_too)}" \
        'script: |' '  hello-mpi' '  echo "image $APPTAINER_CONTAINER"' \
        'resources: {nodes: 2, tasks-per-node: 1, memory-per-node: 500 MiB, time: 2 min}'
    run by_slurm copied
    cat copied-*.err
    assert_equal "$status" 0
    assert_equal "$(grep -cE '^rank [01] of 2 on n[12]\b' copied-*.out)" 2
    assert_equal "$(grep -c '^image /tmp/here/images/cybelectl-image\.[^/]*/hello-mpi\.sif$' copied-*.out)" 2
    for node in n1 n2; do
        assert_equal "$(slurm ssh "$node" 'ls -A /tmp/here /tmp/here/images' | paste -sd' ')" '/tmp/here: images made  /tmp/here/images:'
    done
}

@test "each element of an array has its own copy of the image, which is gone afterwards" {
    # shellcheck disable=SC2016
    write_job many 'setup: [{run: "mkdir -p /tmp/many", on: each-node}]' 'image-copy: /tmp/many' 'array: 0-1' \
        'script: echo "$APPTAINER_CONTAINER"' 'resources: {memory-per-node: 500 MiB, time: 2 min}'
    run by_slurm many
    cat many-*.err
    assert_equal "$status" 0
    assert_equal "$(cat many-*_[01].out | sort -u | grep -c '^/tmp/many/cybelectl-image\.[^/]*/hello-mpi\.sif$')" 2
    for node in n1 n2; do
        assert_equal "$(slurm ssh "$node" 'ls -A /tmp/many 2>/dev/null')" ''
    done
}

@test "launcher: hydra starts the ranks of the host's MPICH and Intel MPI on two nodes, with their steps and variables" {
    local name folder headers
    for name in mpich intel; do
        folder=$("$parts_dir/mpi" "$name")
        headers=$("$parts_dir/mpi" mpich)/include
        gcc -O2 -o "hello-$name" -I "$headers" "$catalogue/hello-mpi/hello.c" -L "$folder/lib" -lmpi
        # shellcheck disable=SC2016
        host_job "hydra-$name" "setup: [$step]" 'script: |' "  echo \"level \$LEVEL on \$(hostname)\"" "  exec ./hello-$name" \
            'environment: {LEVEL: "a b"}' 'launch: {kind: mpi, launcher: hydra, guard: false}' \
            'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 2 min}'
        PATH=$folder/bin:$PATH LD_LIBRARY_PATH=$folder/lib I_MPI_ROOT=$folder UCX_TLS=tcp,self run by_slurm "hydra-$name"
        cat "hydra-$name"-*.err
        assert_equal "$status" 0
        assert_equal "$(grep -c '^level a b on n[12]$' "hydra-$name"-*.out)" 4
        assert_equal "$(sed -nE 's/^rank [0-3] of 4 on (n[12])\b.*/\1/p' "hydra-$name"-*.out | sort | uniq -c | tr -s ' \n' ' ')" ' 2 n1 2 n2 '
        assert_equal "$(grep -c '^step of  on n[12]$' "hydra-$name"-*.out)" 2
    done
}

@test "of a packed sweep that reaches its time limit only the rows that did not end are continued" {
    # shellcheck disable=SC2016
    host_job limited 'command: [sh, -c, "echo $1 >>turns; [ $1 != 3 ] || [ $(grep -c 3 turns) = 2 ] || exec sleep 300; echo ran=$1", sh, "@{n}"]' \
        'sweep: {n: 1-5, pack: 3, at-once: 1}' 'resources: {time: 1 min}' 'continue: {on: [timeout], most: 2}'
    run --separate-stderr submit limited --wait --monitoring-period 1
    printf '%s\n' "$stderr"
    assert_equal "$status" 0
    assert_equal "$(sort turns | paste -sd' ')" '1 2 3 3 4 5'
    assert_regex "$stderr" 'is continued \(1 of 2\)'
    assert_equal "$(wc -l <<<"$output")" 2
    run --separate-stderr slurm cybelectl job results "$(tail -n 1 <<<"$output")" --csv
    assert_equal "$(cut -d, -f 2-5,10 <<<"$output" | paste -sd' ')" 'row,n,state,code,ran 2,3,done,0,3'
}

@test "a script in a login shell starts the image on both nodes, with what its profile sets" {
    mkdir -p home
    echo 'export OF_PROFILE="a b"; export APPTAINERENV_OF_PROFILE="a b"' >home/.bash_profile
    # shellcheck disable=SC2016
    write_job login 'launch: batch' 'shell: [bash, -l]' 'arguments: [one, "two three"]' 'setup: [{run: "export HOME=$PWD/home"}]' 'script: |' \
        '  shopt -q login_shell && echo "login $OF_PROFILE, $# words, $2"' \
        '  srun --ntasks-per-node=1 --nodes=2 $CYBELE_CONTAINER sh -c '"'"'echo "inside $OF_PROFILE $APPTAINER_CONTAINER"'"'"'' \
        '  for turn in 1 2; do $CYBELE_CONTAINER sh -c "exit $turn"; echo "code $?"; done' '  exit 9' \
        'resources: {nodes: 2, tasks-per-node: 1, memory-per-node: 500 MiB, time: 2 min}' 'output: {stdout: login.out, stderr: login.err}'
    run by_slurm login
    cat login.err
    assert_equal "$status" 9
    assert_file_contains login.out '^login a b, 2 words, two three$'
    assert_equal "$(grep -c '^inside a b .*hello-mpi\.sif$' login.out)" 2
    assert_equal "$(grep '^code' login.out | paste -sd' ')" 'code 1 code 2'
    assert_equal "$(compgen -G '.cybelectl-batch.*')" ''
}
