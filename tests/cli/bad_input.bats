# SPDX-License-Identifier: Apache-2.0
# Each unusable input: the documented exit code, a message with place and remedy, nothing left behind.
load ../parts/suite.bash

setup_file() {
    FIXTURE=$(fixture)
    export FIXTURE
}
setup() { work_place; }
teardown() { leave_place; }

@test "an unknown key in a Recipe is refused with its place and the key that was meant" {
    printf 'kind: Recipe\nname: demo\nbase: debian:12\npackges: {system: [jq]}\n' >r.yaml
    refuses 3 "$CYBELECTL" recipe check r.yaml
    assert_line --partial 'r.yaml:4:1'
    assert_line --partial 'packages'
    nothing_left r.yaml
}

@test "all faults of a document are shown at once" {
    printf 'kind: Job\nname: Demo_1\nlaunch: mpii\nresources: {time: 30, nodes: two}\nnonsense: 1\n' >j.yaml
    refuses 3 "$CYBELECTL" job check j.yaml
    for place_of in j.yaml:2: j.yaml:3: j.yaml:4: j.yaml:5:; do
        assert_output --partial "$place_of"
    done
    nothing_left j.yaml
}

@test "faults of a Job and of its Site, and a Recipe that is missing, are shown at once" {
    printf 'kind: Job\nname: demo\nimage: {recipe: none.yaml}\ncommand: [x]\nresources: {nodes: 3}\n' >j.yaml
    printf 'kind: Site\nname: hall\nscheduler: slum\n' >s.yaml
    sed 's/^name: demo/name: Demo_1/' j.yaml >k.yaml
    refuses 3 "$CYBELECTL" job check k.yaml --site s.yaml
    assert_output --partial k.yaml:2:
    assert_output --partial s.yaml:3:
    refuses 2 "$CYBELECTL" job check j.yaml -t soon
    assert_line 'error: there is no Recipe ./none.yaml'
    assert_line ' --> j.yaml:3:17'
    assert_line "error: -t does not read 'soon'"
    nothing_left j.yaml k.yaml s.yaml
}

@test "a wrong type is refused" {
    printf 'kind: Job\nname: demo\ncommand: {a: b}\n' >j.yaml
    refuses 3 "$CYBELECTL" job check j.yaml
    assert_line --partial 'j.yaml:3:'
}

@test "a bare number is no duration and no size" {
    printf 'kind: Job\nname: demo\ncommand: [a]\nresources:\n  time: 30\n  memory-per-node: 4\n' >j.yaml
    refuses 3 "$CYBELECTL" job check j.yaml
    assert_line --partial 'j.yaml:5:'
    assert_line --partial 'j.yaml:6:'
    assert_output --partial '30 min'
    assert_output --partial '4 GiB'
}

@test "a document of Kubernetes is no Job" {
    printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n' >j.yaml
    refuses 3 "$CYBELECTL" job check j.yaml
    assert_output --partial 'job convert'
}

@test "a file that is missing is named" {
    refuses 3 "$CYBELECTL" build none.yaml -o x.sif
    assert_output --partial 'none.yaml'
    refuses 3 "$CYBELECTL" verify none.sif --key "$FIXTURE/demo.pub"
    assert_output --partial 'none.sif'
    refuses 3 "$CYBELECTL" job render none.yaml --scheduler slurm
    assert_output --partial 'none.yaml'
    nothing_left
}

@test "a file that is not a SIF is refused by every verb that reads images" {
    echo 'no image' >x.sif
    refuses 3 "$CYBELECTL" verify x.sif --key "$FIXTURE/demo.pub"
    refuses 3 "$CYBELECTL" inspect x.sif
    refuses 3 "$CYBELECTL" sign x.sif --key "$FIXTURE/demo.pem"
    refuses 255 "$CYBELECTL" exec x.sif true
    printf 'kind: Job\nname: demo\nimage: x.sif\ncommand: [a]\n' >j.yaml
    refuses 3 "$CYBELECTL" job render j.yaml --scheduler slurm
    assert_equal "$(cat x.sif)" 'no image'
    nothing_left x.sif j.yaml
}

@test "another key does not verify" {
    "$CYBELECTL" key new other.pem
    refuses 4 "$CYBELECTL" verify "$FIXTURE/hello-mpi.sif" --key other.pub
    nothing_left other.pem other.pub
}

@test "an image changed by one byte does not verify" {
    cp "$FIXTURE/hello-mpi.sif" x.sif
    printf 'X' | dd of=x.sif bs=1 seek=$(($(stat -c %s x.sif) / 2)) conv=notrunc status=none
    refuses 4 "$CYBELECTL" verify x.sif --key "$FIXTURE/demo.pub"
    nothing_left x.sif
}

@test "a private key is not overwritten, and only its owner reads it" {
    "$CYBELECTL" key new a.pem
    cp a.pem before
    run "$CYBELECTL" key new a.pem
    assert_failure
    cmp a.pem before
    assert_equal "$(stat -c %a a.pem)" 600
}

@test "a %post that fails: its exit code is told, no image and nothing else is left" {
    printf 'Bootstrap: localimage\nFrom: %s\n%%post\n    echo on-the-way\n    exit 3\n' "$FIXTURE/hello-mpi.sif" >a.def
    refuses 6 "$CYBELECTL" build a.def -o x.sif
    assert_output --partial '%post'
    assert_output --partial '3'
    nothing_left a.def
}

is_empty() { [[ -z $(find "$1" -mindepth 1) ]]; }

@test "a build that is interrupted leaves nothing" {
    printf 'Bootstrap: localimage\nFrom: %s\n%%post\n    touch /tmp/started\n    sleep 60.%s\n' "$FIXTURE/hello-mpi.sif" "$unique" >a.def
    "$CYBELECTL" build a.def -o x.sif >build.log 2>&1 &
    local pid=$!
    wait_for 60 pgrep -fx "sleep 60.$unique"
    kill -INT "$pid" || kill -TERM "$pid"
    run wait "$pid"
    assert_failure
    rm build.log
    wait_for 10 is_empty scratch
    nothing_left a.def
}

@test "a tool that is missing is named with the package that has it" {
    mkdir tools
    ln -s -t tools /usr/sbin/* /usr/bin/* 2>/dev/null || true
    rm -f tools/mmdebstrap
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >r.yaml
    PATH=$place/tools CYBELE_CACHE_DIR=$place/cache refuses 5 "$CYBELECTL" build r.yaml -o x.sif
    assert_output --partial 'mmdebstrap'
    rm -rf cache
    nothing_left r.yaml tools
}

# on_small_disk FOLDER COMMAND…: with a file system of 4 MB at FOLDER.
on_small_disk() {
    local sudo=()
    [[ $(id -u) == 0 ]] || sudo=(sudo -E)
    # shellcheck disable=SC2016
    "${sudo[@]}" unshare --mount sh -c 'mount -t tmpfs -o size=4m,mode=1777 small "$1" && shift && "$@" && exit
        code=$?; find small -mindepth 1 2>/dev/null; exit $code' sh "$@"
}

@test "a full disk for temporary files" {
    printf 'Bootstrap: localimage\nFrom: %s\n' "$FIXTURE/hello-mpi.sif" >a.def
    refuses 5 on_small_disk scratch "$CYBELECTL" build a.def -o x.sif
    assert_output --partial 'space'
    nothing_left a.def
}

@test "a full disk for the output: no half image" {
    mkdir small
    printf 'Bootstrap: localimage\nFrom: %s\n' "$FIXTURE/hello-mpi.sif" >a.def
    refuses 5 on_small_disk small "$CYBELECTL" build a.def -o small/x.sif
    assert_output --partial 'space'
    refute_output --partial 'small/x.sif.'
    refute_line 'small/x.sif'
    nothing_left a.def small
}

@test "a command line that is wrong gives 2 and a suggestion" {
    run "$CYBELECTL" verfy x.sif
    assert_failure 2
    assert_output --partial 'verify'
    run "$CYBELECTL" job render
    assert_failure 2
}

@test "a document with 40,000 mistakes is answered within seconds" {
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: debian:12' environment: >many.yaml
    printf '  K: x\n%.0s' {1..40000} >>many.yaml
    # shellcheck disable=SC2016
    refuses 3 bash -c 'ulimit -t 6 && exec "$CYBELECTL" recipe check many.yaml'
    assert_equal "$(grep -c '^error: ' <<<"$output")" 39999
}
