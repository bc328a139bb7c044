# SPDX-License-Identifier: Apache-2.0
# cybelectl by the name of Apptainer: a table of cases that both programs run, the link, and the page of options.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    cp hello-mpi.sif app.sif
    "$parts_dir/apptainer" make >&2
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "install-as makes a link, replaces nothing, and the link tells the version" {
    mkdir -p bin
    "$CYBELECTL" install-as apptainer bin
    run bin/apptainer --version
    assert_success
    assert_output 'apptainer version 1.4.5'
    run bin/apptainer -v --version
    assert_line --partial 'answers by the name apptainer'
    "$CYBELECTL" install-as apptainer bin # the same link again
    echo mine >bin/singularity
    run "$CYBELECTL" install-as singularity bin
    assert_failure 3
    assert_equal "$(<bin/singularity)" mine
    "$CYBELECTL" install-as singularity bin --force
    run bin/singularity version
    assert_output 1.4.5
    run "$CYBELECTL" install-as podman bin
    assert_failure 2
    run "$CYBELECTL" install-as apptainer missing
    assert_failure 3
}

@test "every flag of Apptainer is carried or refused by name, and none is ignored" {
    run "$place/bin/apptainer" exec --boot app.sif true
    assert_failure 255
    assert_output --partial 'FATAL:   --boot is not supported'
    run env APPTAINER_SECURITY=seccomp:x "$place/bin/apptainer" exec app.sif true
    assert_failure 255
    assert_output --partial APPTAINER_SECURITY
    run env APPTAINER_NV=maybe "$CYBELECTL" exec app.sif true
    assert_failure 255
    assert_output --partial 'neither true nor false'
}

@test "the page of options is what the program says" {
    "$repo/tests/docs/list-options" "$place/bin/apptainer" >page.md
    if [[ -n ${CYBELE_ACCEPT:-} ]]; then
        cp page.md "$repo/docs/reference/apptainer-options.md"
    fi
    run diff "$repo/docs/reference/apptainer-options.md" page.md
    assert_success
}

@test "both programs do the same in each case of the table" {
    mkdir side && cp app.sif demo.pem demo.pub side/ && cd side || return
    run "$parts_dir/side-by-side" compare "$repo/tests/cases/apptainer/cases.tsv"
    assert_success
    assert_line --partial ', 0 wrong'
}
