# SPDX-License-Identifier: Apache-2.0
# cybelectl by the name of Apptainer: the rows of the reference's own tables, by both programs.
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
teardown() { end_servers; }
teardown_file() { leave_place; }

# compare GROUPS: the rows of these groups, by both programs.
compare() {
    mkdir side && cp app.sif demo.pem demo.pub side/ && cd side || return
    grep -E "^($1)$(printf '\t')" "$repo/tests/cases/apptainer/tables.tsv" >cases.tsv
    run "$parts_dir/side-by-side" compare cases.tsv
    assert_success
    assert_line --partial ', 0 wrong'
    cd .. && rm -rf side
}

@test "both programs do the same: starts in each kind of container" {
    compare profiles
}

@test "both programs do the same: binds and environments" {
    compare tables
}

@test "both programs do the same: variables of flags" {
    compare variables
}

@test "both programs do the same: images in files, overlays in files, settings of the host" {
    compare 'images|ext3|config'
}

@test "both programs do the same: signatures, keys and usage" {
    compare 'signing|usage'
}

@test "both programs do the same: OCI images, pull and push" {
    serve registry docker-registry open "$place/registry"
    # shellcheck disable=SC2154 # serve sets it
    export CYBELE_REGISTRY=127.0.0.1:$registry
    compare 'oci|registry'
}
