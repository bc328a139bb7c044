# SPDX-License-Identifier: Apache-2.0
# docs/tutorials/kubernetes.md: its commands, run in order between a real API server and a real Slurm, what they print compared. Half a minute.
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() { start_bridge_parts; }
setup() { enter_nodes; }
teardown_file() { stop_bridge_parts; }

@test "the bridge's tutorial prints what it shows" {
    kubectl delete crd slurmjobs.cybelectl.io
    ln -s "$("$parts_dir/kubernetes" make)/kubectl-1.34" commands/kubectl
    run as_bridge "$repo/tests/docs/run-page" "$repo/docs/tutorials/kubernetes.md"
    assert_success
    assert_equal "$(in_queue)" ''
}
