# SPDX-License-Identifier: Apache-2.0
# Images with an overlay partition; --overlay; builds that vary or do not end.
load ../parts/suite.bash

setup() {
    work_place
    export CYBELE_CACHE_DIR=$place/cache
    cp "$CYBELECTL" cybelectl
    write_definition 'echo one >/opt/word'
}
teardown() { leave_place; }

# write_definition LINE: app.def, whose last step is LINE.
write_definition() {
    cat >app.def <<EOF
Bootstrap: scratch
%files
/bin/busybox /bin/busybox
/bin/busybox /bin/sh
%post
/bin/busybox --install -s /bin && mkdir -p /opt/d && echo 1 >/opt/d/f && echo 1 >/opt/gone
%post
$1
%runscript
cat /opt/word
EOF
}

# make_overlaid: app.sif with an overlay partition that changes a file and deletes two.
make_overlaid() {
    "$CYBELECTL" build app.def
    mkdir -p over/opt/d
    echo two >over/opt/word
    mksquashfs over over.squashfs -p 'opt/gone c 644 0 0 0 0' -p 'opt/d/f c 644 0 0 0 0' -all-root -no-progress -quiet
    "$CYBELECTL" sif add app.sif over.squashfs --datatype 4 --parttype 4 --partfs 1 --partarch 2 --groupid 1
}

@test "every way to mount shows the files of an overlay partition, and build --delta is refused" {
    "$CYBELECTL" key new demo.pem
    make_overlaid
    "$CYBELECTL" sign app.sif --key demo.pem
    run "$CYBELECTL" sif list app.sif
    assert_output --partial Overlay
    run "$CYBELECTL" verify app.sif --key demo.pub
    assert_success
    run "$CYBELECTL" run app.sif
    assert_output two
    run "$CYBELECTL" exec app.sif sh -c 'ls -A /opt /opt/d'
    assert_output $'/opt:\nd\nword\n\n/opt/d:'
    run -0 "$CYBELECTL" inspect --files app.sif '/opt/**' /opt
    assert_output --regexp $'^d[^\n]* /opt\nd[^\n]* /opt/d\n-[^\n]* 4 [^\n]* /opt/word$'
    run -0 "$CYBELECTL" inspect --files app.sif '/bin/sh'
    assert_line --partial ' /bin/sh'
    chmod 644 app.sif
    for closed in '' -c; do
        # shellcheck disable=SC2086
        run as_user $closed env CYBELE_CACHE_DIR="$PWD/users" ./cybelectl exec app.sif sh -c 'cat /opt/word; ls -A /opt /opt/d'
        assert_success
        assert_output $'two\n/opt:\nd\nword\n\n/opt/d:'
    done
    refuses 2 "$CYBELECTL" build app.def --force --delta
    assert_line 'error: `--delta` of `cybelectl build` is not supported any more'
    assert_line 'help: leave --delta out'
}

@test "--overlay: a SIF is laid over an image with its own overlay partition" {
    "$CYBELECTL" build app.def -o below.sif
    make_overlaid
    run -0 "$CYBELECTL" exec --overlay app.sif below.sif sh -c 'cat /opt/word; ls -A /opt/d'
    assert_output two
}

@test "--overlay: a directory takes what is written, :ro shows it, wrong ones are refused" {
    run "$CYBELECTL" build app.def
    mkdir changes
    run "$CYBELECTL" exec --overlay changes app.sif sh -c 'echo kept >/opt/kept; rm /opt/gone'
    assert_success
    run "$CYBELECTL" exec --overlay changes:ro app.sif sh -c 'cat /opt/kept; ls /opt'
    assert_output $'kept\nd\nkept\nword'
    run "$CYBELECTL" exec --overlay changes:ro app.sif touch /opt/new
    assert_failure
    run cat changes/upper/opt/kept
    assert_output kept
    mkdir more
    refuses 255 "$CYBELECTL" exec --overlay changes --overlay more app.sif true
    refuses 255 "$CYBELECTL" exec --overlay changes --writable-tmpfs app.sif true
    refuses 255 "$CYBELECTL" exec --overlay none app.sif true
    truncate -s 1M ext3.img
    refuses 255 "$CYBELECTL" exec --overlay ext3.img app.sif true
    refuses 255 "$CYBELECTL" exec --overlay :ro app.sif true
}

@test "build --verify-reproducible names the file that differs" {
    run "$CYBELECTL" build app.def --verify-reproducible
    assert_success
    # shellcheck disable=SC2016
    write_definition 'cat /proc/sys/kernel/random/uuid >/opt/word'
    run "$CYBELECTL" build app.def --force --verify-reproducible
    assert_failure
    assert_output --partial 'two builds of the same gave different images'
    assert_output --partial /opt/word
}

@test "the same bytes as root and as a user, on disk and in memory" {
    export SOURCE_DATE_EPOCH=1700000000
    "$CYBELECTL" build app.def -o disk.sif --no-cache
    CYBELE_TMPDIR=/dev/shm "$CYBELECTL" build app.def -o memory.sif
    run as_user env SOURCE_DATE_EPOCH=1700000000 CYBELE_CACHE_DIR="$PWD/users" ./cybelectl build app.def -o user.sif
    assert_success
    cmp disk.sif memory.sif
    cmp disk.sif user.sif
}

@test "a step that does not end, a step that fills the disk, a wrong time: one sentence each" {
    write_definition 'sleep 1000'
    run "$CYBELECTL" build app.def --timeout 1s
    assert_failure
    assert_line --partial '%post did not end within 1 s'
    refuses 2 "$CYBELECTL" build app.def --timeout soon
    refuses 2 "$CYBELECTL" build app.def --timeout 1s --builder apptainer
    [[ $(id -u) == 0 ]] || skip 'a small disk is mounted by root'
    write_definition 'dd if=/dev/zero of=/opt/big bs=1M count=400'
    # shellcheck disable=SC2016
    run unshare -m sh -c 'mkdir small && mount -t tmpfs -o size=150m small small &&
        CYBELE_TMPDIR=$PWD/small "$1" build app.def
        CYBELE_TMPDIR=$PWD/small "$1" -v build app.def' sh "$CYBELECTL"
    assert_failure
    assert_output --partial 'No space left on device'
    assert_equal "$(grep -c 'help: set CYBELE_TMPDIR to a folder with more space' <<<"$output")" 2 # the output's end is not seen with -v
}
