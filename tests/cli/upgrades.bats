# SPDX-License-Identifier: Apache-2.0
# What another version of the program left: the older is read, the newer refused with a sentence and not touched. Half a minute.
load ../parts/suite.bash

setup_file() {
    FIXTURE=$(fixture)
    export FIXTURE
}
setup() {
    work_place
    export CYBELE_STORE=$place/store CYBELE_CACHE_DIR=$place/cache
}
teardown() { leave_place; }

# unchanged FOLDER: fails where a file of it differs from the copy FOLDER.before.
unchanged() { diff -r "$1.before" "$1"; }

@test "a store of a later version is refused, and nothing in it changes" {
    "$CYBELECTL" image add "$FIXTURE/hello-mpi.sif" a:1
    echo 2 >store/format
    cp -r store store.before
    for verb in 'list' 'list a:1' 'prune'; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" image $verb
        assert_line --partial 'is of version 2'
        assert_line 'more: cybelectl explain newer-version'
    done
    refuses 3 "$CYBELECTL" image add "$FIXTURE/hello-mpi.sif" b:1
    refuses 255 "$CYBELECTL" exec store:a:1 true
    unchanged store
}

@test "an index of a later version is refused; one that is lost or older is made again" {
    "$CYBELECTL" image add "$FIXTURE/hello-mpi.sif" a:1
    cp store/index.sqlite good.sqlite
    sqlite3 store/index.sqlite 'PRAGMA user_version=2'
    cp -r store store.before
    refuses 3 "$CYBELECTL" image list
    assert_line --partial 'is of version 2'
    unchanged store
    rm store/index.sqlite
    run "$CYBELECTL" image list
    assert_success
    assert_output --partial 'a'
    rm -f store/index.sqlite
    sqlite3 store/index.sqlite 'PRAGMA user_version=0; VACUUM'
    "$CYBELECTL" image add "$FIXTURE/hello-mpi.sif" b:1
    run "$CYBELECTL" image list
    assert_output --partial 'a:1'
    assert_output --partial 'b:1'
}

@test "a cache of a later version is refused, and nothing in it changes" {
    mkdir cache
    echo 9 >cache/format
    cp -r cache cache.before
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >r.yaml
    refuses 3 "$CYBELECTL" build r.yaml -o x.sif --mirror http://mirror.invalid/debian
    assert_line --partial 'is of version 9'
    assert_line --partial 'CYBELE_CACHE_DIR=DIR'
    assert_line 'more: cybelectl explain newer-version'
    unchanged cache
    assert_not_exist x.sif
}

@test "a journal of a later version is refused, and nothing in it changes" {
    printf 'kind: Job\nname: here\ncommand: [true]\n' >j.yaml
    "$CYBELECTL" submit j.yaml --scheduler local --wait
    wait_for 20 no_supervisor # which writes to the queue last
    sqlite3 state/jobs.sqlite 'PRAGMA user_version=7'
    cp -r state state.before
    refuses 5 "$CYBELECTL" job list
    assert_line --partial 'is of version 7'
    assert_line 'more: cybelectl explain newer-version'
    refuses 255 "$CYBELECTL" submit j.yaml --scheduler local --wait
    unchanged state
}

@test "an empty journal, as a first version left it, is taken" {
    mkdir -p state
    sqlite3 state/jobs.sqlite 'PRAGMA user_version=0; VACUUM'
    run "$CYBELECTL" job list
    assert_success
}

@test "a Lock of a later form, and one that is stale, are refused with their place" {
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >demo.yaml
    printf 'kind: Lock\nformat: 2\nrecipe: sha256:%064d\nvariants: []\n' 0 >demo.lock.yaml
    refuses 3 "$CYBELECTL" build demo.yaml -o x.sif
    assert_line --partial 'demo.lock.yaml:2'
    printf 'kind: Lock\nrecipe: sha256:%064d\nvariants: [{name: demo, arch: amd64, base: {distribution: debian:12, release: [sha256:%064d]}, epoch: 1}]\n' 0 0 >demo.lock.yaml
    refuses 3 "$CYBELECTL" build demo.yaml -o x.sif
    assert_line 'more: cybelectl explain stale-lock'
    assert_not_exist x.sif
}

@test "a document of a later form is refused with its place" {
    printf 'kind: Job\nformat: 2\nname: here\ncommand: [true]\n' >j.yaml
    refuses 3 "$CYBELECTL" job check j.yaml
    assert_line --partial 'j.yaml:2'
}
