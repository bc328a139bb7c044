# SPDX-License-Identifier: Apache-2.0
# docs/tutorials/kubernetes.md, docs/reference/bridge-users.md and bridge-operations.md: their commands, run in order between a real API
# server and a real Slurm, what they print compared. Three minutes.
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() { start_bridge_parts; }
setup() { enter_nodes; }
teardown_file() { stop_bridge_parts; }

@test "the bridge's tutorial, then the page of its users and the one of its operators, print what they show" {
    kubectl delete crd slurmjobs.cybelectl.io
    ln -s "$("$parts_dir/kubernetes" make)/kubectl-1.34" commands/kubectl
    # The bridge that the tutorial starts runs until its shell ends: one page, one shell.
    # The account is root here, which `bridge install` warns of.
    sed 's/^\$ cybelectl bridge install/$ cybelectl -q bridge install/' "$repo/docs/tutorials/kubernetes.md" \
        "$repo/docs/reference/bridge-users.md" "$repo/docs/reference/bridge-operations.md" >pages.md
    PAGE_SECONDS=600 run as_bridge "$repo/tests/docs/run-page" "$PWD/pages.md"
    assert_success
    assert_equal "$(in_queue)" ''
}
