# SPDX-License-Identifier: Apache-2.0
# Where `-o FILE` writes: links, devices and FIFOs stay what they are. Ten seconds.
load ../parts/suite.bash

setup() {
    work_place
    export SOURCE_DATE_EPOCH=1700000000 CYBELE_STORE=$place/store
    printf 'bootstrap: scratch\n' >app.def
    "$CYBELECTL" sif new app.sif
    "$CYBELECTL" sif add app.sif app.def --datatype 1
}
teardown() { leave_place; }

@test "a small output goes into a FIFO, and the FIFO stays" {
    mkfifo pipe
    cat pipe >got &
    "$CYBELECTL" sif dump 1 app.sif -o pipe
    wait "$!"
    cmp got app.def
    [[ -p pipe ]]
    "$CYBELECTL" sif dump 1 app.sif -o /dev/stdout | cmp - app.def
}

@test "a small output goes into a character device, and the device stays" {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    "${as_root[@]}" mknod -m 666 null c 1 3
    "$CYBELECTL" sif dump 1 app.sif -o null
    [[ -c null ]]
    refuses 3 "$CYBELECTL" image copy app.sif null --force
    assert_line --partial 'it is a device'
    [[ -c null ]]
}

@test "an image takes the place of no FIFO, with --force or --link neither" {
    mkfifo pipe
    ln -s pipe link
    "$CYBELECTL" image add app.sif app
    for name in pipe link; do
        refuses 3 "$CYBELECTL" image copy app.sif "$name" --force
        assert_line --partial 'it is a FIFO'
        refuses 3 "$CYBELECTL" image copy store:app "$name" --force --link
        assert_line --partial 'it is a FIFO'
    done
    [[ -p pipe && -L link ]]
}

@test "a link stays, and the file that it leads to is written" {
    mkdir data
    printf old >data/out
    ln -s data/out link
    ln -s data/image image
    "$CYBELECTL" sif dump 1 app.sif -o link
    [[ -L link ]]
    cmp data/out app.def
    refuses 3 "$CYBELECTL" image copy app.sif image
    "$CYBELECTL" image copy app.sif image --force
    [[ -L image ]]
    cmp data/image app.sif
    "$CYBELECTL" image add app.sif app
    "$CYBELECTL" image copy store:app image --force --link
    [[ -L image && data/image -ef "$("$CYBELECTL" image path app)" ]]
}

@test "standard output that is full or closed is told, a reader that went is not" {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    "${as_root[@]}" mknod -m 666 full c 1 7
    run -5 bash -c '"$0" sif list app.sif 2>&1 >full' "$CYBELECTL"
    assert_line 'error: cannot write standard output'
    assert_line 'because: No space left on device'
    run -5 bash -c '"$0" sif list app.sif 2>&1 >&-' "$CYBELECTL"
    assert_line 'because: Bad file descriptor'
    run bash -c 'set -o pipefail; "$0" sif dump 1 app.sif 2>&1 1> >(exec true) | cat' "$CYBELECTL"
    refute_output
}

@test "no result replaces the file that it is made from, by whatever path" {
    printf '%s\n' 'kind: Job' 'name: a' 'command: [ls]' >job.yaml
    printf '%s\n' 'kind: Recipe' 'name: r' 'base: {image: app.sif}' >r.yaml
    printf '#!/bin/bash\n#SBATCH -n 1\nls\n' >old.sh
    ln -s job.yaml link.yaml
    mkdir sub
    "$CYBELECTL" build -q app.def -o tree.sif
    sha256sum job.yaml r.yaml old.sh tree.sif app.def >sums
    refuses 2 "$CYBELECTL" job render job.yaml -o link.yaml
    assert_line 'help: write another name for the result'
    refuses 2 "$CYBELECTL" kube render job.yaml -o sub/../job.yaml
    refuses 2 "$CYBELECTL" job convert old.sh -o old.sh
    refuses 2 "$CYBELECTL" recipe render r.yaml --unlocked -o r.yaml
    refuses 2 "$CYBELECTL" def print --format json app.def -o app.def
    refuses 2 "$CYBELECTL" image tree tree.sif --html tree.sif
    "$CYBELECTL" key new a.pem
    refuses 2 "$CYBELECTL" build app.def -o a.pem --force --sign-key a.pem
    sha256sum --check --quiet sums
}

@test "a command whose reader ends is ended by SIGPIPE, like other programs" {
    set +o pipefail
    "$CYBELECTL" explain errors | true
    assert_equal "${PIPESTATUS[0]}" 141
    printf '%s\n' 'kind: Job' 'name: a' 'command: [ls]' 'resources: {time: 5 min}' >job.yaml
    printf '#!/bin/bash\n#SBATCH -n 1\nls\n' >old.sh
    for words in 'job render job.yaml --scheduler slurm' 'submit job.yaml --dry-run' 'job convert old.sh'; do
        # shellcheck disable=SC2086 # several words
        "$CYBELECTL" -q $words | true
        assert_equal "$words ${PIPESTATUS[0]}" "$words 141"
    done
}

@test "a Job that somebody has written is replaced by job convert only with --force" {
    printf '#!/bin/bash\n#SBATCH -n 1\nls\n' >old.sh
    echo mine >job.yaml
    ln -s job.yaml link.yaml
    for name in job.yaml link.yaml; do
        refuses 3 "$CYBELECTL" job convert old.sh -o "$name"
        assert_line "error: $name exists already"
        assert_equal "$(cat job.yaml)" mine
    done
    "$CYBELECTL" job convert old.sh -o job.yaml --force
    grep -qx 'kind: Job' job.yaml
    "$CYBELECTL" job convert old.sh -o /dev/null
}

@test "a rendered Recipe without the key of its base says so" {
    printf '%s\n' 'kind: Recipe' 'name: r' 'base: {image: app.sif, key: base.pub}' >r.yaml
    run -0 "$CYBELECTL" recipe render r.yaml --unlocked -o r.def
    assert_output --partial 'the rendered file has no `base.key`'
    assert_output --partial 'r.yaml:3:'
}
