# SPDX-License-Identifier: Apache-2.0
# The real Apptainer verifies what we sign and we verify what it signs: every kind of PEM key, several
# signers, selections and mixtures. Keys and signatures are made fresh by both sides. About two minutes.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run apptainer "$@"
}

setup_file() {
    enter_place
    export place
    "$parts_dir/apptainer" make >&2
    cp "$repo/tests/unit/images/data/one-group-signed-dsse.sif" plain.sif
    "$CYBELECTL" sif del 3 plain.sif
    kinds='ed25519 p224 p256 p384 p521 rsa2048 rsa4096 rsa1024 pkcs1 sec1'
    export kinds
    openssl genpkey -algorithm ed25519 -out ed25519.pem
    openssl ecparam -name secp224r1 -genkey -noout -out p224.pem
    for size in 256 384 521; do
        openssl genpkey -algorithm EC -pkeyopt "ec_paramgen_curve:P-$size" -out "p$size.pem"
    done
    for size in 1024 2048 4096; do openssl genrsa -out "rsa$size.pem" "$size"; done
    openssl genrsa -traditional -out pkcs1.pem 2048
    openssl ecparam -name prime256v1 -genkey -noout -out sec1.pem
    for kind in $kinds; do openssl pkey -in "$kind.pem" -pubout -out "$kind.pub"; done
} 2>/dev/null
teardown_file() { leave_place; }
setup() {
    cd "$place" || return
    export APPTAINER_KEYSDIR=$place/keys
    cp plain.sif a.sif
}

# signature IMAGE ID: the raw signature bytes of an envelope.
signature() {
    "$CYBELECTL" sif dump "$2" "$1" | jq -r '.signatures[0].sig' | base64 -d
}

@test "it verifies our signatures of every kind of key, and not with another key" {
    for kind in $kinds; do
        cp plain.sif "$kind.sif"
        "$CYBELECTL" sign "$kind.sif" --key "$kind.pem"
        run apptainer verify --key "$kind.pub" "$kind.sif"
        assert_success
    done
    run apptainer verify --key p256.pub ed25519.sif
    assert_failure
}

@test "we verify its signatures of every kind of key, and not with another key" {
    for kind in $kinds; do
        cp plain.sif "$kind.sif"
        apptainer sign --key "$kind.pem" "$kind.sif"
        run "$CYBELECTL" verify "$kind.sif" --key "$kind.pub"
        assert_success
    done
    run "$CYBELECTL" verify ed25519.sif --key p256.pub
    assert_equal "$status" 4
}

@test "Ed25519 and RSA signatures, and the descriptors, are equal to its own, to the byte" {
    for kind in ed25519 rsa2048 pkcs1; do
        cp plain.sif ours.sif && cp plain.sif theirs.sif
        "$CYBELECTL" sign ours.sif --key "$kind.pem"
        apptainer sign --key "$kind.pem" theirs.sif
        cmp <("$CYBELECTL" sif dump 3 ours.sif) <("$CYBELECTL" sif dump 3 theirs.sif)
        cmp <(signature ours.sif 3) <(signature theirs.sif 3)
        # all of the descriptor but its two times
        cmp <(tail -c +5267 ours.sif | head -c 41) <(tail -c +5267 theirs.sif | head -c 41)
        cmp <(tail -c +5324 ours.sif | head -c 528) <(tail -c +5324 theirs.sif | head -c 528)
    done
}

@test "it verifies an envelope of several keys with each of them" {
    "$CYBELECTL" sign a.sif --key ed25519.pem --key p384.pem --key rsa2048.pem
    for kind in ed25519 p384 rsa2048; do
        run apptainer verify --key "$kind.pub" a.sif
        assert_success
    done
    run apptainer verify --key p521.pub a.sif
    assert_failure
}

@test "encrypted keys: it verifies what we sign with them" {
    openssl pkey -in p256.pem -aes256 -passout pass:secret -out locked.pem
    CYBELE_PASSPHRASE=secret "$CYBELECTL" sign a.sif --key locked.pem
    run apptainer verify --key p256.pub a.sif
    assert_success
}

@test "a key of sigstore: both sign with it, and each verifies the other" {
    cp "$repo"/tests/unit/images/data/sigstore.{key,pub} .
    chmod 600 sigstore.key
    cp plain.sif b.sif
    COSIGN_PASSWORD=swordfish "$CYBELECTL" sign a.sif --key sigstore.key
    printf swordfish | apptainer sign --key sigstore.key b.sif
    for image in a.sif b.sif; do
        run apptainer verify --key sigstore.pub "$image"
        assert_success
        run "$CYBELECTL" verify "$image" --key sigstore.pub
        assert_success
    done
}

@test "two envelopes by two keys: it refuses either key, we accept both; signing says so" {
    "$CYBELECTL" sign a.sif --key ed25519.pem
    run "$CYBELECTL" sign a.sif --key p256.pem
    assert_success
    assert_output --partial 'signatures of other keys already'
    for kind in ed25519 p256; do
        run apptainer verify --key "$kind.pub" a.sif
        assert_failure
        assert_output --partial 'accepted signatures do not match threshold'
        run "$CYBELECTL" verify a.sif --key "$kind.pub"
        assert_success
    done
}

@test "one object: what either signs alone the other verifies alone" {
    "$CYBELECTL" sign a.sif --sif-id 2 --key ed25519.pem
    run apptainer verify --sif-id 2 --key ed25519.pub a.sif
    assert_success
    run apptainer verify --key ed25519.pub a.sif
    assert_failure
    cp plain.sif b.sif
    apptainer sign --sif-id 2 --key ed25519.pem b.sif
    run "$CYBELECTL" verify b.sif --sif-id 2 --key ed25519.pub
    assert_success
    run "$CYBELECTL" verify b.sif --key ed25519.pub
    assert_equal "$status" 4
}

@test "objects added later: both refuse the image; one group alone is verified" {
    "$CYBELECTL" sign a.sif --key ed25519.pem
    echo more >extra
    cp a.sif b.sif
    apptainer sif add --datatype 7 --groupid 1 a.sif extra
    run apptainer verify --key ed25519.pub a.sif
    assert_output --partial 'object not signed'
    run "$CYBELECTL" verify a.sif --key ed25519.pub
    assert_equal "$status" 4
    assert_output --partial 'object 4 of group 1 is not signed'
    apptainer sif add --datatype 7 --groupid 2 b.sif extra
    run apptainer verify --key ed25519.pub b.sif
    assert_failure
    run "$CYBELECTL" verify b.sif --key ed25519.pub
    assert_equal "$status" 4
    assert_output --partial 'group 2 is not signed'
    for verifier in apptainer "$CYBELECTL"; do
        run "$verifier" verify --group-id 1 --key ed25519.pub b.sif
        assert_success
    done
    apptainer sif add --datatype 7 a.sif extra # without a group
    run "$CYBELECTL" verify a.sif --key ed25519.pub
    assert_output --partial 'object 5 belongs to no group'
}

@test "a deleted group: it does not notice, we do" {
    echo more >extra
    apptainer sif add --datatype 7 --groupid 2 a.sif extra
    "$CYBELECTL" sign a.sif --key ed25519.pem
    apptainer sif del 3 a.sif
    run apptainer verify --key ed25519.pub a.sif
    assert_success
    run "$CYBELECTL" verify a.sif --key ed25519.pub
    assert_equal "$status" 4
    assert_output --partial 'group 2 has no objects (any more)'
}

@test "both kinds on one group: we refuse to make it, because it can never verify it" {
    "$CYBELECTL" sign a.sif --key ed25519.pem
    printf 'test\ntest@example.com\n\n' | apptainer key newpair -U=false -N test -E test@example.com -C '' -P '' >/dev/null
    refuses 3 "$CYBELECTL" sign a.sif --pgp
    assert_output --partial 'signatures of both kinds'
    "$CYBELECTL" sign a.sif --pgp --force
    run apptainer verify --key ed25519.pub a.sif
    assert_output --partial 'key material not provided for PGP clear-sign signature'
    run apptainer verify --local a.sif
    assert_failure
    run "$CYBELECTL" verify a.sif --key ed25519.pub --pgp --require 2
    assert_success
    cp plain.sif p.sif
    "$CYBELECTL" sign p.sif --pgp
    run apptainer verify --local p.sif
    assert_success
    cp plain.sif q.sif
    apptainer sign q.sif
    run "$CYBELECTL" verify q.sif --pgp
    assert_success
}

@test "a certificate: both verify by it what the other signed" {
    openssl req -x509 -newkey ed25519 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 5 2>/dev/null
    openssl req -newkey ed25519 -nodes -keyout leaf.key -out leaf.csr -subj /CN=Alice 2>/dev/null
    printf 'extendedKeyUsage=codeSigning\nkeyUsage=critical,digitalSignature\n' >ext
    openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 5 -extfile ext -out leaf.pem 2>/dev/null
    cp plain.sif b.sif
    "$CYBELECTL" sign a.sif --key leaf.key --certificate leaf.pem
    apptainer sign --key leaf.key b.sif
    for image in a.sif b.sif; do
        run apptainer verify --certificate leaf.pem --certificate-roots ca.pem "$image"
        assert_success
        run "$CYBELECTL" verify "$image" --certificate leaf.pem --certificate-roots ca.pem
        assert_success
        assert_output --partial 'CN=Alice'
    done
    run "$CYBELECTL" verify a.sif --certificate-roots ca.pem
    assert_success
    run "$CYBELECTL" verify a.sif --certificate leaf.pem
    assert_equal "$status" 4
}
