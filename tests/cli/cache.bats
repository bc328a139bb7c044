# SPDX-License-Identifier: Apache-2.0
# What builds keep for the next one, by a definition with a static busybox.
load ../parts/suite.bash

setup() {
    work_place
    export CYBELE_CACHE_DIR=$place/cache
    write_definition one
}
teardown() { leave_place; }

# write_definition WORD: app.def, whose last step depends on WORD.
write_definition() {
    cat >app.def <<EOF
Bootstrap: scratch
%files
/bin/busybox /bin/busybox
/bin/busybox /bin/sh
%post
/bin/busybox mkdir -p /opt && echo $1 >/opt/word
%runscript
/bin/busybox cat /opt/word
EOF
}

# shellcheck disable=SC2120,SC2119
build() { "$CYBELECTL" -v build app.def --force "$@" 2>&1; }

@test "build says what was reused and why a step was not" {
    run build
    assert_success
    assert_line --regexp ' s  %post$'
    run build
    assert_line --regexp 'nothing changed: the image is in place$'
    run build -o other.sif
    assert_line --regexp 'nothing changed: the image is reused$'
    cmp app.sif other.sif
    write_definition two
    run build
    assert_success
    assert_line --regexp '%files: reused$'
    assert_line --regexp '%post \(its text changed\)$'
    run "$CYBELECTL" run app.sif
    assert_output two
    run build --no-cache
    assert_success
    refute_line --partial reused
}

@test "cache list, tree, prune and verify, in text and json" {
    run "$CYBELECTL" cache list
    assert_success
    assert_output '0 entries, 0.0 MB'
    run build
    run "$CYBELECTL" cache list
    assert_success
    assert_line --regexp '^steps +[0-9a-f]{12} .*%post of app.def: /bin/busybox mkdir'
    assert_line --regexp '^images +[0-9a-f]{12} .*app.sif of app.def$'
    assert_line --regexp '^4 entries, '
    run "$CYBELECTL" cache list --tree
    assert_line --index 0 --regexp '^[0-9a-f]{12} .* base scratch of app.def'
    assert_line --index 1 --regexp '^  [0-9a-f]{12} .* %files of app.def'
    assert_line --index 2 --regexp '^    [0-9a-f]{12} .* %post of app.def'
    run bash -c '"$1" cache list --format json | jq -r ".format, .entries[0].kind"' sh "$CYBELECTL"
    assert_output $'1\nimages'
    run "$CYBELECTL" cache verify
    assert_success
    assert_output '4 entries are as they were written'
    truncate -s -1 cache/images/*.parts
    run "$CYBELECTL" cache verify
    assert_failure
    assert_line --partial '1 of 4 entries were damaged and are removed'
    run "$CYBELECTL" cache prune --kind steps --keep 0 --dry-run
    assert_output --partial 'would remove 3 entries'
    for size in x 1X 1iB 1.2.3 -1 inf 1e3 99999999999999T "$(printf '9%.0s' {1..400})"; do
        refuses 2 "$CYBELECTL" cache prune --keep "$size"
    done
    run -0 "$CYBELECTL" cache prune --keep 10GiB -n
    run -0 "$CYBELECTL" cache prune --keep 1.5G -n
    run -2 "$CYBELECTL" cache prune --keep 1G --all
    run "$CYBELECTL" cache prune --all
    assert_output --partial 'removed 3 entries'
    run "$CYBELECTL" cache list
    assert_output '0 entries, 0.0 MB'
}

@test "a file of the host is read again when it changed, whatever its time says, and only then" {
    printf 'one%.0s' {1..30000} >data # the start of shorter ones is searched for secrets by each build
    sed -i '/^%files/a data /data' app.def
    sleep 2.1 # younger files are not remembered
    run build
    assert_success
    run -0 grep -c '^c ' cache/known-files
    assert_output 2
    run -0 strace -qq -e trace=pread64 -P "$PWD/data" "$CYBELECTL" build app.def --force
    refute_output --partial pread64
    run -0 strace -qq -e trace=pread64 -P "$PWD/data" "$CYBELECTL" build app.def --force --no-cache
    assert_output --partial pread64
    touch -r data time
    printf 'two%.0s' {1..30000} >data
    touch -r time data
    run build
    assert_line --partial "%files ('$PWD/data' for '/data' changed)"
    "$CYBELECTL" exec app.sif /bin/busybox cat /data | cmp - data
    "$CYBELECTL" cache verify
    run grep -c '^c ' cache/known-files
    assert_output 0
}

@test "an output that is already what a build would make stays, as old as a new one" {
    "$CYBELECTL" key new demo.pem
    "$CYBELECTL" key new other.pem
    run build --sign-key demo.pem
    assert_success
    inode=$(stat -c %i app.sif)
    # as make asks it: newer than its source?
    touch app.def
    run build --sign-key demo.pem
    assert_line --regexp 'the image is in place$'
    [[ $(stat -c %i app.sif) == "$inode" && app.sif -nt app.def ]]
    for change in 'other.pem' ''; do
        run build ${change:+--sign-key $change}
        assert_line --regexp 'the image is reused$'
    done
    run "$CYBELECTL" verify app.sif --key demo.pub
    assert_failure
    run build --sign-key demo.pem
    run -0 "$CYBELECTL" verify app.sif --key demo.pub
    refuses 3 "$CYBELECTL" build app.def --sign-key demo.pem
}

@test "an output that somebody touched is put in place again, whatever was done to it" {
    run build
    cp app.sif good.sif
    for touched in 'chmod 600 app.sif' 'ln -f app.sif second' 'cp good.sif app.sif' 'mv -f good.sif app.sif' \
        'printf x | dd of=app.sif bs=1 seek=40000 conv=notrunc status=none' 'ln -sf second app.sif' 'rm app.sif'; do
        time=$(stat -c %y app.sif)
        bash -c "$touched"
        touch -h -c -d "$time" app.sif
        run build
        assert_line --regexp 'the image is reused$'
        [[ $(stat -L -c '%a %h' app.sif) == '755 1' ]]
        [[ $touched != 'ln -sf '* || $(readlink app.sif) == second ]] # a link stays
        [[ -e good.sif ]] || cp app.sif good.sif
        cmp app.sif good.sif
    done
    run build --no-cache
    assert_line --regexp 'pack app.sif$'
}

@test "a change keeps little more than itself, and an image whose steps are gone is built anew" {
    head -c 3000000 /dev/urandom >data
    sed -i '/^%files/a data /data' app.def
    run build -o first.sif
    sed -i s/one/two/ app.def
    run build
    assert_success
    run bash -c 'cat cache/images/*.parts | wc -c'
    [[ $output -lt 2500000 ]]
    sed -i s/two/one/ app.def
    run build -o again.sif
    assert_line --regexp 'the image is reused$'
    cmp first.sif again.sif
    run "$CYBELECTL" cache prune --kind steps --keep 0
    assert_success
    rm again.sif
    run build -o again.sif
    assert_success
    assert_line --regexp 'pack again.sif$'
    run "$CYBELECTL" run again.sif
    assert_output one
    rm again.sif
    run build -o again.sif
    assert_line --regexp 'the image is reused$'
}

@test "a damaged layer is made again, not used" {
    run build
    write_definition two
    for file in cache/steps/*.squashfs; do printf x | dd of="$file" bs=1 seek=200 conv=notrunc status=none; done
    run build
    assert_success
    refute_line --partial reused
    run "$CYBELECTL" run app.sif
    assert_output two
}

@test "pruning without a limit, or with a wrong one, is refused" {
    refuses 2 "$CYBELECTL" cache prune
    refuses 2 "$CYBELECTL" cache prune --keep much
    refuses 2 "$CYBELECTL" cache prune --keep 5X
    for verb in list "prune --all" verify; do
        # shellcheck disable=SC2086
        refuses 2 "$CYBELECTL" cache $verb --kind layers
    done
    refuses 2 "$CYBELECTL" cache verify --kind unpacked
}

@test "a user without loop devices and FUSE reuses steps by unpacking them" {
    cp "$CYBELECTL" cybelectl
    run as_user -c env CYBELE_CACHE_DIR="$place/cache" bash -c '
        ./cybelectl build app.def --force && sed -i s/one/two/ app.def &&
        ./cybelectl -v build app.def --force && ./cybelectl run app.sif'
    assert_success
    assert_line --partial '%files: reused'
    assert_line two
}

@test "an image that a start unpacked is listed and pruned, unless a program runs in it" {
    cp "$CYBELECTL" cybelectl
    run as_user -c env CYBELE_CACHE_DIR="$place/cache" bash -c '
        ./cybelectl build -q app.def || exit
        ./cybelectl exec app.sif /bin/busybox sh -c "echo up; exec /bin/busybox sleep 60" >up & job=$!
        for _ in $(seq 600); do [ -s up ] && break; sleep 0.1; done
        ./cybelectl cache list --kind unpacked
        ./cybelectl cache list --kind unpacked --format json | jq -r ".entries[0].image"
        ./cybelectl cache prune --all --kind unpacked
        kill "$job"; wait "$job"
        ./cybelectl cache prune --all --kind unpacked
        ./cybelectl cache list --kind unpacked'
    assert_success
    assert_line --index 0 --regexp "^unpacked +[0-9a-f]{12} +[1-9][0-9.]* MB  today +$place/app.sif\$"
    assert_line --index 1 --regexp '^1 entry, '
    assert_line --index 2 "$place/app.sif"
    assert_line --index 3 'removed 0 entries, 0.0 MB; 1 in use stay'
    assert_line --index 4 --regexp '^removed 1 entry, [1-9][0-9.]* MB$'
    assert_line --index 5 '0 entries, 0.0 MB'
}
