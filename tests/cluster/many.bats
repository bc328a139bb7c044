# SPDX-License-Identifier: Apache-2.0
# Five hundred jobs of one client on a real Slurm: how often it is asked. Two to four minutes, most of them sbatch.
load ../parts/suite.bash
load nodes.bash
load jobs.bash

setup_file() { start_nodes; }
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

# asked PROGRAM: how often it was called.
asked() { grep -c "^$1\$" asked || true; }

@test "500 jobs: one query a poll, whatever becomes of them; one call cancels them all" {
    local program lane pids=() ids
    for program in squeue scontrol sacct scancel; do fake "$program" "echo $program >>'$place/asked'" 'exec "$real" "$@"'; done
    slurm scontrol update partition=batch state=DOWN
    host_job many 'command: ["true"]'
    for lane in 1 2; do
        behind "lane$lane" sh -c 'for n in $(seq 250); do cybelectl submit many.yaml --scheduler slurm || exit; done' && pids+=($!)
    done
    for pid in "${pids[@]}"; do ends_with 0 "$pid"; done
    mapfile -t ids < <(cat lane1.out lane2.out)
    assert_equal "$(jobs_named many)" 500
    # Twenty seconds, a query every 1.6 to 2.4 of them, sooner at first.
    : >asked
    run slurm env PATH="$place/fake:$PATH" timeout -s HUP 20 cybelectl job wait "${ids[@]}" --monitoring-period 2
    assert_equal "$(asked scontrol) $(asked sacct) $(asked scancel)" '0 0 0'
    assert [ "$(asked squeue)" -ge 6 ]
    assert [ "$(asked squeue)" -le 16 ]
    : >asked
    run slurm env PATH="$place/fake:$PATH" cybelectl job cancel "${ids[@]}" --quiet
    assert_success
    assert_equal "$(asked scancel)" 1
    assert [ "$(asked squeue)" -le 10 ]
    assert_equal "$(slurm squeue -h -t CA --name=many -o %A | wc -l)" 500
    run slurm cybelectl job list --format json
    assert_equal "$(jq '.jobs | length' <<<"$output")" 0
}
