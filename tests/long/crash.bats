# SPDX-License-Identifier: Apache-2.0
# Power failures on ext4 and xfs: in a virtual machine, dm-log-writes records what reaches the disk while jobs are submitted, images are
# stored and changed. After many prefixes of that record, and after some in which unsynced writes are lost, the file system is mounted
# and read: each operation is there or not, and what was reported as complete is there.
load ../parts/suite.bash

# Per file system: prefixes, and of those with lost writes.
prefixes=100
subsets=20

setup_file() {
    enter_place
    export place
    mkdir -p work/bin
    cc -static -O2 -o work/bin/write-log "$repo/tests/parts/write-log.c"
    cp "$repo"/tests/cases/crash/* work/
    cp "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}" work/cybelectl
    printf '%s\n' "prefixes=${CRASH_PREFIXES:-$prefixes}" "subsets=${CRASH_SUBSETS:-$subsets}" "show=${CRASH_SHOW:-}" >work/case.sh
    "$parts_dir/machine" run-disks work >lines
    grep -E ' (operations|log|plan|prefixes|ended)' lines | sed 's/^/# /' >&3
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# number FS TEXT: the first number after `FS TEXT: `.
number() { sed -n "s/^$1 $2: \([0-9]*\).*/\1/p" lines; }

@test "each operation ends well, and its writes are recorded" {
    local fs
    for fs in ext4 xfs; do
        assert_equal "$(number $fs operations)" 23
        (($(number $fs log) > 400))
    done
    run grep -E 'failed|cannot|no snapshot' lines
    assert_failure
}

@test "after each prefix a reader finds the old or the new state, and what was reported as complete" {
    local fs
    run grep ' fault: ' lines
    assert_output ''
    for fs in ext4 xfs; do
        run sed -n "s/^$fs prefixes: //p" lines
        assert_output --regexp '^([0-9]+) read, [0-9]+ as they should be$'
        assert_equal "$(number $fs prefixes)" "$(sed -n "s/^$fs prefixes: .* read, \([0-9]*\) as .*/\1/p" lines)"
        (($(number $fs prefixes) >= ${CRASH_PREFIXES:-$prefixes} * 8 / 10))
    done
}

@test "a writer that does not sync, and one that writes in place, are found" {
    local fs
    for fs in ext4 xfs; do
        run grep -c "^$fs wrong: mark .* in wrong: a file replaced without fsync" lines
        assert_success
        run grep -c "^$fs wrong: .* in wrong: a file written in place" lines
        assert_success
    done
    run grep -E '^[a-z0-9]+ wrong: [a-z]+ at [0-9]+ in ' lines
    refute_line --regexp '^[^(]* at [0-9]+ in [^w]' # an operation of ours
}
