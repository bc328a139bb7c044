# SPDX-License-Identifier: Apache-2.0
# The batch system's side of the bridge on a real Slurm: handed over held, found by its token, released, cancelled.
load ../parts/suite.bash
load nodes.bash

setup_file() { start_nodes; }
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

is_over() { [[ -z $(slurm squeue -h -o %i) ]]; }

@test "of two jobs that were handed over held, the one that is released runs, and the other never does" {
    printf '%s\n' '#!/bin/sh' "echo \$SLURM_JOB_ID >>$place/ran" >job.sh
    run slurm env USER="$(id -un)" CYBELE_HELD_SCRIPT="$place/job.sh" \
        "${CYBELECTL%/cli/*}/tests/unit_submission" --test-case='held hand-over on a real Slurm'
    assert_success
    assert_output --regexp 'released ([0-9]+), cancelled ([0-9]+)'
    released=$(sed -n 's/.*released \([0-9]*\),.*/\1/p' <<<"$output")
    wait_for 30 is_over
    assert_equal "$(cat ran)" "$released"
}
