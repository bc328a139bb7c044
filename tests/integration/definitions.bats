#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Our parser and the real one judge the same files: the recorded ones, and 1000 that are changed at random.
# CYBELE_SEED=N repeats a run, CYBELE_MUTANTS=N changes how many.
# shellcheck source=tests/parts/suite.bash
. "$BATS_TEST_DIRNAME/../parts/suite.bash"

setup() {
    enter_place
}
teardown() {
    leave_place
}

# ours FILE…: a line "accept FILE" or "reject FILE" for each; "late FILE" where only a stage or an
# application is missing, which the real one finds out in the middle of the build.
ours() {
    "$CYBELECTL" def check --no-shellcheck --format json "$@" >"$BATS_TEST_TMPDIR/ours.json" || true
    python3 - "$BATS_TEST_TMPDIR/ours.json" <<'EOF'
import json, sys

for report in json.load(open(sys.argv[1]))["files"]:
    rules = {f["rule"] for f in report["findings"] if f["refusal"]}
    late = rules and rules <= {"CD006", "CD018"} and all(
        "application" in f["message"] or "stage" in f["message"] for f in report["findings"] if f["refusal"])
    print("accept" if report["accepted"] else "late" if late else "reject", report["file"])
EOF
}

# differing REAL OUR: the files that the two lists judge differently.
differing() {
    paste -d ' ' "$1" "$2" | awk '
        $1 == $3 || ($1 == "reject" && $3 == "late") || ($1 == "unreached" && $3 != "reject") { next }
        { print $2, "real:", $1, "ours:", $3 }'
}

# disagree FILE: the two parsers say different things of it.
disagree() {
    local file
    file=$(realpath -s "$1")
    "$parts_dir/definition-verdicts" "$file" >"$BATS_TEST_TMPDIR/real1" && ours "$file" >"$BATS_TEST_TMPDIR/our1" &&
        [[ -n $(differing "$BATS_TEST_TMPDIR/real1" "$BATS_TEST_TMPDIR/our1") ]]
}

# compare FILE…: fails with the smallest text that shows the first disagreement.
compare() {
    "$parts_dir/definition-verdicts" "$@" >real
    ours "$@" >our
    assert_equal "$(wc -l <real)" $#
    differing real our >differences
    [[ -s differences ]] || return 0
    export -f disagree ours differing
    export CYBELECTL parts_dir BATS_TEST_TMPDIR
    # shellcheck disable=SC2016
    "$parts_dir/mutations" shrink "$(head -n 1 differences | cut -d ' ' -f 1)" bash -c 'disagree "$1"' disagree >smallest.def
    {
        cat differences
        echo "the smallest text that they judge differently:"
        od -c smallest.def
    } >&2
    return 1
}

@test "the real Apptainer and def check agree on every recorded definition file" {
    cp "$repo"/tests/cases/definitions/*.def .
    compare "$PWD"/*.def
    # and the real one still says what was recorded
    awk -F '\t' 'NR > 1 { print $2, $1 }' "$repo/tests/cases/definitions/verdicts.tsv" | sort -k 2 >recorded
    sed "s|$PWD/||" real | sort -k 2 >now
    run diff <(grep -v ^unreached now) <(join -2 2 -o 2.1,2.2 <(grep -v ^unreached now | cut -d ' ' -f 2) recorded)
    assert_success
}

@test "they agree on 1000 definition files that are changed at random" {
    local seed=${CYBELE_SEED:-$RANDOM$RANDOM} count=${CYBELE_MUTANTS:-1000}
    echo "# seed $seed (CYBELE_SEED=$seed repeats this run)" >&3
    "$parts_dir/mutations" make "$PWD/m" "$count" "$seed" "$repo"/tests/cases/definitions/*.def
    compare "$PWD"/m/*.def
    assert [ "$(grep -c ^accept real)" -gt $((count / 10)) ]
    assert [ "$(grep -c ^reject real)" -gt $((count / 10)) ]
}

@test "the real Apptainer accepts every definition file that is rendered" {
    local recipe name
    for recipe in "$catalogue"/*.yaml "$repo"/tests/unit/recipes/data/*.yaml "$repo"/tests/unit/recipes/data/mpi/*.yaml; do
        grep -q '^kind: Recipe' "$recipe" || continue
        name=$(basename "$recipe" .yaml)
        run "$CYBELECTL" recipe render --unlocked --mirror http://127.0.0.1:9/debian --as def "$recipe"
        [[ $status != 0 ]] || printf '%s\n' "$output" >"$name.def"
    done
    run -0 find . -name '*.def'
    assert [ "${#lines[@]}" -ge 10 ]
    "$parts_dir/definition-verdicts" "$PWD"/*.def >real
    run grep ^reject real
    assert_output '' # "unreached": parsed, and ended where it looked for its stages
    assert [ "$(grep -c ^accept real)" -ge 5 ]
}

@test "the real Apptainer accepts definitions of the pairs test of Recipes: a sample, all in long/cells" {
    local -a sample=()
    local file number=0
    mkdir pairs
    CYBELE_RECIPE_CELLS=$PWD/pairs "$repo/build/dev/tests/unit_pairs" --test-case='each two fields of a Recipe render*' >/dev/null
    for file in "$PWD"/pairs/*.def; do
        ((number++ % ${CYBELE_CELLS_STEP:-20})) || sample+=("$file")
    done
    "$parts_dir/definition-verdicts" "${sample[@]}" >real
    echo "# definitions of the pairs test: ${#sample[@]} of $number: $(cut -d ' ' -f 1 real | sort | uniq -c | tr -s ' \n' ' ')" >&3
    run grep ^reject real
    assert_output '' # "unreached": parsed, and ended where it looked for its stages
    assert [ "${#sample[@]}" -ge 100 ]
    assert [ "$(grep -c ^accept real)" -ge 40 ]
}
