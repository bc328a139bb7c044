# SPDX-License-Identifier: Apache-2.0
# The local store of images: its verbs, what it refuses, many processes at once, and SIGKILL at any time.
load ../parts/suite.bash

sudo=()
setup() {
    work_place
    export CYBELE_STORE=$place/scratch/store SOURCE_DATE_EPOCH=1700000000
    new_image app.sif one
}
teardown() {
    ! mountpoint -q disk || "${sudo[@]}" umount disk
    leave_place
}

# new_image FILE TEXT [KIB]: a SIF with TEXT, and so many KiB behind it.
new_image() {
    rm -f "$1"
    "$CYBELECTL" sif new "$1"
    { printf '%s\n' "$2" && head -c "$((${3:-0} * 1024))" /dev/zero; } >"$1.text"
    "$CYBELECTL" sif add "$1" "$1.text" --datatype 7
    rm "$1.text"
}

image() { "$CYBELECTL" image "$@"; }
digest_of() { echo "sha256:$(sha256sum "$1" | cut -d' ' -f1)"; }
stored() { find "$CYBELE_STORE/blobs" -type f ! -name '*.json' | wc -l; }

@test "add, list, show, tag, path and remove" {
    run image add app.sif
    assert_output "app:latest $(digest_of app.sif)"
    image add app.sif group/app:1.0
    image tag app group/app:stable
    assert_equal "$(image list --format json | jq -r '.images[].names | join(" ")')" "app:latest group/app:1.0 group/app:stable"
    cmp app.sif "$(image path group/app:stable)"
    cmp app.sif "$(image path "$(digest_of app.sif | head -c 20)")"
    run image list app
    assert_line "digest        $(digest_of app.sif)"
    image remove app group/app:1.0
    assert_equal "$(stored)" 1
    image remove group/app:stable
    assert_equal "$(stored)" 0
    run image list
    assert_output ""
}

@test "add --link syncs the file, which another program may have just written, before it has its name in the store" {
    strace -qq -y -o trace -e trace=fsync,rename "$CYBELECTL" image add --link app.sif linked
    run sed -n '/fsync(.*app\.sif>) *= 0/{s/.*/synced/p}; /rename(.*blobs.*= 0/{s/.*/named/p}' trace
    assert_output $'synced\nnamed'
}

@test "a name of the store, or of a registry, in place of a file: the help says what to write" {
    image add app.sif group/app:1.0
    refuses 3 "$CYBELECTL" inspect group/app:1.0
    assert_line 'error: no such file: group/app:1.0'
    assert_line 'help: write `store:group/app:1.0`'
    refuses 3 "$CYBELECTL" inspect oras://127.0.0.1:1/app:1
    assert_line 'help: pull it first: cybelectl image pull oras://127.0.0.1:1/app:1'
    refuses 3 "$CYBELECTL" inspect missing.sif
    assert_line 'error: no such file: missing.sif'
}

@test "several are removed all or none, and what only looks makes no store" {
    image add app.sif a
    refuses 3 image remove a nope other
    assert_output --partial 'no image nope:latest'
    assert_output --partial 'no image other:latest'
    assert_equal "$(stored)" 1
    image remove a a
    assert_equal "$(stored)" 0
    export CYBELE_STORE=$place/scratch/none
    refuses 3 image remove a
    refuses 3 image tag a b
    assert_not_exist "$CYBELE_STORE"
}

@test "the verbs that read an image take one of the store, by name and by digest" {
    image add app.sif app:1
    local digest
    digest=$(digest_of app.sif)
    for name in store:app:1 "store:app@$digest" "store:any:other@$digest"; do
        assert_equal "$("$CYBELECTL" sif list "$name")" "$("$CYBELECTL" sif list app.sif)"
        assert_equal "$("$CYBELECTL" sif dump 1 "$name")" one
        refuses 4 "$CYBELECTL" verify "$name" --key "$repo/tests/unit/images/data/ed25519-public.pem"
    done
    refuses 3 "$CYBELECTL" inspect store:app
    assert_output --partial "did you mean 'app:1'?"
    refuses 255 "$CYBELECTL" exec store:nothing true
    refuses 2 "$CYBELECTL" sign store:app:1 --key k.pem
    refuses 2 "$CYBELECTL" sif del 1 store:app:1
    assert_output --partial 'is never changed'
}

@test "what is no image stays outside, and a folder of other things becomes no store" {
    echo text >text.sif
    refuses 3 image add text.sif
    refuses 3 image add .
    refuses 3 image add missing.sif
    head -c -1000 app.sif >short.sif
    refuses 3 image add short.sif
    assert_line --regexp '^because: it is damaged: '
    refuses 3 image add app.sif 'a b'
    refuses 2 image add app.sif "app@$(digest_of app.sif)"
    CYBELE_STORE=$place refuses 3 image add app.sif
    assert_equal "$(stored)" 0
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f)" ""
    assert_not_exist "$place/format"
}

@test "a store of a later version is refused and left alone" {
    image add app.sif
    echo 2 >"$CYBELE_STORE/format"
    for verb in list 'list app' 'add app.sif' prune 'remove app' verify; do
        # shellcheck disable=SC2086
        refuses 3 image $verb
        assert_line --partial 'is of version 2'
    done
}

@test "a damaged image is never handed out; it comes again whole" {
    image add app.sif
    local blob
    blob=$(image path app)
    printf X | dd of="$blob" bs=1 seek=40 conv=notrunc status=none
    refuses 4 image path app
    refuses 4 image verify
    refuses 4 "$CYBELECTL" sif list store:app
    refuses 255 "$CYBELECTL" exec store:app true
    image add app.sif
    image verify
    cmp app.sif "$(image path app)"
}

@test "a damage that leaves no trace in the file's times is found by verify, and then never handed out" {
    image add app.sif
    local blob
    blob=$(image path app)
    printf X | dd of="$blob" bs=1 seek=40 conv=notrunc status=none
    # As a disk does it: the index believes in the file that is there.
    sqlite3 "$CYBELE_STORE/index.sqlite" "update image set modified=$(stat -c %.Y "$blob" | tr -d .), changed=$(stat -c %.Z "$blob" | tr -d .)"
    image path app
    refuses 4 image verify app
    refuses 4 image path app
}

@test "a read-only store is used and not changed; a full one says so" {
    mkdir disk
    [[ $(id -u) == 0 ]] || sudo=(sudo)
    "${sudo[@]}" mount -t tmpfs -o size=1m,mode=1777 tmpfs disk
    export CYBELE_STORE=$place/disk/store
    image add app.sif
    new_image big.sif big 3000
    refuses 5 image add big.sif
    assert_output --partial 'No space left on device'
    image verify
    assert_equal "$(stored)" 1
    assert_equal "$(find disk/store/tmp -type f)" ""
    "${sudo[@]}" mount -o remount,ro disk
    cmp app.sif "$(image path app)"
    "$CYBELECTL" sif list store:app
    image list
    for verb in 'add app.sif other' 'tag app b' 'remove app' prune; do
        # shellcheck disable=SC2086
        refuses 5 image $verb
    done
    "${sudo[@]}" umount disk
}

@test "prune: by name, by age, by size; a dry run changes nothing" {
    image add app.sif
    new_image two.sif two
    image add two.sif
    new_image app.sif other
    image add app.sif
    run image prune
    assert_output --partial '0 B freed' # all are young
    run image prune --grace '0 s' --dry-run
    assert_output --partial 'would remove sha256:'
    assert_equal "$(stored)" 3
    sleep 1.1 # the grace counts whole seconds
    image prune --grace '0 s'
    assert_equal "$(stored)" 2
    touch -d '2 days ago' "$(image path two).json"
    jq '.created = 1' "$(image path two).json" >new && cp new "$(image path two).json"
    touch -d '2 days ago' "$(image path two).json"
    rm "$CYBELE_STORE/index.sqlite" # made again, with the age
    image prune --unused 1
    assert_equal "$(image list --format json | jq -r '.images[].names[]')" app:latest
    image prune --keep 1KiB --grace '0 s'
    assert_equal "$(stored)" 0
    refuses 2 image prune --keep 5X
    refuses 2 image prune --unused 0
    refuses 2 image prune --max-size 5
    assert_line 'help: write for example `--keep 20G` in place of `--max-size 5`'
    refuses 2 image gc --grace '0 s'
    assert_line "help: write \`cybelectl image prune --grace '0 s'\`"
    refuses 2 image show app
    assert_line 'help: write `cybelectl image list app`'
}

@test "an image that runs is kept, and let go when the program ends" {
    copy_fixture
    image add hello-mpi.sif hello
    # `read` ends with its standard input: no sleep, nothing left over.
    coproc "$CYBELECTL" exec store:hello sh -c 'echo up; read -r _; echo down'
    local pid=$COPROC_PID
    read -r line <&"${COPROC[0]}"
    assert_equal "$line" up
    refuses 5 image remove hello
    image prune --keep 1KiB --grace '0 s'
    assert_equal "$(stored)" 1
    echo >&"${COPROC[1]}"
    wait "$pid"
    image remove hello
    assert_equal "$(stored)" 0
}

@test "a Job takes its image from the store and its program runs" {
    copy_fixture
    image add hello-mpi.sif hello:1
    write_job stored 'command: [cat, /etc/os-release]'
    sed -i 's|^image:.*|image: store:hello:1|' stored.yaml
    "$CYBELECTL" submit stored.yaml --wait
    grep -q Debian stored-*.out
    run "$CYBELECTL" job render stored.yaml
    assert_line --partial "$(digest_of hello-mpi.sif | cut -d: -f2)"
    sed -i 's|store:hello:1|store:hello:2|' stored.yaml
    refuses 3 "$CYBELECTL" submit stored.yaml
    assert_line --partial 'stored.yaml:3:'
    assert_output --partial "did you mean 'hello:1'?"
}

@test "16 processes add, name, read, remove and collect at once: one blob, no lost image" {
    local -a writers=()
    new_image shared.sif shared 256
    image add app.sif keep
    for i in $(seq 16); do
        (
            set -e
            image add shared.sif "shared/$i"
            cmp shared.sif "$(image path "shared/$i")"
            image prune --grace '0 s'
            new_image "own$i.sif" "own $i" 2>&3
            image add "own$i.sif" "own/$i"
            image tag "own/$i" "also/$i"
            image remove "own/$i"
            image prune --grace '0 s'
            cmp "own$i.sif" "$(image path "also/$i")"
            touch "done$i"
        ) >"log$i" 2>&1 3>&1 &
        writers+=($!)
        cd "$place" || return
    done
    wait "${writers[@]}" || true # by name: bats has a process of its own beside
    cat log*
    assert_equal "$(find . -maxdepth 1 -name 'done*' | wc -l)" 16
    image verify
    assert_equal "$(stored)" 18
    assert_equal "$(image list keep --format json | jq -r ".images[0].digest")" "$(digest_of app.sif)"
    assert_equal "$(image list --format json | jq '[.images[].names[]] | length')" 33
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f)" ""
}

@test "SIGKILL at each system call of an import that changes something: the store stays whole" {
    new_image big.sif big 64
    image add app.sif keep
    local calls='openat,write,pwrite64,rename,unlink,fsync,fdatasync,fchmod,utimensat,linkat,mkdir,ioctl' count kept=0
    count=$(strace -f -qq -e trace="$calls" -o /dev/stdout "$CYBELECTL" image add big.sif dry | grep -c '(')
    image remove dry
    for ((i = 1; i <= count; i += 1 + count / 40)); do
        strace -f -qq -o /dev/null -e trace="$calls" -e inject="$calls:signal=KILL:when=$i" "$CYBELECTL" image add big.sif big >/dev/null 2>&1 || true
        "$CYBELECTL" image verify -q
        cmp app.sif "$(image path keep)"
        image add big.sif again -q
        cmp big.sif "$(image path again)"
        image remove "$(digest_of big.sif)"
        kept=$((kept + 1))
    done
    ((kept > 20))
    touch -d '2 minutes ago' "$CYBELE_STORE"/tmp/* 2>/dev/null || true
    image prune
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f)" ""
    image verify
}

@test "two users share a group's store" {
    mkdir -m 2775 scratch/shared
    chgrp 4321 scratch/shared
    chmod 2775 scratch/shared scratch
    export CYBELE_STORE=$place/scratch/shared
    cp "$CYBELECTL" app.sif scratch/
    umask 077
    as_member() { setpriv --reuid "$1" --regid "$1" --groups 4321 env HOME=/nonexistent "${@:2}"; }
    as_member 2001 scratch/cybelectl image add scratch/app.sif one
    as_member 2002 scratch/cybelectl image add scratch/app.sif two
    as_member 2002 scratch/cybelectl image tag one three
    as_member 2001 scratch/cybelectl sif list store:three
    as_member 2002 scratch/cybelectl image prune
    as_member 2002 scratch/cybelectl image remove one two three
    assert_equal "$(stored)" 0
    refuses 5 setpriv --reuid 2003 --regid 2003 --clear-groups env HOME=/nonexistent scratch/cybelectl image add scratch/app.sif
}

@test "no image is called sha256, which begins a digest" {
    export CYBELE_STORE=$place/reserved
    refuses 3 "$CYBELECTL" image add app.sif sha256:1987d6041b27
    assert_line --partial 'read it as the digest of an image'
    refuses 3 "$CYBELECTL" image add app.sif sha256
    "$CYBELECTL" image add app.sif app
    refuses 3 "$CYBELECTL" image tag app sha256:abcdef
    refuses 3 "$CYBELECTL" image copy app.sif store:sha256:abcdef
}
