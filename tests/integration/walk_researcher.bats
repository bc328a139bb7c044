# SPDX-License-Identifier: Apache-2.0
# A researcher's way from a Python program to a job tonight, each step with its failure. Five minutes with a warm cache, most of it the
# build. The way without failures: docs/tutorials/researcher.md (tutorials.bats).
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    "$CYBELECTL" init sums --template mpi4py
    "$CYBELECTL" build sums >&2
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "1, 2: the program is there, and doctor judges the machine, a remedy for each line that is not ok" {
    run "$CYBELECTL" --version
    assert_output --regexp '^cybelectl [0-9]+\.[0-9]+\.[0-9]+$'
    run "$CYBELECTL" doctor --format json
    assert_success
    jq -e '[.findings[] | select(.state != "ok") | select(.help == "" or .follows == "")] == []' <<<"$output"
}

@test "3: a folder that holds something is left as it is, and what is in the way is named" {
    mkdir -p taken && echo mine >taken/job.yaml
    refuses 3 "$CYBELECTL" init taken --template mpi4py
    assert_line 'error: taken/job.yaml exists already'
    assert_equal "$(ls taken)" job.yaml
    refuses 2 "$CYBELECTL" init other --template mpi4pi
    assert_output --partial mpi4py
    assert_not_exist other
}

@test "4: a mistyped package is told before the build, with the one that was meant" {
    sed 's/mpi4py\]/mpi4pi]/' sums/sums.yaml >typo.yaml
    refuses 3 "$CYBELECTL" recipe check typo.yaml
    assert_line --partial 'typo.yaml:'
    assert_output --partial 'mpi4py'
}

@test "5: no network: the host is named; an unknown package: its name; nothing is left" {
    printf 'kind: Recipe\nname: far\nbase: debian:12\n' >far.yaml
    CYBELE_CACHE_DIR=$place/cache run "$CYBELECTL" build far.yaml --mirror http://mirror.invalid/debian
    assert_failure
    assert_output --partial 'mirror.invalid'
    assert_line --partial 'help: '
    assert_not_exist far.sif
    printf 'kind: Recipe\nname: odd\nbase: debian:12\npackages: {system: [python3-panda]}\n' >odd.yaml
    refuses 6 "$CYBELECTL" build odd.yaml
    assert_output --partial 'python3-panda'
    assert_not_exist odd.sif
}

@test "6: a package in the home does not shadow the image's" {
    mkdir -p home/.local/lib/python3.11/site-packages
    echo 'raise ImportError("the one in the home")' >home/.local/lib/python3.11/site-packages/mpi4py.py
    HOME=$place/home run "$CYBELECTL" exec sums/sums.sif python3 -c 'import mpi4py; print(mpi4py.__file__)'
    assert_success
    assert_output --partial '/usr/lib/python3/'
}

sum_of() { # RANKS: submits and prints the sum, when each rank wrote its line
    rm -f -- *.out sums/*.out
    "$CYBELECTL" submit sums -n "$1" --scheduler local --wait >&2 || return
    assert_equal "$(cat -- *.out sums/*.out 2>/dev/null | grep -cE "^rank [0-9]+ of $1 on ")" "$1"
    cat -- *.out sums/*.out 2>/dev/null | sed -n 's/^sum=//p'
}

@test "7 and 12: three ranks see each other, and the result is that of one rank" {
    sed -i 's/allow-root: true}/allow-root: true, oversubscribe: true}/' sums/job.yaml
    local one three
    one=$(sum_of 1)
    three=$(sum_of 3)
    assert_equal "$one" "$three"
    assert_equal "$one" 499999500000
}

@test "8: the script reads like one by hand, and its shell takes it" {
    "$CYBELECTL" submit sums -n 6 -t 30 --scheduler slurm --dry-run >job.sh
    bash -n job.sh
    grep -qx '#SBATCH --ntasks=6' job.sh
    grep -qx '#SBATCH --time=00:30:00' job.sh
}

@test "9: the id alone on standard output; without the batch system's commands what else there is" {
    local id
    id=$("$CYBELECTL" submit sums -n 1 --scheduler local 2>/dev/null)
    assert_equal "$(wc -l <<<"$id")" 1
    run "$CYBELECTL" job wait "$id"
    assert_success
    mkdir -p bare
    ln -sf -t bare /usr/bin/* 2>/dev/null || true
    rm -f bare/{sbatch,qsub,srun}
    PATH=$place/bare refuses 5 "$CYBELECTL" submit sums -n 1 --scheduler slurm
    assert_output --partial 'sbatch'
    assert_output --partial 'local'
}

@test "10: status and logs of the job; one that is not known is told" {
    local id
    id=$("$CYBELECTL" submit sums -n 1 --scheduler local 2>/dev/null)
    "$CYBELECTL" job wait "$id"
    run "$CYBELECTL" job status "$id"
    assert_success
    assert_output --partial 'done'
    run "$CYBELECTL" job logs "$id"
    assert_output --partial 'sum=499999500000'
    run "$CYBELECTL" job status 00000000
    assert_failure
    assert_line --partial 'help: '
}

@test "11: a changed line is built again, the packages are not" {
    sed -i 's/1_000_000/1_000_001/' sums/src/main.py
    run "$CYBELECTL" build sums --force -v
    assert_success
    assert_output --partial 'reused'
    refute_output --partial 'Unpacking'
}
