# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # names of suite.bash and of bats
# Loaded by the suites whose rows (tests/cases/apptainer) both programs run: tests/parts/side-by-side on an image and its keys.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    cp hello-mpi.sif app.sif
    "$parts_dir/apptainer" make >&2
}
setup() { cd "$place" || return; }
teardown() {
    end_servers
    rm -f "$place"/{registry,web,keys}.{in,port} # a case that failed is in another folder
}
teardown_file() { leave_place; }

# compare TABLE GROUPS [user|whole]: the rows of these groups of TABLE.tsv, by both programs, as a user or as root; the log shows
# how many are equal.
compare() {
    rm -rf side # of a case that failed
    mkdir side && cp app.sif demo.pem demo.pub side/ && cd side || return
    grep -E "^($2)$(printf '\t')" "$repo/tests/cases/apptainer/$1.tsv" >cases.tsv
    FURNISHED=$place/furnished run "$parts_dir/side-by-side" compare cases.tsv "${3:-user}"
    printf '# %s: %s\n' "$2" "${lines[-1]}" >&3
    assert_success
    assert_line --partial ', 0 wrong'
    cd .. && rm -rf side
}
