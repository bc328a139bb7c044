# SPDX-License-Identifier: Apache-2.0
# The bridge's rule under every fault, for ten million turns of objects. About a minute.
load ../parts/suite.bash

@test "at most one job runs for an object in ten million steps of kills, late jobs and restored backups" {
    CYBELE_BRIDGE_STEPS=10000000 run "${CYBELECTL%/cli/*}/tests/unit_bridge" --test-case='at most one job*'
    assert_success
    assert_output --regexp '[0-9]{5,} stories, 100[0-9]{5} steps'
}
