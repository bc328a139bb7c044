# SPDX-License-Identifier: Apache-2.0
# sign and verify at the command line: keys, passphrases, several signers, reports, policies, refusals.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    for name in alice bob eve; do
        openssl genpkey -algorithm ed25519 -out "$name.pem" 2>/dev/null
        openssl pkey -in "$name.pem" -pubout -out "$name.pub"
    done
    cp "$repo/tests/unit/images/data/one-group-signed-dsse.sif" plain.sif
    "$CYBELECTL" sif del 3 plain.sif
}
teardown_file() { leave_place; }
setup() {
    cd "$place" || return
    export APPTAINER_KEYSDIR=$place/no-keys
    cp plain.sif "$BATS_TEST_NUMBER.sif"
    image=$BATS_TEST_NUMBER.sif
}

# state JQ: what the report of verify, in $output, says.
state() { jq -r "$1" <<<"$output"; }

@test "a signed image is verified, and the report names the signer" {
    "$CYBELECTL" sign "$image" --key alice.pem
    run "$CYBELECTL" verify "$image" --key alice.pub
    assert_success
    assert_line --regexp '^[0-9]+ +dsse +1 +1-2 +valid +alice.pub \(SHA256:'
    assert_line "verified $image"
}

@test "several keys make one envelope, and each signature has its own line" {
    "$CYBELECTL" sign "$image" --key alice.pem --key bob.pem
    run "$CYBELECTL" verify "$image" --key alice.pub --format json
    assert_success
    assert_equal "$(state '.signatures | length')" 2
    assert_equal "$(state '[.signatures[].object] | unique | length')" 1
    assert_equal "$(state '[.signatures[].valid] | sort | join(" ")')" "false true"
    assert_equal "$(state '.format')" 1
    run "$CYBELECTL" verify "$image" --key alice.pub --key bob.pub --require all
    assert_success
    run "$CYBELECTL" verify "$image" --key alice.pub --key eve.pub --require all
    assert_equal "$status" 4
    assert_line --partial 'the signature of eve.pub is missing'
    run "$CYBELECTL" verify "$image" --key alice.pub --key eve.pub --require 2
    assert_equal "$status" 4
    assert_line --partial '1 of 2 required signers'
    run "$CYBELECTL" verify "$image" --key alice.pub --key alice.pub --require 2
    assert_equal "$status" 2
    assert_line --partial '2 signers are required, but 1 is named'
}

@test "one that is signed with the OpenPGP key already, too" {
    export APPTAINER_KEYSDIR=$place/pgp-keys
    "$CYBELECTL" key new --pgp --name Gamma --email g@site.example --no-passphrase
    "$CYBELECTL" key new --pgp --name Delta --email d@site.example --no-passphrase
    "$CYBELECTL" sign "$image" --pgp --fingerprint Gamma
    cp "$image" before
    run -0 "$CYBELECTL" sign "$image" --pgp --fingerprint Gamma
    assert_line "$image is signed with it already; nothing was changed"
    cmp before "$image"
    run -0 "$CYBELECTL" sign "$image" --pgp --fingerprint Delta
    run -0 "$CYBELECTL" sif list "$image"
    assert_equal "$(grep -c Signature <<<"$output")" 2
    run -0 "$CYBELECTL" sign "$image" --pgp --fingerprint Gamma --force
    run -0 "$CYBELECTL" sif list "$image"
    assert_equal "$(grep -c Signature <<<"$output")" 2
    "$CYBELECTL" verify "$image" --pgp
}

@test "an image that is signed with the key already is told and left alone" {
    "$CYBELECTL" sign "$image" --key alice.pem
    cp "$image" before
    run "$CYBELECTL" sign "$image" --key alice.pem
    assert_success
    assert_line "$image is signed with it already; nothing was changed"
    cmp "$image" before
    run "$CYBELECTL" sign "$image" --key bob.pem
    assert_success
    assert_line --partial 'signatures of other keys already'
    run "$CYBELECTL" verify "$image" --key bob.pub
    assert_success
}

@test "--force with the same key replaces its own signature, and no other one" {
    "$CYBELECTL" sign "$image" --key alice.pem
    "$CYBELECTL" sign "$image" --key bob.pem
    signatures() { "$CYBELECTL" sif list "$image" | grep -c Signature; }
    assert_equal "$(signatures)" 2
    "$CYBELECTL" sign "$image" --key alice.pem --force
    assert_equal "$(signatures)" 2
    "$CYBELECTL" verify "$image" --key alice.pub
    "$CYBELECTL" verify "$image" --key bob.pub
    # One made together with another key is not hers alone.
    "$CYBELECTL" sign "$image" --key alice.pem --key bob.pem --force
    assert_equal "$(signatures)" 1
    "$CYBELECTL" sign "$image" --key alice.pem --force
    assert_equal "$(signatures)" 2
}

@test "--replace leaves the new signature alone, whoever made the earlier ones" {
    "$CYBELECTL" sign "$image" --key alice.pem
    "$CYBELECTL" sign "$image" --key bob.pem
    export APPTAINER_KEYSDIR=$place/keys
    "$CYBELECTL" key new --pgp --name A --no-passphrase -q
    "$CYBELECTL" sign "$image" --pgp --force
    run -0 "$CYBELECTL" sign "$image" --key eve.pem --replace
    refute_output --partial warning
    assert_equal "$("$CYBELECTL" sif list "$image" | grep -c Signature)" 1
    "$CYBELECTL" verify "$image" --key eve.pub
    run -4 "$CYBELECTL" verify "$image" --key alice.pub
    # Of several groups, that of another one stays.
    "$CYBELECTL" sif add "$image" plain.sif --datatype 7 --groupid 2
    "$CYBELECTL" sign "$image" -g 2 --key bob.pem
    "$CYBELECTL" sign "$image" -g 2 --key alice.pem --replace
    assert_equal "$("$CYBELECTL" sif list "$image" | grep -c Signature)" 2
    run -2 "$CYBELECTL" sign "$image" --key eve.pem --replace -i 1
}

@test "an encrypted key is opened from a file, a descriptor and a variable" {
    openssl pkey -in alice.pem -aes256 -passout pass:secret -out locked.pem
    (umask 077 && printf 'secret\nmore\n' >pass)
    "$CYBELECTL" sign "$image" --key locked.pem --passphrase-file pass
    "$CYBELECTL" sign -F "$image" --key locked.pem --passphrase-fd 3 3<pass
    CYBELE_PASSPHRASE=secret "$CYBELECTL" sign -F "$image" --key locked.pem
    run "$CYBELECTL" verify "$image" --key alice.pub
    assert_success
    CYBELE_PASSPHRASE=wrong refuses 3 "$CYBELECTL" sign -F "$image" --key locked.pem
    assert_line --partial 'the passphrase does not open locked.pem'
    refute_output --partial wrong.
}

@test "the terminal is asked without an echo, and nobody is asked where there is none" {
    openssl pkey -in alice.pem -aes256 -passout pass:secret -out locked.pem
    refuses 2 setsid -w "$CYBELECTL" sign "$image" --key locked.pem </dev/null
    assert_line --partial 'no passphrase for the key locked.pem'
    run python3 "$parts_dir/terminal.py" secret -- "$CYBELECTL" sign "$image" --key locked.pem
    assert_success
    assert_output --partial 'Passphrase of the key locked.pem: '
    assert_output --partial 'signed'
    refute_output --partial secret
}

@test "a passphrase file that others may read gives a warning" {
    openssl pkey -in alice.pem -aes256 -passout pass:secret -out locked.pem
    echo secret >open && chmod 644 open
    run "$CYBELECTL" sign "$image" --key locked.pem --passphrase-file open
    assert_success
    assert_line --partial 'the passphrase in open is not secret'
}

@test "a private key that others may read gives a warning, unless a passphrase protects it" {
    cp alice.pem open.pem
    chmod 640 open.pem
    run -0 "$CYBELECTL" sign "$image" --key open.pem
    assert_line 'warning: the private key in open.pem is not secret'
    assert_line 'because: other users may read the file'
    assert_line 'help: close it: chmod 600 open.pem'
    chmod 600 open.pem
    run -0 "$CYBELECTL" sign -F "$image" --key open.pem
    refute_output --partial warning
    openssl pkey -in alice.pem -aes256 -passout pass:secret -out open.pem
    chmod 644 open.pem
    CYBELE_PASSPHRASE=secret run -0 "$CYBELECTL" sign -F "$image" --key open.pem
    refute_output --partial warning
}

@test "a policy decides: any, all, a number" {
    "$CYBELECTL" sign "$image" --key alice.pem --key bob.pem
    printf 'kind: Policy\nkeys: [alice.pub, eve.pub]\n' >any.yaml
    printf 'kind: Policy\nrequire: all\nkeys: [alice.pub, bob.pub]\n' >all.yaml
    printf 'kind: Policy\nrequire: 2\nkeys: [alice.pub, bob.pub, eve.pub]\n' >two.yaml
    printf 'kind: Policy\nrequire: 3\nkeys: [alice.pub, bob.pub, eve.pub]\n' >three.yaml
    for policy in any all two; do
        run "$CYBELECTL" verify "$image" --policy "$policy.yaml"
        assert_success
    done
    run "$CYBELECTL" verify "$image" --policy three.yaml
    assert_equal "$status" 4
    assert_line --partial '2 of 3 required signers'
    mkdir -p elsewhere && cd elsewhere # paths of a policy are relative to it
    run "$CYBELECTL" verify "../$image" --policy ../all.yaml
    assert_success
}

@test "one object can be signed and verified alone" {
    "$CYBELECTL" sign "$image" --sif-id 2 --key alice.pem
    run "$CYBELECTL" verify "$image" --sif-id 2 --key alice.pub
    assert_success
    run "$CYBELECTL" verify "$image" --key alice.pub
    assert_equal "$status" 4
    assert_line 'without a valid signature: objects 1 of group 1'
    refuses 3 "$CYBELECTL" verify "$image" --sif-id 99 --key alice.pub
    refuses 3 "$CYBELECTL" verify "$image" --group-id 7 --key alice.pub
}

@test "what cannot be verified ends with 4, what cannot be used with 3, and says which" {
    refuses 4 "$CYBELECTL" verify "$image" --key alice.pub
    assert_line --partial 'the image is not signed'
    "$CYBELECTL" sign "$image" --key alice.pem
    refuses 4 "$CYBELECTL" verify "$image" --key eve.pub
    assert_line --partial 'it was made with another key (SHA256:'
    refuses 3 "$CYBELECTL" verify "$image" --key alice.pem
    assert_line --partial 'it is a private key'
    refuses 3 "$CYBELECTL" sign "$image" --key alice.pub
    refuses 3 "$CYBELECTL" verify alice.pub --key alice.pub
    refuses 2 "$CYBELECTL" verify "$image"
    printf 'X' | dd of="$image" bs=1 conv=notrunc status=none \
        seek="$("$CYBELECTL" sif list "$image" --format json | jq '.objects[0].offset')"
    refuses 4 "$CYBELECTL" verify "$image" --key alice.pub
    assert_line --partial 'the content of object 1 was changed after signing'
}

@test "Apptainer's variables name the keys" {
    APPTAINER_SIGN_KEY=alice.pem "$CYBELECTL" sign "$image"
    APPTAINER_VERIFY_KEY=alice.pub run "$CYBELECTL" verify "$image"
    assert_success
    APPTAINER_VERIFY_KEY=eve.pub run "$CYBELECTL" verify "$image"
    assert_equal "$status" 4
}

@test "no secret appears in messages, however much is said" {
    openssl pkey -in alice.pem -aes256 -passout pass:topsecret -out locked.pem
    CYBELE_PASSPHRASE=topsecret run "$CYBELECTL" -v sign "$image" --key locked.pem
    assert_success
    refute_output --partial topsecret
}

@test "old signatures count only where it is asked for" {
    data=$repo/tests/unit/images/data
    refuses 4 "$CYBELECTL" verify "$data/one-group-signed-legacy.sif" --pgp-keyring "$data/pgp-public.bin"
    assert_output --partial 'Singularity 3.0 to 3.5'
    run "$CYBELECTL" verify "$data/one-group-signed-legacy.sif" --pgp-keyring "$data/pgp-public.bin" --legacy-insecure
    assert_success
}

@test "a keyring names nobody of whom all could be wanted" {
    refuses 2 "$CYBELECTL" verify "$image" --pgp-keyring "$repo/tests/unit/images/data/pgp-public.bin" --require all
    assert_output --partial 'a keyring accepts every signer in it'
    refuses 2 "$CYBELECTL" verify "$image" --pgp-keyring "$repo/tests/unit/images/data/pgp-public.bin" --key alice.pub --require all
}

@test "verify shows no control characters of a name" {
    "$CYBELECTL" key new named.pem
    "$CYBELECTL" sif new $'a\eb.sif'
    run -4 "$CYBELECTL" verify $'a\eb.sif' --key named.pub
    assert_line --partial 'error: a\x1bb.sif is not verified'
}

@test "several images are signed and verified: a line for each, all errors, and the code of the worst" {
    cp plain.sif a.sif
    cp plain.sif 'b c.sif'
    cp plain.sif none.sif
    openssl pkey -in alice.pem -aes256 -passout pass:secret -out locked.pem
    CYBELE_PASSPHRASE=secret run -0 --separate-stderr "$CYBELECTL" sign a.sif 'b c.sif' --key locked.pem
    assert_output $'signed a.sif with locked.pem\nsigned b c.sif with locked.pem\n2 of 2 images signed'
    run -0 --separate-stderr "$CYBELECTL" verify a.sif 'b c.sif' --key alice.pub
    assert_output $'verified a.sif\nverified b c.sif\n2 of 2 images verified'
    run -4 --separate-stderr "$CYBELECTL" verify gone.sif a.sif none.sif 'b c.sif' --key alice.pub
    assert_output $'gone.sif: error: no such file: gone.sif\nverified a.sif\nnone.sif is NOT verified\nverified b c.sif\n2 of 4 images verified'
    assert_equal "$(grep -c '^error: ' <<<"$stderr")" 2
    [[ $stderr == 'error: none.sif is not verified'* ]] # the worst comes first
    run -3 "$CYBELECTL" verify gone.sif a.sif --key alice.pub
    run -4 --separate-stderr "$CYBELECTL" verify a.sif none.sif --key alice.pub --format json
    run -0 jq -c '[.format, (.images[] | .image, .verified)]' <<<"$output"
    assert_output '[1,"a.sif",true,"none.sif",false]'
    # What cannot be signed leaves the others signed.
    run -3 --separate-stderr "$CYBELECTL" sign gone.sif none.sif --key bob.pem
    assert_line 'signed none.sif with bob.pem'
    assert_line '1 of 2 images signed'
    run -0 "$CYBELECTL" verify none.sif --key bob.pub
    run -2 "$CYBELECTL" sign a.sif store:x --key bob.pem # before the first is changed
    run -4 "$CYBELECTL" verify a.sif --key bob.pub
    run -4 --separate-stderr "$CYBELECTL" verify a.sif "$image" --key alice.pub -q
    assert_output ''
}
