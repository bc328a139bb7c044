# SPDX-License-Identifier: Apache-2.0
# Attacks on what is believed of an image: each is made as an attacker would, without a private key.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    enter_place
    export place HOME=$place CYBELE_CACHE_DIR=$place/cache CYBELE_STORE=$place/store APPTAINER_KEYSDIR=$place/no-keys
    chmod 755 "$place"
    local name
    for name in alice bob; do
        "$CYBELECTL" key new "$name.pem" >&2
    done
    for name in good evil; do
        echo "$name" >word
        printf '%s\n' 'Bootstrap: scratch' '%files' '/bin/busybox /bin/sh' '/bin/busybox /bin/cat' 'word /word' >"$name.def"
        "$CYBELECTL" -q build "$name.def" -o "$name.sif" >&2
    done
    "$CYBELECTL" sign good.sif --key alice.pem >&2
    root=$("$CYBELECTL" sif list good.sif --format json | jq '.objects[] | select(.type == "FS") | .id')
    "$CYBELECTL" sif dump "$root" evil.sif -o evil.squashfs
    export root
}
teardown_file() { leave_place; }
setup() {
    cd "$place" || return
    mkdir "$BATS_TEST_NUMBER"
    cd "$BATS_TEST_NUMBER" || return
    cp ../good.sif ../evil.sif ../evil.squashfs ../*.pub ../*.pem .
}

# A failed assertion must not leave exchange() behind.
teardown() {
    touch "$place/$BATS_TEST_NUMBER/stop"
    end_servers
}

# add_signature CHANGE…: the signature of good.sif once more, changed by tests/parts/forge.
add_signature() {
    local id
    id=$("$CYBELECTL" sif list good.sif --format json | jq '[.objects[] | select(.type == "Signature") | .id][0]')
    "$CYBELECTL" sif dump "$id" good.sif | "$parts_dir/forge" envelope "$@" >changed
    "$CYBELECTL" sif add good.sif changed --datatype 5 --signhash 1 --signentity "$(printf '%040d' 0)" --linkgroup 1
}

# --- A journal next to an image

@test "a forged journal of a copied image changes nothing: verify and exec see the bytes on the disk" {
    "$parts_dir/forge" journal good.sif evil.squashfs other
    run -4 "$CYBELECTL" verify good.sif --key alice.pub
    assert_line --partial 'was changed after signing'
    run -0 "$CYBELECTL" exec good.sif cat /word # not asked to verify
    assert_output evil
    run -255 "$CYBELECTL" exec --verify-key alice.pub good.sif cat /word
    run -0 "$CYBELECTL" inspect --files good.sif
    run -0 "$CYBELECTL" sif list good.sif
    # A change does not follow the journal either.
    cp good.sif before
    run "$CYBELECTL" sign good.sif --key bob.pem
    assert_success
    run -4 "$CYBELECTL" verify good.sif --key alice.pub
}

@test "a forged journal that names the image makes readers refuse it, with the command that helps" {
    "$parts_dir/forge" journal good.sif evil.squashfs own
    local verb
    for verb in 'verify good.sif --key alice.pub' 'inspect good.sif' 'sif list good.sif' 'sif header good.sif' \
        "sif dump $root good.sif" 'image add good.sif app:1' 'image copy good.sif copy.sif'; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb
        assert_output --partial 'a change of good.sif was interrupted'
        assert_output --partial 'cybelectl sif recover good.sif'
    done
    refuses 255 "$CYBELECTL" exec good.sif cat /word
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub good.sif cat /word
    refuses 3 "$CYBELECTL" image push good.sif oras://127.0.0.1:9/app:1
    assert_output --partial 'cybelectl sif recover good.sif'
    run -0 "$CYBELECTL" sif recover good.sif
    assert_output 'good.sif: the interrupted change was finished'
    assert_file_not_exists good.sif.journal
    run -0 "$CYBELECTL" verify good.sif --key alice.pub
    run -0 "$CYBELECTL" exec good.sif cat /word
    assert_output good
}

@test "after a kill at any moment of a change the image is read, or refused until sif recover" {
    local delay seen='' refused=0
    for delay in 0.002 0.004 0.006 0.008 0.010 0.012 0.014 0.016 0.020; do
        timeout -s KILL "$delay" "$CYBELECTL" sif add good.sif evil.squashfs --datatype 7 || true
        run "$CYBELECTL" sif list good.sif
        if [[ $status != 0 ]]; then
            refused=$((refused + 1))
            assert_equal "$status" 3
            assert_output --partial 'cybelectl sif recover good.sif'
            run -0 "$CYBELECTL" sif recover good.sif --format json
            seen+=$(jq -r .change <<<"$output")
        fi
        "$CYBELECTL" sif list good.sif >/dev/null
        # Of a kill while the journal was written its first part stays, which no reader believes.
        "$CYBELECTL" sif recover good.sif >/dev/null
        assert_file_not_exists good.sif.journal
    done
    echo "refused $refused times: $seen"
}

@test "a forged journal neither makes the image longer nor writes zeros after its end" {
    local what
    for what in zeros length overflow; do
        cp ../good.sif image.sif
        "$parts_dir/forge" stretch image.sif $what
        run -0 "$CYBELECTL" sif recover image.sif
        assert_equal "$what $(stat -c %s image.sif)" "$what $(stat -c %s ../good.sif)"
        run -0 "$CYBELECTL" verify image.sif --key alice.pub
        "$parts_dir/forge" stretch image.sif $what
        "$CYBELECTL" sign image.sif --key bob.pem
        assert [ "$(stat -c %s image.sif)" -lt 10000000 ]
    done
}

# --- Between the verification and the start

# exchange KIND: exchanges app.sif, good and evil in turn, until the file `stop` is there.
exchange() {
    while [[ ! -e stop ]]; do
        for image in good evil; do
            case $1 in
                rename) cp "$image.sif" new && mv new app.sif ;;
                rewrite) cat "$image.sif" >app.sif ;;
                link) ln -sfn "$image.sif" app.sif ;;
            esac
        done
    done 2>/dev/null
}

@test "of 32 starts of an image that is exchanged all the time none runs what is not signed" {
    local kind i started=0
    for kind in rename rewrite link; do
        rm -f app.sif stop
        cp good.sif app.sif
        exchange "$kind" &
        for ((i = 0; i < 32; i++)); do
            run "$CYBELECTL" exec --verify-key alice.pub app.sif cat /word
            refute_line evil
            case $status in
                0) assert_output good && started=$((started + 1)) ;;
                *) assert_equal "$kind $status" "$kind 255" ;;
            esac
        done
        touch stop
        wait $!
    done
    echo "$started of 96 started"
    assert [ "$started" -ge 8 ]
}

@test "exec, run and shell start what is signed, by keys or a Policy, and nothing else" {
    run -0 "$CYBELECTL" exec --verify-key alice.pub good.sif cat /word
    assert_output good
    run -0 "$CYBELECTL" exec --verify-key bob.pub --verify-key alice.pub good.sif cat /word
    refuses 255 "$CYBELECTL" exec --verify-key bob.pub good.sif cat /word
    assert_output --partial 'is not verified'
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub evil.sif cat /word
    assert_output --partial 'the image is not signed'
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub --verify-key bob.pub --require all good.sif cat /word
    assert_output --partial 'the signature of bob.pub is missing'
    refuses 255 "$CYBELECTL" exec --require all good.sif cat /word
    assert_output --partial '--require without signers'
    printf 'kind: Policy\nkeys: [alice.pub]\n' >policy.yaml
    run -0 "$CYBELECTL" exec --policy policy.yaml good.sif cat /word
    run -0 "$CYBELECTL" run --policy=policy.yaml good.sif
    run -0 bash -c 'echo cat /word | "$CYBELECTL" shell --policy policy.yaml good.sif'
    assert_output --partial good
    refuses 255 "$CYBELECTL" exec --policy policy.yaml evil.sif cat /word
    refuses 255 "$CYBELECTL" exec --verify-key none.pub good.sif cat /word
    # Only a SIF carries signatures.
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub evil.squashfs cat /word
    mkdir folder
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub folder cat /word
    assert_output --partial 'it is a directory, and only a SIF carries signatures'
}

@test "a demand whose value is empty, as of a variable that is not set, is refused and not dropped" {
    local option
    for option in --policy --require; do
        refuses 255 "$CYBELECTL" exec $option '' evil.sif cat /word
        assert_output --partial 'is empty'
        refuses 255 "$CYBELECTL" exec --verify-key alice.pub $option '' good.sif cat /word
        refuses 2 "$CYBELECTL" verify good.sif --key alice.pub $option ''
    done
    refuses 255 "$CYBELECTL" exec --verify-key '' good.sif cat /word
}

@test "a pipe in the place of an image is refused, and not waited for" {
    mkfifo image.sif
    refuses 255 timeout 20 "$CYBELECTL" exec image.sif cat /word
    refuses 255 timeout 20 "$CYBELECTL" exec --verify-key alice.pub image.sif cat /word
}

@test "a pipe, a device or a folder in the place of a key or a policy is refused, and not waited for" {
    mkfifo pipe
    mkdir folder
    local file
    for file in pipe folder /dev/zero; do
        refuses 255 timeout 20 "$CYBELECTL" exec --verify-key $file good.sif cat /word
        refuses 255 timeout 20 "$CYBELECTL" exec --policy $file good.sif cat /word
        refuses 3 timeout 20 "$CYBELECTL" verify good.sif --key $file
        refuses 3 timeout 20 "$CYBELECTL" verify good.sif --policy $file
        refuses 3 timeout 20 "$CYBELECTL" sign evil.sif --key $file
        refuses 3 timeout 20 "$CYBELECTL" def check $file
    done
}

@test "a key or a policy of a process substitution is read once, and counts" {
    run -0 "$CYBELECTL" exec --verify-key <(cat alice.pub) good.sif cat /word
    run -0 "$CYBELECTL" verify good.sif --key <(cat alice.pub)
    run -0 "$CYBELECTL" verify good.sif --key /dev/stdin <alice.pub
    run -0 bash -c "cat alice.pub | '$CYBELECTL' exec --verify-key /dev/stdin good.sif cat /word"
    refuses 255 "$CYBELECTL" exec --verify-key <("$CYBELECTL" key new other.pem >&2 && cat other.pub) good.sif cat /word
    run -0 "$CYBELECTL" exec --policy <(printf 'kind: Policy\nkeys: [%s/alice.pub]\n' "$PWD") good.sif cat /word
    cp evil.sif signed.sif
    run -0 "$CYBELECTL" sign signed.sif --key <(cat alice.pem)
    run -0 "$CYBELECTL" verify signed.sif --key alice.pub
}

@test "a huge sparse file is refused by its table, and of a signed one only what the table names is copied" {
    mkdir tmp
    cp evil.sif huge.sif
    cp good.sif signed.sif
    truncate -s 1T huge.sif signed.sif
    chmod 666 huge.sif signed.sif # others can write: verified is a private copy
    TMPDIR=$PWD/tmp refuses 255 timeout 30 "$CYBELECTL" exec --verify-key alice.pub huge.sif cat /word
    assert_output --partial 'is not verified'
    TMPDIR=$PWD/tmp run -0 timeout 60 "$CYBELECTL" exec --verify-key alice.pub signed.sif cat /word
}

@test "what is laid over a verified image is signed by the same, or refused" {
    mkdir over
    echo evil >over/word
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub --overlay over:ro good.sif cat /word
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub --overlay over good.sif cat /word
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub --overlay evil.squashfs good.sif cat /word
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub --overlay evil.sif good.sif cat /word
    "$CYBELECTL" sign evil.sif --key alice.pem
    run -0 "$CYBELECTL" exec --verify-key alice.pub --overlay evil.sif:ro good.sif cat /word
    assert_output evil # signed by alice
    # A partition that was added later is covered by no signature.
    "$CYBELECTL" sif add good.sif evil.squashfs --datatype 4 --partfs 1 --parttype 4 --partarch 2 --groupid 1
    run -0 "$CYBELECTL" exec good.sif cat /word
    assert_output evil
    refuses 255 "$CYBELECTL" exec --verify-key alice.pub good.sif cat /word
    refuses 4 "$CYBELECTL" verify good.sif --key alice.pub
}

@test "an image that others may write to is run from a private copy, or not at all" {
    chmod 666 good.sif
    run -0 "$CYBELECTL" exec --verify-key alice.pub good.sif cat /word
    assert_output good
    CYBELE_TMPDIR=/nonexistent TMPDIR=/nonexistent refuses 255 "$CYBELECTL" exec --verify-key alice.pub good.sif cat /word
    assert_output --partial 'others may write to the image'
}

@test "ranks that share a container share the demand too" {
    export CYBELE_JOB=attack-$$
    run -0 "$CYBELECTL" -v exec --join always --verify-key alice.pub good.sif cat /word
    assert_line good
    refuses 255 "$CYBELECTL" exec --join always --verify-key bob.pub good.sif cat /word
}

# --- Who counts as a signer

@test "a copy of a signature under a false key id is no second signer" {
    add_signature keyid SHA256:somebody-else
    run -0 "$CYBELECTL" verify good.sif --key alice.pub
    refuses 4 "$CYBELECTL" verify good.sif --key alice.pub --key bob.pub --require 2
    assert_output --partial '1 of 2 required signers signed it'
    cp alice.pub copy.pub
    openssl pkey -pubin -in alice.pub -pubout -outform DER | openssl pkey -pubin -inform DER -out again.pub
    refuses 2 "$CYBELECTL" verify good.sif --key alice.pub --key copy.pub --key again.pub --require 2
    printf 'kind: Policy\nrequire: 2\nkeys: [alice.pub, copy.pub, bob.pub]\n' >policy.yaml
    refuses 4 "$CYBELECTL" verify good.sif --policy policy.yaml
}

# authority NAME SUBJECT: a root certificate; leaf NAME AUTHORITY SUBJECT: one below it.
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" -days 30 -subj "$2" \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign 2>/dev/null
}
leaf() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "$3" 2>/dev/null
    printf '%s\n' keyUsage=critical,digitalSignature extendedKeyUsage=codeSigning >leaf.cnf
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 30 -extfile leaf.cnf -out "$1.pem" 2>/dev/null
}

@test "the ECDSA twin of a certificate is no second signer, and a false key id makes none of a key" {
    authority ca /CN=Lab
    leaf carol ca /CN=carol
    "$parts_dir/forge" twin carol.pem >twin.pem
    openssl verify -CAfile ca.pem twin.pem
    run ! cmp -s carol.pem twin.pem
    cp ../evil.sif good.sif
    "$CYBELECTL" sign good.sif --key carol.key --certificate carol.pem
    add_signature cert twin.pem
    run -0 "$CYBELECTL" verify good.sif --certificate-roots ca.pem
    assert_equal "$(grep -c ' valid ' <<<"$output")" 2
    refuses 4 "$CYBELECTL" verify good.sif --certificate-roots ca.pem --require 2
    assert_output --partial '1 of 2 required signers signed it'
    refuses 2 "$CYBELECTL" verify good.sif --certificate carol.pem --certificate twin.pem --certificate-roots ca.pem --require 2
    openssl pkey -in carol.key -pubout -out carol.pub
    add_signature keyid SHA256:somebody-else
    refuses 4 "$CYBELECTL" verify good.sif --key carol.pub --certificate-roots ca.pem --require 2
}

@test "two roots of one subject are two, for each of them somebody must have signed" {
    authority first /CN=Lab
    authority second /CN=Lab
    leaf carol first /CN=carol
    cp ../evil.sif good.sif
    "$CYBELECTL" sign good.sif --key carol.key --certificate carol.pem
    printf 'kind: Policy\nrequire: all\ncertificates: {roots: [first.pem]}\n' >one.yaml
    printf 'kind: Policy\nrequire: all\ncertificates: {roots: [first.pem, second.pem]}\n' >both.yaml
    run -0 "$CYBELECTL" verify good.sif --policy one.yaml
    refuses 4 "$CYBELECTL" verify good.sif --policy both.yaml
    assert_output --partial 'a signer certified by CN=Lab is missing'
    leaf dave second /CN=dave
    "$CYBELECTL" sign good.sif --key dave.key --certificate dave.pem
    run -0 "$CYBELECTL" verify good.sif --policy both.yaml
}

# --- Old signatures

@test "an old signature covers no overlay, and counts by the keys that a Policy names" {
    local data=$repo/tests/unit/images/data
    cp "$data/one-group-signed-legacy.sif" old.sif
    cp "$data/pgp-public.bin" ring
    run -0 "$CYBELECTL" verify old.sif --pgp-keyring ring --legacy-insecure
    "$CYBELECTL" sif add old.sif evil.squashfs --datatype 4 --partfs 1 --parttype 4 --partarch 2 --groupid 1
    refuses 4 "$CYBELECTL" verify old.sif --pgp-keyring ring --legacy-insecure
    cp "$data/one-group-signed-legacy.sif" old.sif
    printf 'kind: Policy\npgp: [12045C8C0B1004D058DE4BEDA20C27EE7FF7BA84]\n' >signer.yaml
    printf 'kind: Policy\npgp: [AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA]\n' >stranger.yaml
    printf 'kind: Policy\nkeys: [alice.pub]\n' >keys.yaml
    run -0 "$CYBELECTL" verify old.sif --pgp-keyring ring --legacy-insecure --policy signer.yaml
    refuses 4 "$CYBELECTL" verify old.sif --pgp-keyring ring --legacy-insecure --policy stranger.yaml
    assert_output --partial 'is none of those that count'
    mkdir keys
    cp ring keys/pgp-public
    APPTAINER_KEYSDIR=$PWD/keys refuses 4 "$CYBELECTL" verify old.sif --legacy-insecure --policy keys.yaml
}

# --- In a job

# job FIELDS…: runs job.yaml by the local dialect's script, as `bash` does; the runtime is found in ./bin.
job() {
    printf '%s\n' 'kind: Job' 'name: app' 'image: app.sif' 'command: [cat, /word]' "$@" >job.yaml
    "$CYBELECTL" job render job.yaml --scheduler local --site site.yaml -o job.sh >&2
    # A program of another name is another runtime: it verifies and starts, and knows no --verify-key.
    run --separate-stderr env PATH="$PWD/bin:/usr/bin:/bin" CYBELE_SUBMIT_DIR="$PWD" TMPDIR="$PWD/scratch" bash job.sh
}

use_runtime() {
    rm -rf bin scratch
    mkdir bin scratch
    ln -s "$CYBELECTL" "bin/$1"
    printf 'kind: Site\nname: here\nscheduler: local\nruntime: %s\n' "$1" >site.yaml
}

@test "a job's script starts what it verified: by our runtime, and from a private copy by another" {
    local name
    for name in cybelectl apptainer; do
        use_runtime "$name"
        cp good.sif app.sif
        job 'verify: {keys: [alice.pub]}'
        assert_equal "$name $status $output" "$name 0 good"
        cp evil.sif app.sif
        job 'verify: {keys: [alice.pub]}'
        assert_not_equal "$status" 0
        refute_output evil
        [[ $stderr == *'not verified'* ]]
        assert_equal "$(find scratch -mindepth 1)" '' # the copy is gone
    done
}

@test "a job's script counts keys, not files" {
    cp alice.pub copy.pub
    cp good.sif app.sif
    local name
    for name in cybelectl apptainer; do
        use_runtime "$name"
        job 'verify: {keys: [alice.pub, copy.pub], require: 2}'
        assert_not_equal "$name $status" "$name 0"
        refute_output good
        job 'verify: {keys: [alice.pub, bob.pub], require: 1}'
        assert_equal "$name $status $output" "$name 0 good"
        job 'verify: {keys: [alice.pub, bob.pub], require: all}'
        assert_not_equal "$name $status" "$name 0"
    done
}

@test "a job's script makes its private copy in no folder where another user can exchange it" {
    [[ $(id -u) == 0 ]] || skip 'needs root, to be two users'
    use_runtime apptainer
    cp good.sif app.sif
    chmod 1777 scratch
    job 'verify: {keys: [alice.pub]}'
    assert_equal "$status $output" '0 good'
    local how
    for how in 'chmod 777' 'chown 2102'; do
        rm -rf scratch
        mkdir scratch
        $how scratch
        # Whatever appears there is exchanged for a folder with the other image.
        (
            while [[ ! -e stop ]]; do
                for folder in scratch/.cybelectl-image.*; do
                    [[ -e $folder/app.sif ]] && mv "$folder" was && mkdir "$folder" && cp evil.sif "$folder/app.sif" && rm -rf was
                done
            done 2>/dev/null
        ) &
        local exchanger=$!
        job 'verify: {keys: [alice.pub]}'
        touch stop
        wait "$exchanger" || :
        rm stop
        assert_equal "$how $status $output" "$how 0 good" # in /tmp
        assert_equal "$(ls -A scratch)" ''
    done
}

@test "an image that is exchanged while a job's script runs is not started by another runtime" {
    use_runtime apptainer
    local start exchanger started=0 # `run --separate-stderr` changes i and $!
    cp good.sif app.sif
    job 'verify: {keys: [alice.pub]}'
    exchange rename &
    exchanger=$!
    for ((start = 0; start < 32; start++)); do
        run --separate-stderr env PATH="$PWD/bin:/usr/bin:/bin" CYBELE_SUBMIT_DIR="$PWD" TMPDIR="$PWD/scratch" bash job.sh
        refute_output evil
        [[ $status != 0 ]] || started=$((started + 1))
    done
    touch stop
    wait "$exchanger"
    assert [ "$started" -ge 1 ]
}

@test "an image of the web that is for one start is written where no other user can plant a link" {
    mkdir www scratch
    cp good.sif www/app.sif
    serve web folder-server www
    echo precious >victim
    # The name that a process of this number would choose.
    # shellcheck disable=SC2016
    run --separate-stderr env CYBELE_TMPDIR="$PWD/scratch" sh -c '
        ln -s "$PWD/victim" "scratch/cybelectl-pull-$$.sif" && exec "$0" "$@"
    ' "$CYBELECTL" exec --disable-cache "http://127.0.0.1:$web/app.sif" cat /word
    assert_equal "$status $output" '0 good'
    assert_equal "$(<victim)" precious
    assert_equal "$(find scratch ! -type l)" scratch
}

@test "an image of a web server that does not say which version it has is not taken from the store" {
    mkdir www
    cp good.sif www/app.sif
    serve web folder-server www no-head
    local name
    for name in good evil; do
        cp "$name.sif" www/app.sif
        run --separate-stderr "$CYBELECTL" exec "http://127.0.0.1:$web/app.sif" cat /word
        assert_equal "$status $output" "0 $name"
    done
    # One that says it is asked for the image once.
    serve telling folder-server www
    for name in 1 2; do
        run --separate-stderr "$CYBELECTL" exec "http://127.0.0.1:$telling/app.sif" cat /word
        assert_equal "$status $output" '0 evil'
    done
    assert_equal "$("$CYBELECTL" image list --format json | jq '.images | length')" 1
}

@test "a folder or another file in the place of a locked base is not built from" {
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: base.sif}' 'run: [/bin/sh]' >app.yaml
    cp good.sif base.sif
    "$CYBELECTL" -q recipe lock app.yaml
    run -0 "$CYBELECTL" build app.yaml -o app.sif
    cp evil.sif base.sif
    refuses 4 "$CYBELECTL" build app.yaml -o app.sif --force
    rm base.sif
    "$CYBELECTL" -q build evil.sif -o base.sif --sandbox
    refuses 4 "$CYBELECTL" build app.yaml -o app.sif --force
    assert_output --partial 'base.sif is not the image that the Lock names'
    run "$CYBELECTL" exec app.sif cat /word
    assert_output good
}

@test "a sandbox is made in no folder that another user can prepare" {
    # The name that a process of this number would choose.
    # shellcheck disable=SC2016
    run -0 sh -c 'mkdir "box.$$.tmp" && echo $$ >pid && exec "$@"' sh "$CYBELECTL" -q build good.sif -o box --sandbox
    assert_equal "$(<box/word)" good
    assert_dir_exist "box.$(<pid).tmp"
    "$CYBELECTL" -q build evil.sif -o box --sandbox --force
    assert_equal "$(<box/word)" evil
    refuses 3 "$CYBELECTL" build good.sif -o none/box --sandbox
    assert_output --partial 'the folder none does not exist'
    assert_not_exist none
    assert_equal "$(find . -name '.cybelectl*')" ''
}
