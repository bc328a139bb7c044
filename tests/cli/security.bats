# SPDX-License-Identifier: Apache-2.0
# docs/reference/security.md names a test for each fault; this checks that they are there.
load ../parts/suite.bash

@test "each row of security.md names a test that exists" {
    local rows=0 file name
    while IFS=$'\t' read -r file name; do
        rows=$((rows + 1))
        run grep -cF -- "\"$name\"" "$repo/$file"
        assert_success
    done < <(sed -n 's/^|.*| `\(tests[^`]*\)`: \(.*\) |$/\1\t\2/p' "$repo/docs/reference/security.md")
    assert [ "$rows" -ge 15 ]
}
