# SPDX-License-Identifier: Apache-2.0
# The papers' three programs over ranks and threads: equal results whatever the number, and their times with speed-up,
# efficiency and the fit a + b/p beside the papers' tables (bench/speedup). Twenty minutes and more, without the images.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place BENCH_PLACE=$place
    "$repo/bench/speedup" run 1 3 6 9 12 >table.txt || cat ./*.log >&2
}
setup() { cd "$place" || return; }
teardown_file() {
    sed 's/^/# /' "$place/table.txt" >&3
    leave_place
}

@test "the report makes the papers' own speed-up and efficiency of the papers' times" {
    "$repo/bench/speedup" papers | "$repo/bench/speedup" report >papers.txt
    assert_file_contains papers.txt '^ *9 *17.81 *3.63 *0.40$'
    assert_file_contains papers.txt '^ *20 *134.99 *3.56 *0.36$'
    assert_file_contains papers.txt '^ *16 *5.03 *5.13 *0.64$'
    assert_equal "$(printf 'x 1 65\nx 2 35\nx 5 17\n' | "$repo/bench/speedup" report | tail -n 1)" '  fit T = 5.00 + 60.00/p'
}

@test "soybean: the same table from 1, 3, 6, 9 and 12 ranks" {
    local ranks
    assert_equal "$(wc -l <1.csv)" 10801
    for ranks in 3 6 9 12; do
        cmp 1.csv "$ranks.csv"
    done
}

@test "wheat-ear: as many ears on one thread as on two" {
    assert_equal "$(sed -n 's/.*counted=\([0-9]*\).*/\1/p' wheat-1-*.out)" "$(sed -n 's/.*counted=\([0-9]*\).*/\1/p' wheat-2-*.out)"
    assert_file_contains "$(echo wheat-2-*.out)" 'threads=2'
}

@test "bpmf: the same factors, bit for bit, from 1, 2 and 4 ranks" {
    local ranks
    for ranks in 1 2 4; do
        sed -n 's/.*hash=\([0-9a-f]*\).*/\1/p' "bpmf-$ranks"-*.out
    done | sort | uniq -c >hashes
    assert_file_contains hashes '^ *3 [0-9a-f]\{16\}'
}

@test "the table has a row for each run and a fit for each series" {
    assert_equal "$(sed -n '/the papers/q;p' table.txt | grep -c 'fit T = ')" 3
    assert_equal "$(sed -n '/the papers/q;p' table.txt | grep -cE '^ +[0-9]+ ')" 10
}
