# SPDX-License-Identifier: Apache-2.0
# Outputs, changes and options where a careless user, or a limit, would damage an image or lose a check: links into the store, `-`,
# links that lead nowhere, limits of file sizes, relative folders, empty values, names that are not UTF-8. Half a minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup() {
    own_home
    export SOURCE_DATE_EPOCH=1700000000
    new_image app.sif one
    printf 'Bootstrap: scratch\n' >a.def
}
teardown() {
    end_servers
    ! mountpoint -q small || umount small || sudo umount small
    leave_place
}

# new_image FILE TEXT: a SIF with TEXT in a group.
new_image() {
    "$CYBELECTL" sif new "$1"
    echo "$2" >text
    "$CYBELECTL" sif add "$1" text --datatype 7 --groupid 1
}

# root_image: root.sif, of busybox.
root_image() {
    mkdir -p root/bin
    cp /bin/busybox root/bin
    printf 'Bootstrap: localimage\nFrom: root\n' >root.def
    "$CYBELECTL" build root.def -o root.sif -q
}

image() { "$CYBELECTL" image "$@"; }

@test "what changes an image refuses each kind of link into a store, and help says what works" {
    "$CYBELECTL" key new k.pem -q
    image add app.sif app
    new_image own.sif two
    image add own.sif own --link
    image copy store:app hard.sif --link
    ln -s "$(image path app)" symbolic.sif
    ln -s symbolic.sif again.sif
    for link in hard.sif symbolic.sif again.sif own.sif; do
        for change in "sign $link --key k.pem" "sif add $link text --datatype 7" "sif del 1 $link" "sif setprim 1 $link" \
            "sif recover $link"; do
            # shellcheck disable=SC2086
            refuses 2 "$CYBELECTL" $change
            assert_line "error: an image in the store is never changed: $link"
            assert_line "help: copy it, change the copy, add that: cybelectl image copy $link app.sif"
        done
    done
    # Another store than the one that is used: its files are known by their place.
    CYBELE_STORE=$place/another refuses 2 "$CYBELECTL" sif del 1 symbolic.sif
    image verify
    image copy hard.sif copy.sif
    "$CYBELECTL" sign copy.sif --key k.pem
    ln copy.sif other-name.sif # of no store
    "$CYBELECTL" sif add other-name.sif text --datatype 7
    # a link into another store than the current one
    for words in 'sign hard.sif --key k.pem' 'sif add hard.sif text --datatype 7'; do
        # shellcheck disable=SC2086
        CYBELE_STORE=$place/other refuses 2 "$CYBELECTL" $words
        assert_line --partial 'an image in the store is never changed'
    done
    image verify
}

@test "apptainer overlay create refuses a link into the store" {
    root_image
    image add root.sif root
    image copy store:root linked.sif --link
    ln -s "$CYBELECTL" apptainer
    run ! ./apptainer overlay create --size 64 linked.sif
    assert_output --partial 'an image in the store is never changed'
    image verify
}

@test "no output goes through a link into a store, or a layout of OCI" {
    image add app.sif app
    new_image two.sif two
    ln -s "$(image path app)" link.sif
    mkdir -p layout/blobs/sha256
    cp two.sif "layout/blobs/sha256/$(sha256sum two.sif | cut -d' ' -f1)"
    ln -s layout/blobs/sha256/* oci.sif
    for link in link.sif oci.sif; do
        refuses 3 image copy two.sif "$link" --force
        assert_line 'because: it leads into a store, where the name of a file is the digest of its bytes'
        refuses 3 "$CYBELECTL" build a.def -o "$link" --force
        refuses 3 "$CYBELECTL" sif dump 1 two.sif -o "$link"
        [[ -L $link ]]
    done
    image verify
    sha256sum -c <<<"$(basename layout/blobs/sha256/*)  $(echo layout/blobs/sha256/*)"
}

@test "an image is not written to a file that is called -" {
    image add app.sif app
    for words in 'copy app.sif -' 'copy store:app -' 'copy store:app - --link' 'pull oras://127.0.0.1:1/a:1 -o -' \
        'pull oras://127.0.0.1:1/a:1 -o - --no-store' 'pull oras://127.0.0.1:1/a:1 -o - --force'; do
        # shellcheck disable=SC2086
        refuses 2 image $words
        assert_line 'error: an image is not written to standard output'
    done
    assert_not_exist ./-
    image copy app.sif ./-
    cmp app.sif ./-
}

@test "a link that leads nowhere is an existing file" {
    ln -s nowhere link
    refuses 3 "$CYBELECTL" build a.def -o link
    assert_line 'error: link exists already'
    refuses 3 "$CYBELECTL" recipe new demo -o link
    printf 'FROM debian:12\n' >Dockerfile
    refuses 3 "$CYBELECTL" recipe import Dockerfile -o link
    refuses 3 image copy app.sif link
    [[ -L link ]]
    assert_not_exist nowhere
    mkdir demo
    ln -s nowhere demo/job.yaml
    refuses 3 "$CYBELECTL" init demo
    assert_not_exist demo/nowhere
    "$CYBELECTL" build a.def -o link --force
    [[ -L link && -f nowhere ]]
    "$CYBELECTL" sif list nowhere
}

@test "a limit of file sizes is an error, nothing half-made stays, and started programs have their signal again" {
    new_image big.sif "$(head -c 20000 /dev/zero | tr '\0' x)"
    image add app.sif app
    limited() { bash -c 'ulimit -f 8 && exec "$@"' limited "$@"; }
    for words in 'build a.def -o x.sif' 'image copy app.sif x.sif' 'sif new x.sif' 'image add big.sif x' \
        'sif dump 1 big.sif -o x.sif'; do
        # shellcheck disable=SC2086
        refuses 5 limited "$CYBELECTL" $words
        assert_line 'because: File too large'
        assert_line 'help: raise the limit of file sizes (`ulimit -f`), or choose a file system for larger files'
        assert_not_exist x.sif
        run find . -name '*.new.*' -o -name '*.journal' -o -name '.cybelectl-build*' -o -name 'add-*'
        refute_output
    done
    cp app.sif changed.sif
    refuses 5 limited "$CYBELECTL" sif add changed.sif big.sif --datatype 7
    cmp app.sif changed.sif
    assert_not_exist changed.sif.journal
    root_image
    local -r xfsz=$((1 << (25 - 1)))
    in_image() { "$CYBELECTL" exec root.sif /bin/busybox awk '/^SigIgn/ { print $2 }' /proc/self/status; }
    ((!(16#$(in_image) & xfsz)))
    ((16#$(trap '' XFSZ && in_image) & xfsz))
}

@test "a relative folder in a variable of ours is refused by name, and nothing is made" {
    local variable
    mkdir elsewhere
    cd elsewhere
    for variable in CYBELE_CACHE_DIR CYBELE_CONFIG_DIR CYBELE_STATE_DIR CYBELE_STORE CYBELE_TMPDIR; do
        for words in 'image list' 'build ../a.def -o ../x.sif' 'job list' 'config show'; do
            # shellcheck disable=SC2086
            refuses 2 env "$variable=relative dir" "$CYBELECTL" $words
            assert_line "error: $variable is a relative path: relative dir"
            assert_line "help: set an absolute path: export $variable=\"\$PWD\"/'relative dir'"
        done
        refuses 255 env "$variable=relative" "$CYBELECTL" exec ../app.sif true
        assert_line "error: $variable is a relative path: relative"
    done
    assert_equal "$(ls -A)" ''
}

@test "names that are not UTF-8 make valid JSON, and init says which file it leaves out" {
    local bad=$'b\xff\xfe'
    cp a.def "$bad.def"
    "$CYBELECTL" build "$bad.def" -o "$bad.sif" --format json >out
    jq -e .image out
    mkdir project
    echo 'print(1)' >project/main.py
    echo 'x = 1' >"project/$bad.py"
    "$CYBELECTL" init --from project --format json >out
    jq -e '.assumed | map(select(test("not UTF-8"))) | length == 1' out
    "$CYBELECTL" job check project
    refute grep -q "$bad" project/*.yaml
}

@test "an image with what has no group: verify names what makes it one that can be signed" {
    "$CYBELECTL" key new k.pem -q
    "$CYBELECTL" sif new loose.sif
    "$CYBELECTL" sif add loose.sif text --datatype 7
    refuses 4 "$CYBELECTL" verify loose.sif --key k.pub
    assert_line --partial 'help: `cybelectl sif del` what has no group, `cybelectl sif add --groupid 1` it again, then sign'
    "$CYBELECTL" sif del 1 loose.sif
    "$CYBELECTL" sif add loose.sif text --datatype 7 --groupid 1
    "$CYBELECTL" sign loose.sif --key k.pem
    "$CYBELECTL" verify loose.sif --key k.pub
    "$CYBELECTL" sif add loose.sif text --datatype 7
    refuses 4 "$CYBELECTL" verify loose.sif --key k.pub
    assert_line 'help: delete what has no group, which no signature covers: cybelectl sif del ID IMAGE'
    "$CYBELECTL" sif del 3 loose.sif
    "$CYBELECTL" verify loose.sif --key k.pub
    "$CYBELECTL" sif new empty.sif
    refuses 4 "$CYBELECTL" verify empty.sif --key k.pub
    assert_line 'help: build the image again: it holds nothing that could be signed'
}

@test "rendering prints JSON with --format json, with the text or the name of its file" {
    write_job demo 'command: [ls]'
    sed -i /^image:/d demo.yaml
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >recipe.yaml
    json() { "$CYBELECTL" "$@" --format json; }
    assert_equal "$(json job render demo.yaml --scheduler slurm | jq -r .text)" "$("$CYBELECTL" job render demo.yaml --scheduler slurm)"
    assert_equal "$(json submit demo.yaml --scheduler slurm --dry-run | jq -r .text)" \
        "$("$CYBELECTL" submit demo.yaml --scheduler slurm --dry-run)"
    assert_equal "$(json kube render demo.yaml --kind TorqueJob 2>/dev/null | jq -r .text)" \
        "$("$CYBELECTL" kube render demo.yaml --kind TorqueJob 2>/dev/null)"
    assert_equal "$(json submit demo.yaml --kube --kind TorqueJob 2>/dev/null | jq -r '.kind, .text')" \
        "TorqueJob"$'\n'"$("$CYBELECTL" submit demo.yaml --kube --kind TorqueJob 2>/dev/null)"
    assert_equal "$(json job render demo.yaml --scheduler slurm -o job.sh | jq -r '.name, .scheduler, .output')" $'demo\nslurm\njob.sh'
    cmp job.sh <("$CYBELECTL" job render demo.yaml --scheduler slurm)
    assert_equal "$(json recipe render recipe.yaml -o demo.def | jq -r .output)" demo.def
    cmp demo.def <("$CYBELECTL" recipe render recipe.yaml)
    assert_equal "$(json kube render demo.yaml -o object.yaml 2>/dev/null | jq -r .output)" object.yaml
    assert_exist object.yaml
}

@test "an empty variable of ours is an unset one, whichever it is" {
    write_job demo 'command: [ls]'
    sed -i /^image:/d demo.yaml
    # what COMMAND says with the variables that are given
    all() {
        env "$@" "$CYBELECTL" config show
        env "$@" "$CYBELECTL" job render demo.yaml
        env "$@" "$CYBELECTL" exec app.sif true
        env "$@" "$CYBELECTL" key new "$RANDOM$RANDOM.pem" >/dev/null
        env "$@" "$CYBELECTL" verify app.sif
    } 2>&1
    local name unset
    unset CYBELE_CACHE_DIR CYBELE_CONFIG_DIR CYBELE_STATE_DIR CYBELE_STORE CYBELE_TMPDIR
    unset=$(all -u CYBELE_PASSPHRASE) || true
    grep -rhoE '"CYBELE_[A-Z_]+"' "$repo"/{bridge,builder,cli,diagnostics,libexec,pipeline,registry,runtime,schedulers,submission,support} |
        tr -d '"' | sort -u >names
    [ "$(wc -l <names)" -gt 25 ]
    while read -r name; do
        run all "$name="
        assert_equal "$name $output" "$name $unset"
    done <names
}

@test "an option whose value is empty is an error where less would be demanded without it" {
    "$CYBELECTL" key new k.pem -q
    "$CYBELECTL" sign app.sif --key k.pem
    for words in 'build a.def -o x.sif --sign-key' 'build a.def -o x.sif --ca-file' 'build a.def -o x.sif --authfile' \
        'image pull oras://127.0.0.1:1/a:1 --verify' 'image pull oras://127.0.0.1:1/a:1 --ca-file' 'image copy app.sif x.sif --verify' \
        'verify app.sif --key k.pub -g' 'verify app.sif --key k.pub -i' 'verify app.sif --key k.pub --crl' 'sign app.sif --key k.pem -g' \
        'sign app.sif --key k.pem --timestamp-url'; do
        # shellcheck disable=SC2086
        refuses 2 "$CYBELECTL" $words ''
        assert_output --partial 'its value is empty'
    done
    refuses 2 "$CYBELECTL" verify app.sif --key k.pub -g one
    assert_line "error: --group-id requires a number from 0 to 4294967295, not 'one'"
    assert_not_exist x.sif
}

@test "image copy verifies what --verify names, and refuses where it cannot" {
    "$CYBELECTL" key new k.pem -q
    "$CYBELECTL" key new other.pem -q
    new_image signed.sif two
    "$CYBELECTL" sign signed.sif --key k.pem
    image add app.sif plain
    for words in 'app.sif x.sif' 'store:plain x.sif' 'app.sif store:x' 'store:plain store:x'; do
        # shellcheck disable=SC2086
        refuses 4 image copy $words --verify k.pub
        assert_output --partial 'the image is not signed'
    done
    refuses 4 image copy signed.sif x.sif --verify other.pub
    assert_not_exist x.sif
    refuses 3 image path x
    image copy signed.sif x.sif --verify k.pub
    image copy signed.sif store:x --verify k.pub
    cmp x.sif signed.sif
    for words in 'signed.sif oras://127.0.0.1:1/a:1' 'oras://127.0.0.1:1/a:1 oras://127.0.0.1:1/b:1'; do
        # shellcheck disable=SC2086
        refuses 2 image copy $words --verify k.pub
        assert_line 'error: --verify is not for a copy into a registry'
    done
}

@test "image copy verifies the copy: who changes the source meanwhile changes nothing" {
    "$CYBELECTL" key new k.pem -q
    new_image signed.sif two
    "$CYBELECTL" sign signed.sif --key k.pem
    cp signed.sif good.sif
    exec {key}< <(
        until [[ -e changed ]]; do sleep 0.05; done
        cat k.pub
    )
    "$CYBELECTL" image copy signed.sif x.sif --verify "/dev/fd/$key" &
    until grep -q pipe "/proc/$!/wchan"; do sleep 0.05; done # it waits for the key
    mv app.sif signed.sif
    touch changed
    wait $!
    cmp x.sif good.sif
    exec {key}<&-
}

@test "a file with several keys is refused: only the first one would count" {
    "$CYBELECTL" key new a.pem -q
    "$CYBELECTL" key new b.pem -q
    cat a.pem b.pem >both.pem
    cat a.pub b.pub >both.pub
    "$CYBELECTL" sign app.sif --key b.pem
    refuses 3 "$CYBELECTL" sign app.sif --key both.pem
    assert_line 'error: both.pem holds several keys'
    refuses 3 "$CYBELECTL" verify app.sif --key both.pub
    assert_line 'help: put each key into a file of its own'
    refuses 3 "$CYBELECTL" key list both.pub
    cat b.pem b.pub >pair.pem # the private key is the one to sign with
    "$CYBELECTL" sign -F app.sif --key pair.pem
    openssl ecparam -name prime256v1 -genkey -out ec.pem # with its parameters
    "$CYBELECTL" sign -F app.sif --key ec.pem
}

@test "image diff does not call two things equal of which nothing was compared" {
    mkdir folder
    refuses 3 image diff app.sif folder
    assert_line 'error: app.sif and folder have nothing that can be compared'
    image diff folder folder
    image diff app.sif app.sif
}

@test "two images of one name are not pushed to one reference; a login is no output, and its user has no colon" {
    mkdir two
    new_image two/app.sif two
    refuses 2 image push app.sif two/app.sif oras://127.0.0.1:1/group/
    assert_line 'error: app.sif and two/app.sif would both be oras://127.0.0.1:1/group/app:latest'
    export CYBELE_REGISTRY_PASSWORD=secret
    refuses 2 image login 127.0.0.1:1 -u a --authfile -
    assert_line 'error: a login is not written to standard output'
    refuses 2 image login 127.0.0.1:1 -u a:b
    assert_line "error: 'a:b' is not a valid user name"
    refuses 3 image push app.sif 'oras://127.0.0.1:1/a b:1'
    assert_line 'help: write oras://HOST/NAME:TAG'
    refuses 3 image push app.sif docker://127.0.0.1:1/a:1
    # shellcheck disable=SC2016
    assert_line 'help: write `oras://127.0.0.1:1/a:1`'
    refuses 3 image copy app.sif two --force
    assert_line 'help: name a file in it: two/app.sif'
}

@test "a pull that finds too little space leaves nothing, and a link that cannot be made names the copy" {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    serve registry docker-registry open "$place/r"
    head -c 300000 /dev/urandom >text
    "$CYBELECTL" sif add app.sif text --datatype 7
    image push app.sif "oras://127.0.0.1:$registry/a:1" --plain-http
    mkdir small
    "${as_root[@]}" mount -t tmpfs -o size=128k,mode=1777 tmpfs small
    refuses 5 image pull "oras://127.0.0.1:$registry/a:1" --plain-http --no-store -o small/x.sif
    assert_line 'help: free some space there, or name a file elsewhere: -o FILE'
    assert_equal "$(ls -A small)" ''
    CYBELE_STORE=$place/small/store refuses 5 image pull "oras://127.0.0.1:$registry/a:1" --plain-http
    assert_equal "$(ls -A small/store/tmp)" ''
    "$CYBELECTL" sif new small/y.sif
    refuses 5 image add small/y.sif y --link
    assert_line 'help: leave --link out for a copy'
    "${as_root[@]}" umount small
}

# root_with_overlay: root.sif with an ext3 overlay.
root_with_overlay() {
    local mke2fs
    mke2fs=$(PATH=$PATH:/sbin:/usr/sbin type -P mke2fs)
    root_image
    mkdir -p tree/upper tree/work
    "$mke2fs" -q -t ext3 -d tree overlay.img 4096
    "$CYBELECTL" sif add root.sif overlay.img --datatype 4 --parttype 4 --partfs 2 --partarch 2 --groupid 1
}

@test "a build on an image with an ext3 overlay says that it is left out" {
    root_with_overlay
    printf 'Bootstrap: localimage\nFrom: root.sif\n' >on.def
    run -0 "$CYBELECTL" build on.def
    assert_line --regexp 'warning: the overlay partition [0-9]+ of root.sif is left out'
}

@test "a start with --writable does not write to the overlay of an image in the store" {
    root_with_overlay
    image add root.sif root
    image copy store:root hard.sif --link
    ln -s "$(image path root)" symbolic.sif
    for name in store:root hard.sif symbolic.sif; do
        refuses 255 "$CYBELECTL" exec --writable "$name" /bin/busybox touch /new
        assert_line --partial 'an image in the store is never changed'
        "$CYBELECTL" exec "$name" /bin/busybox true
    done
    image verify
    cmp root.sif "$(image path root)"
}
