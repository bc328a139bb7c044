# SPDX-License-Identifier: Apache-2.0
# Rendered scripts run by a real Slurm on two nodes: ranks in containers see each other across nodes.
load ../parts/suite.bash
load nodes.bash
load directives.bash

setup_file() {
    start_nodes
    copy_fixture
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

mpi_job() {
    write_job "$1" 'command: [hello-mpi]' "launch: {kind: mpi$2$(root_too)}" \
        'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 3 min}' 'queue: batch'
}

across_two_nodes() {
    assert_equal "$(grep -cE '^rank [0-3] of 4 on n[12]\b' "$1")" 4
    assert_equal "$(sed -nE 's/^rank .* on (n[12])\b.*/\1/p' "$1" | sort -u | tr '\n' ' ')" 'n1 n2 '
    assert_equal "$(sed -nE 's/.*, sum ([0-9]+).*/\1/p' "$1" | sort -u | wc -l)" 1
}

@test "sbatch reads our directives as we meant them" {
    mpi_job meant ''
    "$CYBELECTL" job render meant.yaml --scheduler slurm -o meant.sh
    run slurm sbatch --ignore-pbs --test-only -vv meant.sh
    assert_success
    assert_output --regexp 'nodes +: 2'
    assert_output --regexp 'ntasks-per-node +: 2'
    assert_output --regexp 'time +: 00:03:00'
    assert_output --regexp 'using 4 processors on nodes n\[1-2\]'
}

@test "Slurm has what the fields and the directives of a Job ask for" {
    directives_are_seen '--power=level|Power=LEVEL' '--container=/x|Container=/x'
}

@test "mpirun: four ranks on two nodes see each other" {
    mpi_job by-mpirun ', launcher: mpirun'
    "$CYBELECTL" job render by-mpirun.yaml --scheduler slurm -o by-mpirun.sh
    run slurm sbatch --ignore-pbs --wait by-mpirun.sh
    cat by-mpirun-*.err
    assert_equal "$status" 0
    across_two_nodes by-mpirun-*.out
}

@test "srun with PMIx: four ranks on two nodes see each other" {
    mpi_job by-srun ', launcher: srun, pmi: pmix'
    "$CYBELECTL" job render by-srun.yaml --scheduler slurm -o by-srun.sh
    run slurm sbatch --ignore-pbs --wait by-srun.sh
    cat by-srun-*.err
    assert_equal "$status" 0
    across_two_nodes by-srun-*.out
}

@test "a plain script: four ranks on two nodes see each other" {
    mpi_job by-hand ', launcher: mpirun'
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'runtime: {program: cybelectl}' >hall.yaml
    "$CYBELECTL" job render by-hand.yaml --site hall.yaml --plain -o by-hand.sh
    assert [ "$(wc -l <by-hand.sh)" -le 25 ]
    run slurm sbatch --ignore-pbs --wait by-hand.sh
    cat by-hand-*.err
    assert_equal "$status" 0
    across_two_nodes by-hand-*.out
}

@test "the guard stops a job whose ranks cannot find each other" {
    mpi_job blind ', launcher: mpirun'
    "$CYBELECTL" job render blind.yaml --scheduler slurm -o blind.sh
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
    PATH=$place/bin:$PATH run slurm sbatch --ignore-pbs --wait blind.sh
    assert_failure
    cat blind-*.out blind-*.err >blind.txt
    assert_file_contains blind.txt 'MPI in the container sees 1'
    assert_file_contains blind.txt 'its environment was cleared'
}

@test "an image that the second node does not have stops the job before any rank" {
    local launcher
    cp hello-mpi.sif /tmp/first.sif
    slurm ssh n1 "cp '$place/hello-mpi.sif' /tmp/first.sif" # each node has its own /tmp
    for launcher in mpirun srun; do
        mpi_job "first-$launcher" ", launcher: $launcher"
        sed -i 's|^image: .*|image: /tmp/first.sif|' "first-$launcher.yaml"
        "$CYBELECTL" job render "first-$launcher.yaml" --scheduler slurm -o "first-$launcher.sh"
        run slurm sbatch --ignore-pbs --wait "first-$launcher.sh"
        assert_equal "$status" 1
        cat "first-$launcher"-*.out "first-$launcher"-*.err >first.txt
        cat first.txt
        assert_file_contains first.txt '^error: the container did not start on a node'
        assert_file_contains first.txt "^because: .*/tmp/first.sif"
        assert_equal "$(grep -c '^rank ' first.txt)" 0
    done
}

@test "sbatch --wait gives the program's exit code" {
    write_job three 'command: [sh, -c, exit 3]' 'resources: {time: 1 min}' 'queue: batch'
    "$CYBELECTL" job render three.yaml --scheduler slurm -o three.sh
    run slurm sbatch --ignore-pbs --wait three.sh
    assert_equal "$status" 3
}

@test "qsub takes the TORQUE script and runs it" {
    write_job by-qsub 'command: [sh, -c, echo ran-here]' 'resources: {time: 1 min}' 'queue: batch' 'output: {stdout: q.out, stderr: q.err}'
    "$CYBELECTL" job render by-qsub.yaml --scheduler slurm-torque -o by-qsub.sh
    run "$parts_dir/qsub" submit "$place" by-qsub.sh
    assert_success
    assert_output --regexp '^[0-9]+$'
    wait_for 30 grep -q ran-here q.out
}

@test "a batch script of one's own is submitted unchanged: code, outputs, arguments, elements, cancel" {
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/bash' '#SBATCH --job-name=wheat --time=1' '#SBATCH --comment=mine' 'echo "<$1> in $SLURM_SUBMIT_DIR"' 'exit 7' >old.sh
    run --separate-stderr slurm cybelectl submit --script old.sh --scheduler slurm --wait -- 'two words'
    assert_equal "$status" 7
    assert_equal "$(cat "slurm-$output.out")" "<two words> in $PWD"
    run slurm cybelectl job status "$output"
    assert_output --regexp ' failed 7'
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' '#SBATCH -a 1-2 -t 1' 'echo part $SLURM_ARRAY_TASK_ID' '[ $SLURM_ARRAY_TASK_ID != 2 ]' >parts.sh
    run --separate-stderr slurm cybelectl submit --script parts.sh --scheduler slurm --wait
    assert_equal "$status" 1
    id=$output
    for index in 1 2; do
        run slurm cybelectl job logs "${id}_$index"
        assert_output "part $index"
    done
    printf '%s\n' '#!/bin/sh' 'sleep 300' >long.sh
    id=$(slurm cybelectl submit --script long.sh --scheduler slurm)
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %j)" long.sh
    run slurm cybelectl job cancel "$id"
    assert_success
    run slurm cybelectl job status "$id"
    assert_output --regexp "^$id cancelled"
    printf '%s\n' '#!/bin/sh' '#SBATCH -p nowhere' 'true' >refused.sh
    run slurm cybelectl submit --script refused.sh --scheduler slurm
    assert_equal "$status" 6
    assert_output --partial 'nothing was submitted'
}
