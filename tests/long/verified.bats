# SPDX-License-Identifier: Apache-2.0
# What verify calls valid is what exec mounts: a million generated pairs of an image and what lies next to it or over it, and ten
# thousand by real mounts (tests/unit/runtime/verified_test.cpp). Twenty minutes on one core.
load ../parts/suite.bash

@test "whatever is next to an image or laid over it, verified means that what was signed runs: 1,000,000 pairs" {
    CYBELE_PAIRS=1000000 CYBELE_MOUNTS=10000 run "$repo/build/dev/tests/unit_runtime" --test-case="*verified means that what was signed runs*,*what is mounted of a verified image*" \
        --success=false
    assert_success
    assert_line --partial '1000000 pairs'
    assert_line --partial '10000 pairs'
    grep -o '[0-9]* pairs, .*' <<<"$output" | sed 's/^/# /' >&3
}
