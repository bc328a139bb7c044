# SPDX-License-Identifier: Apache-2.0
# Rendered scripts under the rules of real TORQUE and OpenPBS servers, replayed by tests/parts/torque-rules,
# with the host's mpirun over two nodes. About a minute.
load ../parts/suite.bash

setup() {
    work_place
    mkdir programs "a b"
    ln -s "$CYBELECTL" programs/cybelectl
    root=
    [[ $(id -u) != 0 ]] || root=', allow-root: true'
}
teardown() {
    [[ ! -d $place/rules ]] || "$parts_dir/torque-rules" stop "$place"
    leave_place
}

# rules PRODUCT: starts them; the working directory of submission has a blank.
rules() {
    product=$1
    bin=$("$parts_dir/torque-rules" start "$place" "$product")
    dialect=torque
    [[ $product == torque ]] || dialect=pbspro
    cd "$place/a b" || return
}

# job NAME LINE…: a Job of the host's programs, rendered for the product as NAME.sh.
job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "$@" >"$name.yaml"
    "$CYBELECTL" job render "$name.yaml" --scheduler "$dialect" -o "$name.sh" 2>notes
}

# ends ID: its exit number.
ends() { "$parts_dir/torque-rules" wait "$place" "$1"; }

ranks_job() {
    # shellcheck disable=SC2016
    job "$1" 'script: echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname) threads ${OMP_NUM_THREADS:-} level ${LEVEL:-}' \
        "launch: {kind: mpi, guard: false$root}" 'environment: {LEVEL: "a b"}' \
        'resources: {nodes: 2, tasks-per-node: 2, cpus-per-task: 2, time: 2 min}'
}

four_ranks_on_two_nodes() {
    assert_equal "$(grep -cE '^rank [0-3] of 4 on n[12] threads 2 level a b$' "$1")" 4
    assert_equal "$(sed -nE 's/^rank .* on (n[12]) .*/\1/p' "$1" | sort | uniq -c | tr -s ' \n' ' ')" ' 2 n1 2 n2 '
}

for_both() {
    local each
    for each in torque openpbs; do
        cd "$place" && rm -rf rules
        rules "$each"
        "$@"
        "$parts_dir/torque-rules" stop "$place"
    done
}

code_comes_back() {
    job nine 'command: [sh, -c, exit 9]' 'resources: {time: 1 min}'
    id=$("$bin/qsub" nine.sh)
    assert_equal "$(ends "$id")" 9
    assert_file_contains "nine-${id%%.*}.err" 'cybelectl: job nine'
    assert_equal "$(jq -r '"\(.state) \(.code)"' ".cybelectl/nine-${id%%.*}/exit.json")" 'failed 9'
}
@test "the program's code is the job's, output and record lie where it was submitted" {
    for_both code_comes_back
}

ranks_meet() {
    ranks_job meet
    id=$("$bin/qsub" meet.sh)
    assert_equal "$(ends "$id")" 0
    four_ranks_on_two_nodes "meet-${id%%.*}.out"
}
@test "mpirun over ssh: four ranks on two nodes, each with the job's environment" {
    for_both ranks_meet
}

@test "mutant: without -x the second node's ranks have no threads and no variables" {
    rules torque
    ranks_job bare
    # shellcheck disable=SC2016
    sed -i 's/hosts+=(-x "\$variable").*/true/' bare.sh
    id=$("$bin/qsub" bare.sh)
    assert_equal "$(ends "$id")" 0
    assert_equal "$(grep -cE 'on n2 threads +level *$' "bare-${id%%.*}.out")" 2
}

@test "mutant: without the node file all ranks are on the first node" {
    rules torque
    ranks_job local
    # shellcheck disable=SC2016
    sed -i 's/hosts=(--hostfile "\$PBS_NODEFILE")/hosts=()/; s/--map-by ppr:2:node//' local.sh
    id=$("$bin/qsub" local.sh)
    ends "$id"
    run ! grep -q 'on n2' "local-${id%%.*}.out"
}

@test "mutant: select is no request for TORQUE, and the script says that its nodes are missing" {
    rules torque
    ranks_job chosen
    sed -i 's/^#PBS -l nodes=.*/#PBS -l select=2:ncpus=4:mpiprocs=2/' chosen.sh
    id=$("$bin/qsub" chosen.sh)
    refute [ "$(ends "$id")" = 0 ]
    assert_file_contains "chosen.o${id%%.*}" 'error: the job asks for 2 nodes'
}

@test "mutant: OpenPBS without place puts both chunks on one node, and the script says so" {
    rules openpbs
    job packed 'command: [hostname]' "launch: {kind: mpi, guard: false$root}" 'resources: {nodes: 2, tasks-per-node: 1, cpus-per-task: 2, time: 1 min}'
    sed -i '/place=scatter/d' packed.sh
    id=$("$bin/qsub" packed.sh)
    refute [ "$(ends "$id")" = 0 ]
    assert_file_contains "packed.o${id%%.*}" 'error: the job asks for 2 nodes'
}

threads_are_ours() {
    job threads 'command: [printenv, OMP_NUM_THREADS]' 'launch: {kind: openmp, threads: 1}' 'resources: {cpus-per-task: 3, time: 1 min}'
    id=$("$bin/qsub" threads.sh)
    assert_equal "$(ends "$id")" 0
    assert_equal "$(cat "threads-${id%%.*}.out")" 1
}
steps_on_two_nodes() {
    # shellcheck disable=SC2016
    job steps 'setup:' '  - {run: "export WORD=\"a b\" name=mine"}' \
        '  - {run: "echo \"$WORD, $name on $(hostname) in $PWD\"", on: each-node}' \
        'script: echo rank' "launch: {kind: mpi, guard: false$root}" \
        'resources: {nodes: 2, tasks-per-node: 2, time: 2 min}'
    assert_equal "$(ends "$("$bin/qsub" steps.sh)")" 0
    assert_equal "$(sed -n '/ on n/p' steps-*.out | sort)" \
        "a b, mine on n1 in $PWD"$'\n'"a b, mine on n2 in $PWD"
    assert_equal "$(grep -c '^rank$' steps-*.out)" 4
    # shellcheck disable=SC2016
    job broken 'setup: [{run: "[ $(hostname) = n1 ] || exit 7", on: each-node}]' 'script: echo started' \
        "launch: {kind: mpi, guard: false$root}" 'resources: {nodes: 2, tasks-per-node: 2, time: 2 min}'
    assert_equal "$(ends "$("$bin/qsub" broken.sh)")" 1
    grep -q '^cybelectl: the set-up on n2 ended with code 7$' broken-*.err
    grep -q '^error: the set-up failed on a node$' broken-*.err
    refute grep -q started broken-*.out
    assert_equal "$(compgen -G '.cybelectl-setup.*')" ''
}
@test "a step of the set-up runs once on each node, and one that fails ends the job" {
    for_both steps_on_two_nodes
}

@test "OMP_NUM_THREADS is the job's, not the batch system's" {
    for_both threads_are_ours
}

elements_have_their_index() {
    # shellcheck disable=SC2016
    job parts 'script: echo part $CYBELE_ARRAY_INDEX' 'array: 0-2' 'resources: {time: 1 min}'
    id=$("$bin/qsub" parts.sh)
    for index in 0 1 2; do
        assert_equal "$(ends "${id%%\[*}[$index].head")" 0
        assert_equal "$(cat "parts-${id%%\[*}-$index.out")" "part $index"
    done
}
@test "each element of an array knows its index and has its own output" {
    for_both elements_have_their_index
}

deleted_job_leaves_nothing() {
    job long "launch: {kind: mpi, guard: false$root}" 'resources: {nodes: 2, tasks-per-node: 2, time: 5 min}' \
        "script: touch '$place/began'; exec sleep 71.$unique"
    id=$("$bin/qsub" long.sh)
    wait_for 30 test -e "$place/began"
    "$bin/qdel" "$id"
    assert_equal "$(ends "$id")" 271
    rm "$place/began"
    wait_for 10 no_process "sleep 71.$unique"
}
no_process() { ! pgrep -fx "$1" >/dev/null; }
@test "qdel: no rank is left on any node" {
    for_both deleted_job_leaves_nothing
}

@test "qdel under OpenPBS: the program hears TERM, and the record says cancelled" {
    rules openpbs
    job heard "script: |" "  trap 'echo heard; exit 3' TERM" "  touch '$place/began'" '  sleep 30 & wait $!' 'resources: {time: 5 min}'
    id=$("$bin/qsub" heard.sh)
    wait_for 30 test -e "$place/began"
    "$bin/qdel" "$id"
    assert_equal "$(ends "$id")" 271
    assert_equal "$(cat "heard-${id%%.*}.out")" heard
    assert_equal "$(jq -r '"\(.state) \(.code)"' ".cybelectl/heard-${id%%.*}/exit.json")" 'cancelled 3'
}

@test "the program's own code is told when the signal comes as it ends" {
    # bash loses it where a trap interrupts `wait` at that moment; one try in three, then.
    rules openpbs
    job race 'command: ["true"]' 'resources: {time: 5 min}'
    {
        printf '%s\n' 'set -euo pipefail' "ended=no payload='' cybele_own=''"
        sed -n '/^launch() {/,/^}/p; /^exec {idle}/p' race.sh
        printf '%s\n' "trap 'ended=yes' TERM" \
            'launch sh -c "trap \"exit 3\" TERM; : >ready; sleep 30 & wait \$!" || :' 'echo "$code"'
    } >run.sh
    for ((i = 0; i < 40; ++i)); do
        rm -f ready
        setsid bash run.sh >code 2>/dev/null &
        pid=$!
        wait_for 20 test -e ready
        # shellcheck disable=SC2046 # each process of the session
        kill -TERM $(ps -o pid= -s "$pid")
        wait "$pid"
        assert_equal "$(cat code)" 3
    done
}

clock_speaks() {
    job clock "script: |" "  trap 'echo near; exit 0' USR1" '  sleep 30 & wait $!' 'resources: {time: 62 s}' 'signal: {before: 60 s}'
    id=$("$bin/qsub" clock.sh)
    assert_equal "$(ends "$id")" 0
    assert_equal "$(cat "clock-${id%%.*}.out")" near
}
@test "the script's own clock sends the signal that no directive can ask for" {
    for_both clock_speaks
}

@test "the time limit ends the job with the products' own numbers" {
    for row in 'torque -11' 'openpbs -29'; do
        cd "$place" && rm -rf rules
        rules "${row% *}"
        job slow 'command: [sleep, "60"]' 'resources: {time: 2 s}'
        id=$("$bin/qsub" slow.sh)
        assert_equal "$(ends "$id")" "${row#* }"
    done
}

# head PRODUCT EXPECTED LINE…: what qsub makes of a script with these lines: the job's name, or the code.
head_is() {
    local expected=$2 product=$1 name
    shift 2
    cd "$place" && rm -rf rules
    rules "$product"
    printf '%s\n' '#!/bin/bash' "$@" 'echo "$PBS_JOBNAME $(wc -l <"$PBS_NODEFILE")" >"$PBS_O_WORKDIR/said"' >head.sh
    if run "$bin/qsub" head.sh && [[ $status == 0 ]]; then
        ends "$output"
        name=$(cat said)
        assert_equal "$name" "$expected"
    else
        assert_equal "$status" "$expected"
    fi
}
@test "the rules are those that were measured: how directives are read" {
    head_is torque 'a 1' '' ': text' '  #PBS -N a'
    head_is openpbs 'a 1' '' ': text' '  #PBS -N a'
    head_is torque 'a 1' '#PBSX -N a'
    head_is openpbs 1 '#PBSX -N a'
    head_is torque 'ok 1' '#PBS -N ok text'
    head_is openpbs 1 '#PBS -N ok text'
    head_is torque 'head.sh 1' 'true' '#PBS -N late'
    head_is torque 2 '#PBS -N a' '#PBS -Y'
    head_is openpbs 1 '#PBS -N a' '#PBS -Y'
}
@test "the rules are those that were measured: what is given and refused" {
    head_is torque 'head.sh 1' '#PBS -l select=2:ncpus=4:mpiprocs=4'
    head_is openpbs 'head.sh 8' '#PBS -l select=2:ncpus=4:mpiprocs=4'
    head_is torque 'head.sh 6' '#PBS -l nodes=2:ppn=3'
    head_is openpbs 'head.sh 6' '#PBS -l nodes=2:ppn=3'
    head_is torque 'head.sh 5' '#PBS -l nodes=n1:ppn=2+n2:ppn=3'
    head_is torque 'head.sh 1' '#PBS -l ncpus=4'
    head_is torque 190 '#PBS -l nodes=3:ppn=1'
    head_is torque 190 '#PBS -l nodes=2:ppn=9'
    head_is torque 27 '#PBS -l nodes=2:ppn=0'
    head_is torque 189 '#PBS -l place=scatter'
    head_is torque 189 '#PBS -l foo=bar'
    head_is openpbs 187 '#PBS -l foo=bar'
    head_is torque 168 '#PBS -l walltime=2-0'
    head_is openpbs 166 '#PBS -l walltime=1:00:00:00'
    head_is torque 168 '#PBS -l mem=1.5gb'
    head_is openpbs 6 '#PBS -l select=1:ncpus=1' '#PBS -l nodes=1'
    head_is torque 235 '#PBS -t 0-6:2'
    head_is openpbs 2 '#PBS -J 1,3'
    head_is openpbs 2 '#PBS -N a$b'
    head_is openpbs 2 '#PBS -r n' '#PBS -J 0-3'
}

# shellcheck disable=SC2016 # variables of the scripts
environment_is_that_of_the_product() {
    local line
    for line in '#PBS -l nodes=2:ppn=2' '#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=3' '#PBS -l select=1:ncpus=4'; do
        [[ $product == openpbs || $line == *ppn* ]] || continue
        printf '%s\n' '#!/bin/sh' "$line" "echo \"\${NCPUS:-none} \${OMP_NUM_THREADS:-none}\" >>'$place/$product.threads'" >threads.sh
        assert_equal "$(ends "$("$bin/qsub" threads.sh)")" 0
    done
    mkdir -p 'com,ma' 'back\sl' 'a =:%&b'
    for line in 'com,ma' 'back\sl' 'a =:%&b'; do
        printf '%s\n' '#!/bin/sh' "echo \"\${PBS_O_WORKDIR##*/}\" >>'$place/$product.folders'" >"$line/where.sh"
        assert_equal "$(cd "$line" && ends "$("$bin/qsub" where.sh)")" 0
    done
    printf '%s\n' '#!/bin/sh' '#PBS -l nodes=2:ppn=1' \
        "pbsdsh -- /bin/sh -c 'echo of a task; exit 5' >'$place/$product.out' 2>'$place/$product.err'" >tasks.sh
    id=$("$bin/qsub" tasks.sh)
    assert_equal "$(ends "$id")" 0 # whatever became of the tasks
    assert_equal "$(cat "$place/$product.out")" ''
    assert_equal "$(grep -c '^of a task$' "tasks.sh.o${id%%.*}")" 2 # where the mom writes
}
@test "the rules are those that were measured: threads, the folder of submission, and what pbsdsh says" {
    for_both environment_is_that_of_the_product
    assert_equal "$(cat "$place/torque.threads")" 'none none'
    assert_equal "$(cat "$place/openpbs.threads")" $'2 2\n3 3\n4 4'
    assert_equal "$(cat "$place/torque.folders")" $'com\nbacksl\na =:%&b'
    assert_equal "$(cat "$place/openpbs.folders")" $'com,ma\nback\\sl\na =:%&b'
    assert_equal "$(cat "$place/torque.err")" $'pbsdsh(): task 0 exit status 5\npbsdsh(): task 1 exit status 5'
    assert_equal "$(cat "$place/openpbs.err")" $'pbsdsh: task 0x00000000 exit status 5\npbsdsh: task 0x00000001 exit status 5'
}

is_in_queue() { [[ $("$bin/qstat" -f "$1" | sed -n 's/ *job_state = //p') == "$2" ]]; }
@test "the rules are those that were measured: a node alone, a held job" {
    rules torque
    printf '%s\n' '#!/bin/sh' 'sleep 60' >long.sh
    printf '%s\n' '#!/bin/sh' 'exit 4' >short.sh
    alone=$("$bin/qsub" -n long.sh)
    wait_for 20 is_in_queue "$alone" R
    waits=$("$bin/qsub" short.sh)
    held=$("$bin/qsub" -h short.sh)
    sleep 0.5
    is_in_queue "$waits" Q
    "$bin/qdel" "$alone"
    assert_equal "$(ends "$waits")" 4
    is_in_queue "$held" H
    "$bin/qrls" "$held"
    assert_equal "$(ends "$held")" 4
}
