# SPDX-License-Identifier: Apache-2.0
# An engineer's way with thirty images for a centre, each step with its failure. Four minutes with a warm cache. A registry's refusals:
# registry.bats; the real Apptainer: apptainer.bats; the way without failures: docs/tutorials/engineer.md (tutorials.bats).
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    mkdir -p project/{recipes,jobs,sites}
    printf '%s\n' 'kind: Recipe' 'name: part' 'base: debian:12' 'mpi: openmpi' >project/recipes/mpi.part.yml
    local i
    for i in $(seq 1 30); do
        printf '%s\n' 'kind: Recipe' "name: tool-$i" 'base: debian:12' "steps: [\"echo $i >/etc/tool\"]" \
            'run: [cat, /etc/tool]' >"project/recipes/tool-$i.yaml"
    done
    for i in $(seq 1 14); do
        echo 'include: [mpi.part.yml]' >>"project/recipes/tool-$i.yaml"
    done
    "$CYBELECTL" generate project >/dev/null 2>&1
    copy_fixture
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "1, 2: thirty definition files, all as generated" {
    assert_equal "$(find project/generated -name '*.def' | wc -l)" 30
    run "$CYBELECTL" generate project --check
    assert_success
}

@test "3, 4: one shared part changes: fourteen files are stale and named, nothing is written; then they are made" {
    sed -i 's/^mpi: .*/mpi: mpich/' project/recipes/mpi.part.yml
    cp -r project/generated before
    run "$CYBELECTL" generate project --check
    assert_failure 3
    assert_equal "$(grep -oE 'tool-[0-9]+\.def' <<<"$output" | sort -u | wc -l)" 14
    diff -r before project/generated
    "$CYBELECTL" generate project >/dev/null
    assert_equal "$(diff -rq before project/generated | wc -l)" 14
    run "$CYBELECTL" generate project --check
    assert_success
}

@test "5: of several images one fails: the others are built, the failure is told, exit code 6" {
    printf '%s\n' 'kind: Recipe' 'name: crop' "base: {image: $place/hello-mpi.sif}" 'matrix: {kind: [wheat, rye, weed]}' \
        'steps: ["test $KIND != weed"]' 'run: [cat, /etc/debian_version]' >crop.yaml
    run "$CYBELECTL" build crop.yaml --all --jobs 2
    assert_failure 6
    assert_exist crop-wheat.sif
    assert_exist crop-rye.sif
    assert_not_exist crop-weed.sif
    assert_line 'error: 1 of 3 images were not built: crop-weed'
}

@test "6: the same image twice, the same bytes" {
    printf 'Bootstrap: localimage\nFrom: hello-mpi.sif\n%%post\n    date >/etc/when; echo kept >/etc/kept; rm /etc/when\n' >same.def
    for name in one two; do
        SOURCE_DATE_EPOCH=1762600000 "$CYBELECTL" build same.def -o "$name.sif" --no-cache
    done
    cmp one.sif two.sif
}

@test "7: the image's test is a gate: one that fails leaves no image" {
    printf 'Bootstrap: localimage\nFrom: hello-mpi.sif\n%%test\n    echo looked; exit 9\n' >gate.def
    run "$CYBELECTL" build gate.def -o gate.sif
    assert_failure 6
    assert_output --partial '%test'
    assert_not_exist gate.sif
    "$CYBELECTL" build gate.def -o gate.sif --notest
    assert_exist gate.sif
}

@test "8: a key with a passphrase, no terminal: a wrong passphrase ends at once, without a question" {
    echo 'barley and rye' >passphrase
    echo 'wheat' >wrong
    "$CYBELECTL" key new centre.pem --passphrase-file passphrase
    printf 'Bootstrap: localimage\nFrom: hello-mpi.sif\n' >plain.def
    "$CYBELECTL" build plain.def -o signed.sif
    run timeout 100 "$CYBELECTL" sign signed.sif --key centre.pem --passphrase-file wrong </dev/null
    assert_failure
    refute [ "$status" = 124 ]
    assert_line --partial 'error: '
    assert_line --partial 'help: '
    "$CYBELECTL" sign signed.sif --key centre.pem --passphrase-file passphrase </dev/null
}

@test "10: elsewhere, with only the public key; one byte that differs is refused, and the object named" {
    mkdir -p elsewhere && cp signed.sif centre.pub elsewhere/ && cd elsewhere
    run "$CYBELECTL" verify signed.sif --key centre.pub
    assert_success
    printf X | dd of=signed.sif bs=1 seek=$(($(stat -c %s signed.sif) / 2)) conv=notrunc status=none
    run --separate-stderr "$CYBELECTL" verify signed.sif --key centre.pub --format json
    assert_failure 4
    jq -e '.signatures[0].because | test("^the content of object [0-9]+ was changed")' <<<"$output"
}

@test "12: what the centre's catalogue wants, as json" {
    run "$CYBELECTL" inspect hello-mpi.sif --format json --facts
    assert_success
    assert_output --partial 'openmpi 4.1.4'
    run "$CYBELECTL" inspect hello-mpi.sif --packages
    assert_output --partial 'libopenmpi3'
}
