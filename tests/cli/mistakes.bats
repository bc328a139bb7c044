# SPDX-License-Identifier: Apache-2.0
# Mistakes as people make them, one per row of tests/cases/mistakes/*.tsv: each ends with its exit code and its place, changes no file, and
# names a remedy; the remedy is applied word by word, and the command then succeeds.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    cp -r "$repo/tests/cases/mistakes/place" place
    ln -s "$(fixture)/hello-mpi.sif" place/hello.sif
    cp "$(fixture)/demo.pem" "$(fixture)/demo.pub" place
    cp "$repo/tests/unit/images/data/one-group-signed-dsse.sif" place/small.sif
    chmod u+w place/small.sif
    "$CYBELECTL" sif del 3 place/small.sif
    cp place/small.sif place/signed.sif
    "$CYBELECTL" sign place/signed.sif --key place/demo.pem
    mkdir tries
    PLACE=$place/place TRIES=$place/tries PATH=$(dirname "$CYBELECTL"):$PATH
    export PLACE TRIES PATH
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# tries TABLE: every row of a table; its counts are printed among the results.
tries() {
    run "$parts_dir/try-mistakes" --names "$place/names" "$repo/tests/cases/mistakes/$1.tsv"
    echo "# $1: ${lines[-1]}" >&3
    assert_success
}

@test "mistakes in Jobs, Recipes, Sites and Policies" {
    tries documents
}

@test "files that are not what a command reads, and outputs that cannot be written" {
    tries files
}

@test "words of a command line that are mistyped, missing or too many" {
    tries commands
}

@test "with -v an error says what was being done, which JSON has as its context" {
    run "$CYBELECTL" -v exec none.sif true
    assert_line "while: starting a container of 'none.sif'"
    run "$CYBELECTL" -v job check none.yaml
    assert_line 'while: reading the Job'
    run "$CYBELECTL" -v build none.def
    assert_failure
    run "$CYBELECTL" sif list small.txt
    refute_line --partial 'while: '
    run --separate-stderr "$CYBELECTL" sif list place/policy.yaml --format json
    assert_equal "$(jq -r '.faults[0].context[-1]' <<<"$stderr")" "opening the image 'place/policy.yaml'"
}

@test "of each third mistake that is no usage error, the error says what was being done" {
    run "$parts_dir/try-contexts" --every 3 "$repo"/tests/cases/mistakes/{documents,files,others,places}.tsv
    echo "# contexts: ${lines[-1]}" >&3
    assert_success
    [[ ${lines[-1]} =~ ^errors:\ ([0-9]+), ]]
    ((BASH_REMATCH[1] >= 100))
}

# while_doing CONTEXT COMMAND…: the command fails, and one of its contexts is this.
while_doing() {
    run "${@:2}"
    assert_failure
    assert_line "while: $1"
}

@test "an error of a step, a batch system, a registry or a file that cannot be read says what was being done" {
    mkdir -p faults/bin
    cd faults || return
    printf 'Bootstrap: localimage\nFrom: ../place/hello.sif\n%%post\n    exit 7\n' >step.def
    while_doing 'building step %post' "$CYBELECTL" -v build -o step.sif step.def
    printf '#!/bin/sh\necho "sbatch: error: no such account" >&2\nexit 1\n' >bin/sbatch
    chmod +x bin/sbatch
    printf 'kind: Job\nname: a\ncommand: [/bin/true]\n' >a.yaml
    PATH=$PWD/bin:$PATH while_doing 'handing the job over to slurm' "$CYBELECTL" -v submit a.yaml --scheduler slurm
    while_doing 'asking 127.0.0.1:1 for x/y' "$CYBELECTL" -v image pull oras://127.0.0.1:1/x/y:1
    mkdir read.yaml
    while_doing "reading the Site" "$CYBELECTL" -v job check a.yaml --site read.yaml
    while_doing "reading the Policy" "$CYBELECTL" -v verify ../place/hello.sif --policy read.yaml
    cd ..
}

@test "errors made at other places of the source" {
    tries places
}

@test "wrong types and units, tabs, CRLF, BOM, keys twice, wrong and swapped files, what is unreadable, gone or full, no HOME" {
    run "$parts_dir/try-mistakes" --kinds --names "$place/names" "$repo/tests/cases/mistakes/others.tsv"
    echo "# others: ${lines[-1]}" >&3
    echo "# others, ${lines[-2]}" >&3
    assert_success
}

@test "mistakes of somebody who meets the program for the first time, by kind, in places that no other table has" {
    run "$parts_dir/try-mistakes" --kinds --names "$place/names" "$repo/tests/cases/mistakes/strangers.tsv"
    echo "# strangers: ${lines[-1]}" >&3
    echo "# strangers, ${lines[-2]}" >&3
    assert_success
    [[ ${lines[-1]} =~ ^mistakes:\ ([0-9]+), ]]
    ((BASH_REMATCH[1] >= 100))
}

@test "errors of the fields of a Job, a Site and a Recipe, a document for each: the help is applied, or asks a person" {
    mkdir cells
    CYBELE_ERRORS=$place/cells "$repo/build/dev/tests/unit_pairs" \
        --test-case='for each error the cell*,each two fields of a Recipe render*' >/dev/null
    run "$parts_dir/try-cells" --names "$place/names" cells "$repo/tests/cases/mistakes/person.tsv"
    echo "# documents of the pairs test: ${lines[-1]}" >&3
    assert_success
}

@test "the errors of these tables are made at no fewer than 300 places of the source" {
    local different applied
    different=$(cut -d ' ' -f 1 names | sort -u | wc -l)
    applied=$(grep ' applied$' names | sort -u | wc -l)
    echo "# errors of different names: $different; the help applied, the error gone and no new one: $applied" >&3
    ((different >= 300))
}

# row NAME CODE PLACE SAYS THEN CHANGE COMMAND: a table of one row, tried.
row() {
    local IFS=$'\t'
    printf '%s\n' "$*" >one.tsv
    run "$parts_dir/try-mistakes" one.tsv
}

@test "a row fails where the code, the place, the words, the files or the help are not as it says" {
    local edit="sub job.yaml '40 min' 40" check='cybelectl job check job.yaml' at=job.yaml:11:9
    row right 3 "$at" duration 'auto: time: 40 min' "$edit" "$check"
    assert_success
    assert_output 'mistakes: 1, different errors: 1, of different names: 1, helps applied: 1, by a person: 0, need a person: 0, failed: 0'
    row code 5 "$at" duration auto "$edit" "$check"
    assert_line --partial 'exit code 3, not 5'
    row place 3 job.yaml:11:3 duration auto "$edit" "$check"
    assert_line --partial "the place is $at, not job.yaml:11:3"
    row words 3 "$at" 'a size' auto "$edit" "$check"
    assert_line --partial 'it does not say: a size'
    row value 3 "$at" duration 'auto: time: 40 h' "$edit" "$check"
    assert_line --partial 'neither a file nor the command has: time: 40 h'
    row files 3 "$at" duration auto "$edit" "touch left; $check"
    assert_line --partial 'it left or changed files'
    row no-mistake 3 "$at" duration auto : "$check"
    assert_line --partial 'exit code 0, not 3'
    row remains 3 "$at" duration 'person: :' "$edit" "$check"
    assert_line --partial 'after the help, `cybelectl job check job.yaml` ends with 3'
    row unclear 3 "$at" duration auto "$edit" "$check 2>&1 | sed 's/^help: .*/help: think again/' >&2; exit 3"
    assert_line --partial 'the help cannot be applied: think again'
    row change 3 "$at" duration auto "sub job.yaml nowhere here" "$check"
    assert_line --partial 'the change of the row failed'
    assert_failure
}
