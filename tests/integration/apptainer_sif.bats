# SPDX-License-Identifier: Apache-2.0
# The format against the real Apptainer: the same bytes after each change, the same list of each image. Two minutes.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run apptainer "$@"
}

setup_file() {
    "$parts_dir/apptainer" make >&2
}

setup() {
    work_place
    mkdir root
    echo content >root/file
    mksquashfs root root.squashfs -quiet -no-progress -noappend >&2
    printf 'bootstrap: scratch\n' >app.def
    printf '{}' >sbom.json
    unset SOURCE_DATE_EPOCH
}
teardown() { leave_place; }

# modified IMAGE: the header's modified time.
modified() {
    od -An -t d8 -j 72 -N 8 "$1" | tr -d ' '
}

# both VERB ARG…: the change of theirs.sif by Apptainer and of ours.sif by us, at the same second; @ stands for
# the image.
both() {
    apptainer sif "${@/#@/theirs.sif}"
    SOURCE_DATE_EPOCH=$(modified theirs.sif) "$CYBELECTL" sif "${@/#@/ours.sif}"
    cmp theirs.sif ours.sif
    same_list ours.sif
}

# same_list IMAGE: both programs list it alike, header and objects.
same_list() {
    assert_equal "$("$CYBELECTL" sif list "$1")" "$(apptainer sif list "$1")"
    assert_equal "$("$CYBELECTL" sif header "$1")" "$(apptainer sif header "$1")"
}

@test "after each step of a chain the files are byte-identical" {
    apptainer sif new theirs.sif
    cp theirs.sif ours.sif
    both add @ app.def --datatype 1
    both add @ root.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch 2 --groupid 1 --filename root
    both add @ sbom.json --datatype 9 --sbomformat spdx-json --link 2
    both add @ root.squashfs --datatype 4 --partfs 1 --parttype 1 --partarch 4 --groupid 1
    both setprim 4 @
    both del 1 @
    both add @ app.def --datatype 7 --alignment 512
    both setprim 2 @
    both del 2 @
    both del 4 @
    both add @ sbom.json --datatype 3
    both add @ app.def --datatype 2 --groupid 268435455
    both add @ sbom.json --datatype 6
    both add @ app.def --datatype 8
    both add @ sbom.json --datatype 10
    both add @ sbom.json --datatype 11 --link 9
    both add @ app.def --datatype 5 --signhash 3 --signentity 433FE984155206BD962725E20E8713472A879943
}

@test "each program goes on from what the other one wrote" {
    "$CYBELECTL" sif new mixed.sif
    same_list mixed.sif
    apptainer sif add mixed.sif app.def --datatype 1
    same_list mixed.sif
    "$CYBELECTL" sif add mixed.sif root.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch 2 --groupid 1
    same_list mixed.sif
    apptainer sif add mixed.sif root.squashfs --datatype 4 --partfs 1 --parttype 1 --partarch 2 --groupid 1
    same_list mixed.sif
    "$CYBELECTL" sif setprim 3 mixed.sif
    same_list mixed.sif
    apptainer sif del 1 mixed.sif
    same_list mixed.sif
    "$CYBELECTL" sif add mixed.sif sbom.json --datatype 9 --sbomformat cyclonedx-json
    same_list mixed.sif
    apptainer sif setprim 2 mixed.sif
    "$CYBELECTL" sif del 3 mixed.sif --zero --compact
    same_list mixed.sif
    apptainer sif add mixed.sif app.def --datatype 7
    same_list mixed.sif
    "$CYBELECTL" sif dump 2 mixed.sif | cmp - root.squashfs
    apptainer sif dump 3 mixed.sif | cmp - app.def
}

@test "a deterministic image of ours stays one under it, and under us" {
    SOURCE_DATE_EPOCH=0 "$CYBELECTL" sif new ours.sif
    cp ours.sif theirs.sif
    for step in 'add @ app.def --datatype 1' \
        'add @ root.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch 2' 'del 1 @'; do
        # shellcheck disable=SC2086
        apptainer sif ${step/@/theirs.sif}
        # shellcheck disable=SC2086
        "$CYBELECTL" sif ${step/@/ours.sif}
        cmp theirs.sif ours.sif
    done
}

@test "what it refuses we refuse: a second primary, no partition, no object" {
    apptainer sif new a.sif
    apptainer sif add a.sif root.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch 2
    apptainer sif add a.sif app.def --datatype 1
    cp a.sif before.sif
    for step in 'add @ root.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch 2' 'setprim 2 @' 'setprim 9 @' \
        'del 9 @' 'dump 9 @' 'add @ app.def --datatype 12' 'add @ app.def --datatype 9'; do
        for program in apptainer "$CYBELECTL"; do
            # shellcheck disable=SC2086
            run "$program" sif ${step/@/a.sif}
            assert_failure
            cmp a.sif before.sif
        done
    done
}

@test "an image that we put together runs under it" {
    mkdir -p small/bin small/dev small/proc small/sys small/tmp small/var/tmp small/root small/home small/etc
    for folder in lib lib64 usr/lib; do
        mkdir -p "small/$folder"
    done
    cp /bin/busybox small/bin/sh 2>/dev/null || cp "$(command -v busybox)" small/bin/sh
    touch small/etc/passwd small/etc/group small/etc/hosts small/etc/resolv.conf small/etc/localtime
    mksquashfs small small.squashfs -quiet -no-progress -noappend -all-root >&2
    "$CYBELECTL" sif new small.sif
    "$CYBELECTL" sif add small.sif small.squashfs --datatype 4 --partfs 1 --parttype 2 --partarch "$(go_arch)" --groupid 1
    run apptainer exec small.sif /bin/sh -c 'echo inside; exit 3'
    assert_equal "$status" 3
    assert_line inside
}

go_arch() {
    case $(uname -m) in
        aarch64) echo arm64 ;;
        *) echo amd64 ;;
    esac
}
