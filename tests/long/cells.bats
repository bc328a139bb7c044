# SPDX-License-Identifier: Apache-2.0
# All cells of the pairs test (tests/unit/pairs): cells of the local scheduler are run, definitions are read by the real Apptainer, and
# Recipes on Debian are built and looked into. About an hour.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place BATS_TEST_TIMEOUT=7200
    mkdir cells builds
    CYBELE_CELLS=$place/cells CYBELE_RECIPE_CELLS=$place/cells "$repo/build/dev/tests/unit_pairs" >/dev/null
    PATH=$(dirname "$CYBELECTL"):$PATH
    export PATH
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "bash reads every script, and the words that it starts are those of its cell" {
    CYBELE_ALL_CELLS=1 run "$repo/build/dev/tests/unit_pairs" --test-case='bash reads each script*'
    assert_success
}

@test "every cell is the same by job render, submit and generate" {
    run "$parts_dir/run-cells" same cells 1
    echo "# same: ${lines[-1]}" >&3
    assert_success
}

@test "the local scheduler runs every cell that this machine can run" {
    run "$parts_dir/run-cells" run cells 1
    echo "# run: ${lines[-1]}" >&3
    assert_success
}

@test "Apptainer's parser accepts every definition" {
    "$parts_dir/apptainer" make >&2
    cd cells
    "$parts_dir/definition-verdicts" ./*.def >../verdicts
    echo "# definitions: $(cut -d ' ' -f 1 ../verdicts | sort | uniq -c | tr -s ' \n' ' ')" >&3
    run grep '^reject' ../verdicts
    assert_output ''
}

@test "Recipes on Debian are built, and their images are what the Recipes say" {
    cd builds
    touch 'a b'
    local recipe
    for recipe in ../cells/[0-9]*.yaml; do
        [[ $recipe != *.job.yaml && $recipe != *.site.yaml ]] || continue
        cp "$recipe" .
    done
    run "$parts_dir/build-cells" .
    echo "# built: ${lines[-1]}" >&3
    assert_success
}
