# SPDX-License-Identifier: Apache-2.0
# torchrun of a real PyTorch (python3-torch of Debian 12, in a root of its own) on two nodes: they meet at the
# first one, every process counts, and one that dies ends the job.
load ../parts/suite.bash
load ../cluster/nodes.bash

setup_file() {
    start_nodes
    cp "$repo/tests/cluster/torch-app.py" app.py
    torch=$("$parts_dir/fixture" torch)
    export torch
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# torch_job NAME WORD…
torch_job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "image: $torch" "command: [app.py$(printf ', %s' "$@")]" \
        'launch: {kind: torch, processes-per-node: 2}' "binds: ['$place']" \
        'resources: {nodes: 2, cpus-per-task: 2, memory-per-node: 1500 MiB, time: 4 min}' >"$name.yaml"
    "$CYBELECTL" job render "$name.yaml" --scheduler slurm -o "$name.sh"
}
no_torch_left() { wait_for 15 bash -c "! '$parts_dir/slurm' exec '$place' pgrep -f 'torch.distributed.[r]un'"; }

@test "four processes on two nodes meet, and their sum is right" {
    torch_job four run
    run slurm sbatch --ignore-pbs --wait four.sh
    cat four-*.err
    assert_equal "$status" 0
    assert_equal "$(grep -cE '^rank [0-3] of 4 on n[12] sum 4 threads 1 1 ' four-*.out)" 4
    assert_equal "$(sed -nE 's/^rank .* on (n[12]) .*/\1/p' four-*.out | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 2 n1; 2 n2;'
    no_torch_left
}

@test "the PyTorch of Debian 13, built without libuv, ends the job at once, and its log is explained" {
    torch=$("$parts_dir/fixture" torch-13)
    torch_job without-uv run
    run slurm sbatch --ignore-pbs --wait without-uv.sh
    assert_failure
    run "$CYBELECTL" job explain --log "$(echo without-uv-*.err)"
    assert_output --partial 'built without libuv'
    no_torch_left
}

@test "a process that dies ends the job, soon and with an error" {
    local begin=$SECONDS
    torch_job dies kill
    run slurm sbatch --ignore-pbs --wait dies.sh
    refute [ "$status" = 0 ]
    assert [ "$((SECONDS - begin))" -lt 120 ]
    no_torch_left
}

@test "two jobs on the same nodes at once do not meet each other" {
    local first second
    torch_job twins wait
    first=$(slurm sbatch --ignore-pbs --parsable twins.sh)
    second=$(slurm sbatch --ignore-pbs --parsable twins.sh)
    wait_for 200 bash -c "[[ \$(cat twins-$first.out twins-$second.out 2>/dev/null | grep -c ' of 4 .* sum 4 ') == 8 ]]"
    slurm scancel "$first" "$second"
    no_torch_left
}
