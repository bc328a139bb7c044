# SPDX-License-Identifier: Apache-2.0
# The attacks of attacks_*.bats in a second form, as somebody tries them who knows the first one and its defence: by another verb, kind
# of file, way or spelling. Needs root, to be two users. One minute.
load ../parts/suite.bash
load ../parts/serve.bash

victim=2101
attacker=2102

setup_file() {
    enter_place
    export place HOME=$place CYBELE_CACHE_DIR=$place/cache CYBELE_STORE=$place/store APPTAINER_KEYSDIR=$place/no-keys CYBELE_TMPDIR=$place
    local name
    for name in alice bob; do
        "$CYBELECTL" key new "$name.pem" >&2
    done
    for name in good evil; do
        echo "$name" >word
        printf '%s\n' 'Bootstrap: scratch' '%files' '/bin/busybox /bin/busybox' '/bin/busybox /bin/sh' '/bin/busybox /bin/cat' 'word /word' >"$name.def"
        "$CYBELECTL" -q build "$name.def" -o "$name.sif" >&2
    done
    "$CYBELECTL" sign good.sif --key alice.pem >&2
    root=$("$CYBELECTL" sif list good.sif --format json | jq '.objects[] | select(.type == "FS") | .id')
    "$CYBELECTL" sif dump "$root" evil.sif -o evil.squashfs
}
teardown_file() { leave_place; }
setup() {
    cd "$place" || return
    mkdir "$BATS_TEST_NUMBER"
    cd "$BATS_TEST_NUMBER" || return
    here=$PWD
    cp ../good.sif ../evil.sif ../evil.squashfs ../alice.* ../bob.* .
}
teardown() {
    touch "$place/$BATS_TEST_NUMBER/stop" # ends exchange()
    end_servers
}

# as_uid UID COMMAND…: as another user, with no group of this one.
as_uid() { setpriv --reuid "$1" --regid "$1" --clear-groups env HOME="$here/home-$1" "${@:2}"; }

# open_to FILE UID [default]: an access list by which another user may write, and the group of the file's mode may not.
open_to() {
    python3 - "$1" "$2" <<'END'
import os, struct, sys
entries = [(1, 7, 2**32 - 1), (2, 7, int(sys.argv[2])), (4, 0, 2**32 - 1), (16, 7, 2**32 - 1), (32, 0, 2**32 - 1)]
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
END
}

setting() { "$CYBELECTL" config show --format json | jq -r --arg name "$1" '.settings[] | select(.name == $name) | .value'; }

# exchange NAME: exchanges NAME, good.sif and evil.sif in turn, until the file `stop` is there.
exchange() {
    while [[ ! -e stop ]]; do
        for image in good evil; do
            cp "$image.sif" new && mv new "$1"
        done
    done 2>/dev/null
}

@test "C-F1: a journal next to a link, next to another name of the image, or of an overlay or a base: none of them decides" {
    "$parts_dir/forge" journal good.sif evil.squashfs own
    ln -s good.sif link.sif
    ln good.sif other.sif
    mv good.sif.journal other.sif.journal
    run -4 "$CYBELECTL" verify good.sif --key alice.pub
    refuses 3 "$CYBELECTL" verify other.sif --key alice.pub
    assert_output --partial 'cybelectl sif recover other.sif'
    mv other.sif.journal link.sif.journal
    run -4 "$CYBELECTL" verify link.sif --key alice.pub
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub link.sif cat /word
    mv link.sif.journal good.sif.journal
    refuses 255 "$CYBELECTL" exec link.sif cat /word
    refuses 255 "$CYBELECTL" exec --overlay good.sif:ro evil.sif cat /word
    assert_output --partial 'cybelectl sif recover'
    printf '%s\n' 'Bootstrap: localimage' 'From: link.sif' >base.def
    refuses 3 "$CYBELECTL" build base.def
    assert_output --partial 'cybelectl sif recover'
}

@test "C-F2: an access list, a foreign group, a link that is turned and a folder below: a settings file counts for nothing by them" {
    mkdir config project a b a/sub
    export CYBELE_CONFIG_DIR=$here/config
    printf 'mirror: http://evil.invalid\n' | tee project/.cybelectl.yaml b/.cybelectl.yaml >a/sub/.cybelectl.yaml
    "$CYBELECTL" config trust project
    cd project
    assert_equal "$(setting mirror)" http://evil.invalid
    open_to .cybelectl.yaml $attacker
    assert_equal "$(setting mirror)" ''
    rm .cybelectl.yaml
    printf 'mirror: http://evil.invalid\n' >.cybelectl.yaml
    open_to . $attacker
    assert_equal "$(setting mirror)" ''
    cd "$here"
    ln -s a link
    "$CYBELECTL" config trust link
    ln -sfn b link
    cd link
    assert_equal "$(setting mirror)" ''
    cd "$here/a/sub"
    assert_equal "$(setting mirror)" ''
    chgrp users ..
    chmod 775 ..
    printf 'mirror: http://evil.invalid\n' >../.cybelectl.yaml
    assert_equal "$(setting mirror)" ''
}

@test "C-F3: the output of a job of the local scheduler goes through no link and no second name of another user's making" {
    chmod 755 "$place" .
    mkdir -m 700 "home-$victim"
    mkdir -m 777 work
    chown $victim "home-$victim"
    install -D "$CYBELECTL" bin/cybelectl
    # shellcheck disable=SC2317
    victim_runs() { as_uid $victim env -u CYBELE_CONFIG_DIR CYBELE_STATE_DIR="$here/home-$victim/state" "$@"; }
    victim_runs sh -c 'umask 077; echo before >~/profile'
    cd work
    printf '%s\n' 'kind: Job' 'name: demo' 'script: echo evil' >demo.yaml
    as_uid $attacker ln -s "$here/home-$victim/profile" demo-1.out
    run -5 victim_runs "$here/bin/cybelectl" submit demo.yaml --scheduler local --wait
    assert_output --partial "demo-1.out"
    assert_output --partial "a link of user $attacker"
    assert_equal "$(cat "$here/home-$victim/profile")" before
    ln "$here/home-$victim/profile" demo-2.out # as in a folder where the kernel does not forbid it
    run -0 victim_runs "$here/bin/cybelectl" submit demo.yaml --scheduler local --wait
    assert_equal "$(cat "$here/home-$victim/profile")" before
    assert_equal "$(cat demo-2.out)" evil
    # The user's own link leads to where the user meant.
    victim_runs sh -c 'mkdir ~/far; ln -s ~/far/out demo-3.out'
    run -0 victim_runs "$here/bin/cybelectl" submit demo.yaml --scheduler local --wait
    assert_equal "$(cat "$here/home-$victim/far/out")" evil
}

@test "C-F4: a second name of a secret gives neither its bytes to others nor those of a result to it" {
    chmod 755 "$place" .
    mkdir -m 700 "home-$victim"
    mkdir -m 777 work
    chown $victim "home-$victim"
    install -D "$CYBELECTL" bin/cybelectl
    # shellcheck disable=SC2317
    victim_runs() { as_uid $victim env -u CYBELE_CONFIG_DIR CYBELE_STATE_DIR="$here/home-$victim/state" "$@"; }
    victim_runs sh -c 'umask 077; echo secret >~/key; echo before >~/profile'
    cd work
    printf '%s\n' 'kind: Job' 'name: demo' 'script: |' '  mkdir -p tiles; echo 1 >tiles/a.csv' 'output: {results: ["tiles/*.csv"]}' >demo.yaml
    id=$(victim_runs "$here/bin/cybelectl" submit demo.yaml --scheduler local)
    victim_runs "$here/bin/cybelectl" job wait "$id" --quiet
    for name in tiles/a.csv.part tiles/a.csv "demo-$id.job.json.part" "demo-$id.job.sh.part"; do
        rm -rf results
        as_uid $attacker sh -c 'mkdir -m 777 results results/tiles; chmod 777 results/tiles'
        ln "$here/home-$victim/profile" "results/$name"
        run -0 victim_runs "$here/bin/cybelectl" job collect "$id"
        assert_equal "$(cat "$here/home-$victim/profile")" before
    done
    rm -rf results
    ln "$here/home-$victim/key" tiles/b.csv
    run -0 victim_runs "$here/bin/cybelectl" job collect "$id"
    assert_equal "$(stat -c %a results/tiles/a.csv results/tiles/b.csv | tr '\n' ' ')" '644 600 '
    run ! as_uid $attacker cat results/tiles/b.csv
}

@test "C-F5: neither a login nor a token goes along with a redirect, also where a base is asked for or an image is pushed" {
    serve other hostile-registry "$here/other.log"
    serve registry hostile-registry "$here/log" "127.0.0.1:$other/v2/asks/blob"
    jq -n --arg host "127.0.0.1:$registry" --arg auth "$(printf 'alice:open sesame' | base64)" '{auths: {($host): {auth: $auth}}}' >logins.json
    for agent in docker oras; do
        printf '%s\n' "Bootstrap: $agent" "From: 127.0.0.1:$registry/sends:1" >"$agent.def"
        run "$CYBELECTL" build "$agent.def" --plain-http --authfile logins.json
        assert_failure
    done
    run "$CYBELECTL" exec "oras://127.0.0.1:$registry/sends:1" true
    assert_failure
    assert_file_exist log
    run ! grep -q 'sesame' other.log
    # The token that one server gave, to the one that it sends to.
    rm -f log other.log
    run "$CYBELECTL" image pull "oras://127.0.0.1:$registry/gives:1" --plain-http --authfile logins.json
    assert_failure
    grep -q 'Bearer good' log
    grep -q 'GET /v2/asks/blob - ' other.log
}

@test "C-F7, C-F12: one key in two encodings is one signer, by files, a Policy, a start and in a job" {
    openssl ecparam -name prime256v1 -genkey -noout -out carol.pem 2>/dev/null
    openssl ec -in carol.pem -pubout -out carol.pub 2>/dev/null
    openssl ec -in carol.pem -pubout -conv_form compressed -out short.pub 2>/dev/null
    openssl ec -in carol.pem -pubout -param_enc explicit -out long.pub 2>/dev/null
    {
        echo 'a key'
        cat carol.pub
    } >words.pub
    ln -s carol.pub link.pub
    "$CYBELECTL" sign evil.sif --key carol.pem
    local other
    for other in short long link words; do
        run "$CYBELECTL" verify evil.sif --key carol.pub --key "$other.pub" --require 2
        assert_failure
        refute_output --partial 'verified evil.sif'
        run "$CYBELECTL" exec --verify-key carol.pub --verify-key "$other.pub" --require 2 evil.sif cat /word
        assert_failure
        refute_line evil
    done
    printf 'kind: Policy\nrequire: 2\nkeys: [carol.pub, short.pub]\n' >policy.yaml
    run "$CYBELECTL" verify evil.sif --policy policy.yaml
    assert_failure
    printf 'kind: Site\nname: here\nscheduler: local\nruntime: apptainer\n' >site.yaml
    printf '%s\n' 'kind: Job' 'name: app' 'image: evil.sif' 'command: [cat, /word]' 'verify: {keys: [carol.pub, short.pub], require: 2}' >job.yaml
    mkdir bin
    ln -s "$CYBELECTL" bin/apptainer # the script itself counts the keys, without cybelectl
    "$CYBELECTL" job render job.yaml --scheduler local --site site.yaml -o job.sh
    run env PATH="$here/bin:/usr/bin:/bin" CYBELE_SUBMIT_DIR="$here" bash job.sh
    assert_failure
    refute_line evil
}

@test "C-F8: a hostile %test and %appinstall change no more than a hostile %post" {
    cc -static -O1 -o hostile "$repo/tests/parts/hostile-step.c"
    local segment listener name=cybele-again-$$
    segment=$(ipcmk -M 4096 | grep -o '[0-9]*$')
    ./hostile listen "$name" >listening &
    listener=$!
    until [[ -s listening ]]; do sleep 0.05; done
    echo outside >marker
    printf '%s\n' 'Bootstrap: localimage' 'From: good.sif' '%files' 'hostile /hostile' '%appinstall one' "/hostile $segment $name $here/marker >/report" \
        '%test' "/hostile $segment $name $here/marker >/dev/shm/report" 'echo "seen $(/bin/busybox grep -c refused /dev/shm/report)"; /bin/busybox cat /dev/shm/report' >hostile.def
    run "$CYBELECTL" -v build hostile.def
    assert_success
    printf '%s\n' "$output" >test-report
    assert_equal "$(cat marker)" outside
    assert ipcs -m -i "$segment"
    ipcrm -m "$segment"
    kill "$listener"
    "$CYBELECTL" exec hostile.sif cat /report >report
    # Abstract sockets of others are out of reach where the kernel has Landlock with scopes: ABI 6.
    if (($(./hostile landlock) < 6)); then
        sed -i '/^abstract socket of the host\tDONE$/d' report test-report
    fi
    run grep -h DONE report test-report
    assert_output ''
    assert [ "$(grep -c refused report)" -ge 80 ]
    assert [ "$(sed -n 's/^.*seen //p' test-report)" -ge 80 ]
}

@test "C-F8: links in a base in the place of /dev, /proc, /sys, /tmp and /etc lead no step out of it" {
    mkdir -p base/bin outside
    cp /bin/busybox base/bin/busybox
    cp /bin/busybox base/bin/sh
    local name
    for name in dev proc sys tmp etc run; do ln -s "$here/outside" base/$name; done
    printf '%s\n' 'Bootstrap: localimage' 'From: base' '%post' 'echo x >/tmp/x; /bin/busybox mkdir -p /dev/made /etc/made; true' >links.def
    run "$CYBELECTL" build links.def
    assert_equal "$(ls outside)" ''
    run "$CYBELECTL" exec base /bin/busybox true
    assert_equal "$(ls outside)" ''
}

@test "C-F9, D-F2: a base that is exchanged all the time: what is built from a verified one is what was verified" {
    local i built=0
    cp good.sif base.sif
    exchange base.sif &
    for ((i = 0; i < 12; i++)); do
        printf '%s\n' 'kind: Recipe' "name: app$i" 'base: {image: base.sif, key: alice.pub}' >"app$i.yaml"
        if "$CYBELECTL" -q build "app$i.yaml" --no-cache 2>/dev/null; then
            assert_equal "$("$CYBELECTL" exec "app$i.sif" cat /word)" good
            built=$((built + 1))
        fi
    done
    touch stop
    wait $!
    echo "$built of 12 built"
    assert [ "$built" -ge 1 ]
    # The same where others can write to the file itself: a private copy is verified and unpacked.
    cp good.sif base.sif
    chmod 666 base.sif
    run -0 "$CYBELECTL" -q build app0.yaml --force
    assert_equal "$("$CYBELECTL" exec app0.sif cat /word)" good
    assert_equal "$(find "$place" -maxdepth 1 -name 'cybelectl-base*')" ''
}

@test "C-F9: an image of the store whose name is moved all the time: what is verified is what runs" {
    "$CYBELECTL" image add good.sif app:1
    "$CYBELECTL" image add good.sif good:1
    "$CYBELECTL" image add evil.sif evil:1
    local i started=0
    while [[ ! -e stop ]]; do
        "$CYBELECTL" image tag evil:1 app:1 --force
        "$CYBELECTL" image tag good:1 app:1
    done &
    for ((i = 0; i < 32; i++)); do
        run "$CYBELECTL" exec --verify-key alice.pub store:app:1 cat /word
        refute_line evil
        [[ $status != 0 ]] || started=$((started + 1))
    done
    touch stop
    wait $!
    echo "$started of 32 started"
    assert [ "$started" -ge 1 ]
}

@test "C-F9: a store whose files are exchanged all the time: what is verified is what runs, and nothing else is handed out" {
    export CYBELE_STORE=$here/store
    "$CYBELECTL" image add good.sif app:1
    local blob i started=0
    blob=$(find "$CYBELE_STORE" -type f -size +500k | head -1)
    exchange "$blob" &
    for ((i = 0; i < 16; i++)); do
        for demand in '--verify-key alice.pub' ''; do
            # shellcheck disable=SC2086
            run "$CYBELECTL" exec $demand store:app:1 cat /word
            if [[ -n $demand ]]; then
                refute_line evil
            fi
            [[ $status != 0 ]] || started=$((started + 1))
        done
    done
    touch stop
    wait $!
    # At rest, what is not what its digest says is not used at all.
    cp evil.sif new && mv new "$blob"
    refuses 255 "$CYBELECTL" exec store:app:1 cat /word
    assert_output --partial 'damaged'
}

@test "C-F10: an old signature covers no root that was added and made the primary one" {
    local data=$repo/tests/unit/images/data id
    cp "$data/one-group-signed-legacy.sif" old.sif
    cp "$data/pgp-public.bin" ring
    run -0 "$CYBELECTL" verify old.sif --pgp-keyring ring --legacy-insecure
    "$CYBELECTL" sif add old.sif evil.squashfs --datatype 4 --partfs 1 --parttype 1 --partarch 2 --groupid 1
    id=$("$CYBELECTL" sif list old.sif --format json | jq '[.objects[].id] | max')
    "$CYBELECTL" sif setprim "$id" old.sif
    refuses 4 "$CYBELECTL" verify old.sif --pgp-keyring ring --legacy-insecure
    assert_output --partial "object $id of group 1 is not signed"
}

@test "C-F11: a cache by a link of another user, with files of another user, or open by an access list" {
    echo text >data
    printf 'Bootstrap: scratch\n%%files\n  data /data\n' >a.def
    export CYBELE_CACHE_DIR=$here/own
    mkdir -m 700 real
    ln -s real own
    chown -h $attacker own
    refuses 5 "$CYBELECTL" build a.def -o a.sif
    assert_output --partial "belongs to user $attacker"
    rm own
    mkdir -m 700 own
    open_to own $attacker
    refuses 5 "$CYBELECTL" build a.def -o a.sif
    rmdir own
    mkdir -m 700 own
    "$CYBELECTL" -q build a.def -o a.sif
    # What another user owns in it is not used: a step's result exchanged for one of his.
    find own -name '*.squashfs' -exec sh -c 'cp "$1" "$1.new" && mv "$1.new" "$1"' sh {} \;
    find own -mindepth 1 -exec chown $attacker {} +
    echo other >data
    run "$CYBELECTL" -v build a.def -o b.sif
    refute_output --partial 'reused'
    for name in tmp state; do
        mkdir $name
        open_to $name $attacker
    done
    CYBELE_CACHE_DIR=$place/cache CYBELE_TMPDIR=$here/tmp refuses 5 "$CYBELECTL" build a.def -o c.sif --no-cache
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    CYBELE_STATE_DIR=$here/state refuses 5 "$CYBELECTL" submit j.yaml --scheduler local
}

@test "small: a journal of jobs that is cut, of zeros, of another version or open to others is refused, and nothing in it lost" {
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    export CYBELE_STATE_DIR=$here/state
    "$CYBELECTL" submit j.yaml --scheduler local --wait
    cp state/jobs.sqlite good.sqlite
    local how
    for how in 'head -c 4096 /dev/zero' 'head -c 3000 good.sqlite' 'head -c 8192 good.sqlite' 'cat evil.sif'; do
        $how >state/jobs.sqlite
        cp state/jobs.sqlite before
        refuses 5 "$CYBELECTL" job list
        refuses 5 "$CYBELECTL" submit j.yaml --scheduler local
        cmp before state/jobs.sqlite
    done
    cp good.sqlite state/jobs.sqlite
    open_to state/jobs.sqlite $attacker
    refuses 5 "$CYBELECTL" job list
    assert_output --partial 'can write'
    rm state/jobs.sqlite
    cp good.sqlite state/jobs.sqlite
    sql state/jobs.sqlite 'PRAGMA user_version = 999'
    run "$CYBELECTL" job list
    assert_failure
    assert_output --partial 'of version 999'
}

@test "small: control characters of a certificate, of file names, of a definition and of documents reach no terminal" {
    local escape=$'\e]0;evil\a' verb
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout c.key -out c.pem -days 3 -subj "/CN=a${escape}b" \
        -addext extendedKeyUsage=codeSigning 2>/dev/null
    "$CYBELECTL" sign evil.sif --key c.key --certificate c.pem
    mkdir -p tree/bin
    cp /bin/busybox tree/bin/sh
    touch "tree/$escape"
    printf '%s\n' 'Bootstrap: localimage' 'From: tree' '%labels' " a$escape b$escape" '%help' " $escape" >t.def
    printf 'Bootstrap: scratch\n%s: x\n' "$escape" >bad.def
    printf 'kind: Recipe\nname: "\\e]0;evil"\n' >recipe.yaml
    printf 'kind: Job\nname: j\nimage: "\\e]0;x"\ncommand: ["\\e]0;x"]\n' >job.yaml
    "$CYBELECTL" -q build t.def
    for verb in 'verify evil.sif --certificate-roots c.pem' 'inspect t.sif' 'inspect --files t.sif' 'inspect -l t.sif' 'inspect -H t.sif' \
        'image diff t.sif evil.sif' 'def check bad.def' 'build bad.def' 'recipe check recipe.yaml' 'job check job.yaml' 'submit job.yaml --scheduler local'; do
        # shellcheck disable=SC2086
        run "$CYBELECTL" $verb
        [[ $output != *$'\e'* && $output != *$'\a'* ]]
    done
}

@test "A-D1: what a link leads to, what an ignore file leaves out and what a name of the store stands for make an image stale" {
    "$CYBELECTL" image add good.sif base:1
    mkdir src real
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: "store:base:1"}' 'files: [{from: src, to: /opt/src}]' >app.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'image: {recipe: app.yaml}' 'command: [cat, /opt/src/x]' >j.yaml
    echo 1 >real/x
    echo 1 >src/other
    ln -s ../real/x src/x
    "$CYBELECTL" -q build app.yaml
    run -0 "$CYBELECTL" submit j.yaml --scheduler local --no-build --wait
    echo 2 >real/x
    refuses 3 "$CYBELECTL" submit j.yaml --scheduler local --no-build
    assert_output --partial 'src/x changed'
    echo 1 >real/x
    printf 'src/other\n' >.dockerignore
    refuses 3 "$CYBELECTL" submit j.yaml --scheduler local --no-build
    assert_output --partial 'src/other is gone'
    rm .dockerignore
    "$CYBELECTL" image add evil.sif base:1 --force
    refuses 3 "$CYBELECTL" submit j.yaml --scheduler local --no-build
    assert_output --partial 'store:base:1 changed'
}

@test "A-D3: an image by any name, a key without armour or after other text, and a token of a service come into no image" {
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: ../good.sif}' 'files: [{from: files, to: /files}]' >app.yaml
    mkdir -p files/sub/.ssh
    cp evil.sif files/app.img
    cp evil.sif files/sub/noname
    echo text >files/text
    run -0 "$CYBELECTL" -v build app.yaml
    assert_output --partial 'app.img (an image)'
    assert_output --partial 'sub/noname (an image)'
    openssl genpkey -algorithm ed25519 -outform DER -out files/key 2>/dev/null
    openssl genpkey -algorithm RSA -outform DER -out files/rsa.der 2>/dev/null
    { head -c 9000 /dev/zero | tr '\0' x && echo && cat alice.pem; } >files/chain.txt
    ln alice.pem files/sub/hard
    echo anything >files/sub/.ssh/id_ed25519
    printf 'aws_secret_access_key = %040d\n' 1 >files/credentials
    printf 'xoxb-%030d\n' 1 >files/chat
    refuses 3 "$CYBELECTL" build app.yaml --force
    for name in key rsa.der chain.txt sub/hard sub/.ssh/id_ed25519; do
        assert_output --partial "$name (a private key)"
    done
    assert_output --partial 'chat (a token)'
    assert_output --partial 'credentials (a token)'
}

@test "A-D3: a file that changes between the listing and the copy is not copied as if it had been listed" {
    printf '%s\n' 'Bootstrap: localimage' 'From: good.sif' 'Stage: first' '%post' 'echo begun; /bin/busybox sleep 2' \
        'Bootstrap: localimage' 'From: good.sif' 'Stage: last' '%files from first' '/word /word2' '%files' 'files /files' >app.def
    mkdir files
    echo listed >files/a
    "$CYBELECTL" -v build app.def >said 2>&1 &
    wait_for 60 grep -q 'echo begun' said
    echo changed >files/a
    echo secret >files/.env
    wait $! && false
    assert_file_not_exists app.sif
    grep -q 'files/a changed while the image was built' said
    # The cache knows nothing by the digest of one content that has another.
    echo listed >files/a
    rm -f files/.env
    "$CYBELECTL" -q build app.def
    assert_equal "$("$CYBELECTL" exec app.sif cat /files/a)" listed
    run "$CYBELECTL" exec app.sif cat /files/.env
    assert_failure
}

@test "A-D11: no verb puts an unsigned image in the place of a signed one, by a link, another name or in the store" {
    cp good.sif signed.sif
    ln -s signed.sif link.sif
    ln signed.sif other.sif
    printf '%s\n' 'Bootstrap: localimage' 'From: evil.sif' >evil.def
    mkdir bin
    ln -s "$CYBELECTL" bin/apptainer
    local name
    for name in signed link other; do
        refuses 3 "$CYBELECTL" build evil.def -o "$name.sif"
        assert_output --partial 'is signed, and this build does not sign'
    done
    run bin/apptainer build signed.sif evil.def </dev/null
    assert_equal "$status" 255
    "$CYBELECTL" image add evil.sif evil:1
    refuses 3 "$CYBELECTL" image copy store:evil:1 signed.sif
    refuses 3 "$CYBELECTL" sif new signed.sif
    cmp good.sif signed.sif
    # A name of the store.
    "$CYBELECTL" image add good.sif app:1
    for words in 'add evil.sif app:1' 'tag evil:1 app:1' 'copy evil.sif store:app:1'; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" image $words
        assert_output --partial 'store:app:1 is signed, and this one is not'
        assert_output --partial -- '--force'
    done
    run -0 "$CYBELECTL" exec store:app:1 cat /word
    assert_output good
    "$CYBELECTL" sign evil.sif --key bob.pem
    run -0 "$CYBELECTL" image add evil.sif app:1 # signed by somebody: whom to believe is for --verify-key to say
    run -0 "$CYBELECTL" image tag evil:1 app:1 --force
}

@test "E-1: permissions hold in an overlay, in an image that is laid over another, and for a group" {
    mkdir modes modes/bin
    cp /bin/busybox modes/bin/sh
    cp good.sif evil.sif modes
    cd modes
    printf '%s\n' 'Bootstrap: localimage' 'From: good.sif' '%post' 'echo secret >/closed; /bin/busybox chmod 000 /closed' 'echo secret >/group; /bin/busybox chown 0:77 /group; /bin/busybox chmod 040 /group' >closed.def
    "$CYBELECTL" -q build closed.def
    # shellcheck disable=SC2016
    printf '%s\n' 'for image in "closed.sif" "--overlay closed.sif:ro evil.sif"; do "$1" exec $image sh -c "id -u; cat /closed; cat /group; true" 2>/dev/null; done' >look
    run -0 --separate-stderr as_user sh look "$CYBELECTL"
    assert_output $'1234\n1234'
}

@test "E-4: neither a home, a working folder nor a link of the image lets a start make anything on the host by itself" {
    mkdir home
    local name
    for name in home root opt; do
        printf '%s\n' 'Bootstrap: localimage' 'From: good.sif' '%post' "/bin/busybox rm -rf /$name; /bin/busybox mkdir -p /tmp; /bin/busybox ln -s /tmp /$name" >"$name.def"
        "$CYBELECTL" -q build "$name.def"
        refuses 255 "$CYBELECTL" exec -B "$here/home:/$name/cybelectl-again-$$" "$name.sif" /bin/busybox true
        assert_file_not_exists "/tmp/cybelectl-again-$$"
        HOME=/$name/cybelectl-again-$$ run "$CYBELECTL" exec "$name.sif" /bin/busybox true
        assert_file_not_exists "/tmp/cybelectl-again-$$"
        refuses 255 "$CYBELECTL" exec --pwd "/tmp/cybelectl-again-$$" "$name.sif" /bin/busybox true
        assert_file_not_exists "/tmp/cybelectl-again-$$"
    done
}

@test "E-2, D-F2: Fingerprints and Registry in other spellings, in a later stage and by an argument" {
    local header
    for header in 'FINGERPRINTS: ' 'fingerprints:' '  Fingerprints :'; do
        printf '%s\n' 'Bootstrap: localimage' 'From: good.sif' "$header$(printf 'A%.0s' {1..40})" >f.def
        run "$CYBELECTL" build f.def
        assert_failure
        assert_file_not_exists f.sif
    done
    printf '%s\n' 'Bootstrap: localimage' 'From: good.sif' 'Stage: one' '' 'Bootstrap: localimage' 'From: evil.sif' 'Stage: two' \
        'Fingerprints: {{ keys }}' >f.def
    refuses 4 "$CYBELECTL" build f.def --build-arg "keys=$(printf 'A%.0s' {1..40})"
    for header in 'Registry: http://127.0.0.1:1' 'Registry: user:word@127.0.0.1:1' 'Registry: 127.0.0.1:1/evil' 'Namespace: ../evil'; do
        printf '%s\n' 'Bootstrap: docker' 'From: app:1' "$header" >r.def
        run timeout 60 "$CYBELECTL" build r.def --plain-http
        assert_failure
        refute_output --partial 'docker.io'
        refute_output --partial 'a fault of cybelectl'
    done
}
