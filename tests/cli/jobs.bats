# SPDX-License-Identifier: Apache-2.0
# One Job, rendered for each scheduler: scripts that shells accept, the same bytes everywhere.
load ../parts/suite.bash

setup() {
    work_place
    write_job demo 'command: [hello-mpi]' 'launch: mpi' \
        'resources: {nodes: 2, tasks-per-node: 2, cpus-per-task: 2, memory-per-node: 1 GiB, time: 90 s}' 'queue: batch'
    write_job here 'command: [hello-mpi]' 'launch: mpi' 'resources: {tasks-per-node: 2, time: 90 s}'
}
teardown() { leave_place; }

# render SCHEDULER: the job for it; this machine alone has no nodes and no queues.
render() {
    local job=demo.yaml
    [[ $1 != local ]] || job=here.yaml
    "$CYBELECTL" job render "$job" --scheduler "$1"
}

schedulers='slurm torque pbspro local'

@test "each script passes its shell's parser and shellcheck" {
    for scheduler in $schedulers; do
        render "$scheduler" >"$scheduler.sh"
        case $(head -n 1 "$scheduler.sh") in
            *bash*) bash -n "$scheduler.sh" ;;
            *) dash -n "$scheduler.sh" ;;
        esac
        shellcheck "$scheduler.sh"
    done
}

@test "rendering twice, and in another environment gives the same bytes" {
    for scheduler in $schedulers; do
        render "$scheduler" >a
        (TZ=Asia/Tokyo LC_ALL=C HOME=/ USER=nobody render "$scheduler" >b)
        cmp a b
    done
}

@test "a script has the directives of one dialect only" {
    run "$CYBELECTL" job render demo.yaml --scheduler slurm
    assert_line --regexp '^#SBATCH .*2'
    refute_output --partial '#PBS'
    run "$CYBELECTL" job render demo.yaml --scheduler torque
    assert_line --regexp '^#PBS .*nodes=2:ppn=4'
    refute_output --partial '#SBATCH'
    run "$CYBELECTL" job render demo.yaml --scheduler pbspro
    assert_line --regexp '^#PBS .*select=2:.*mpiprocs=2'
}

@test "values with quotes, dollars and backquotes reach the program unchanged" {
    printf '%s\n' 'kind: Job' 'name: words' "command: [printf, '<%s>', 'a b', \"it's\", '\$HOME', '\`id\`']" >words.yaml
    run --separate-stderr "$CYBELECTL" submit words.yaml --scheduler local --wait
    assert_equal "$status" 0
    assert_equal "$(cat words-*.out)" "$(printf '<%s>' 'a b' "it's" '$HOME' '`id`')"
}

@test "job check says that the launch of a script with a launcher of its own is not checked" {
    printf '%s\n' 'kind: Job' 'name: own' 'launch: batch' 'resources: {nodes: 2, tasks: 4}' 'script: |' \
        '  module load mpi' '  mpirun -n 4 ./a' >own.yaml
    run -0 --separate-stderr "$CYBELECTL" job check own.yaml --scheduler slurm
    assert_line 'launch:  batch on 2 nodes; `mpirun` in the script starts the ranks'
    assert_line --partial 'does not check that the ranks find each other'
    assert_line 'verdict: not checked'
    refute_output --partial 'without MPI'
    refute_output --partial 'verdict: works'
    refute_line 'own.yaml: no problems found'
    run -0 --separate-stderr "$CYBELECTL" job check own.yaml --scheduler slurm --format json
    assert_equal "$(jq -r .verdict <<<"$output")" 'not checked'
    jq -e '.guard | contains("does not check")' <<<"$output"
    sed 's/mpirun -n 4/exec/' own.yaml >none.yaml
    run -0 --separate-stderr "$CYBELECTL" job check none.yaml --scheduler slurm
    assert_line 'verdict: works'
}
