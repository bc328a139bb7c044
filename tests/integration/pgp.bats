# SPDX-License-Identifier: Apache-2.0
# OpenPGP with the real Apptainer and the real gpg: keys made by each of the three, used by the others; one
# keyring for Apptainer and us.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run env APPTAINER_KEYSDIR="$APPTAINER_KEYSDIR" apptainer "$@"
}
gpg_batch() {
    gpg --batch --yes --no-tty --pinentry-mode loopback --passphrase 'open sesame' --trust-model always "$@"
}
# fresh NAME: a keyring folder of its own and an unsigned image NAME.sif.
fresh() {
    export APPTAINER_KEYSDIR=$place/keys-$1
    cp plain.sif "$1.sif"
}

setup_file() {
    enter_place
    export place
    "$parts_dir/apptainer" make >&2
    cp "$repo/tests/unit/images/data/one-group-signed-dsse.sif" plain.sif
    "$parts_dir/apptainer" run apptainer sif del 3 plain.sif >&2
    printf 'open sesame\n' >pass
    chmod 600 pass
    mkdir -m 700 g
    echo "s2k-count 65536" >g/gpg-agent.conf # few rounds, for speed
}
setup() {
    cd "$place" || return
    export CYBELE_TMPDIR=$place GNUPGHOME=$place/g
    unset SINGULARITY_SYPGPDIR CYBELE_PASSPHRASE
}
teardown_file() {
    GNUPGHOME=$place/g gpgconf --kill all
    leave_place
}

@test "Apptainer lists, signs and verifies with the keys that we make, of every kind" {
    for kind in ed25519 ecdsa ecdsa-p384 ecdsa-p521 rsa; do
        fresh "made-$kind"
        "$CYBELECTL" key new --pgp --name "Our $kind" --email "$kind@site.example" --algorithm "$kind" --passphrase-file pass
        run apptainer key list
        assert_success
        assert_line --partial "Our $kind"
        apptainer sign "made-$kind.sif" <pass
        apptainer verify --local "made-$kind.sif"
    done
}

@test "we list and export what Apptainer makes, and gpg reads it" {
    fresh theirs
    apptainer key newpair -N 'Their Key' -E their@site.example -C '' -P 'open sesame' -U=false -b 2048
    run "$CYBELECTL" key list
    assert_line --regexp '^[0-9A-F]{40}  RSA 2048 .*  private   Their Key <their@site.example>$'
    "$CYBELECTL" key export Their --armor | gpg_batch --import
    # Apptainer writes no checksum below its base64. One signature in 256 is a byte shorter and ends without "=" too;
    # there gpg reads on into the last line, says "Good signature" and exits with 2. Such a one is signed again.
    for _ in 1 2 3 4; do
        fresh theirs
        run apptainer sign theirs.sif <pass
        assert_success
        apptainer sif dump 3 theirs.sif >theirs.asc
        [[ $(tail -2 theirs.asc) != *=* ]] || break
    done
    gpg_batch --verify theirs.asc
    "$CYBELECTL" key export Their --secret -o theirs.key
    gpg_batch --import theirs.key
}

@test "our import and Apptainer's agree: neither takes a key twice, both find it" {
    gpg_batch --quick-generate-key 'Shared <shared@site.example>' ed25519 sign,cert never
    gpg_batch --armor --export-secret-keys shared@ >shared.key
    fresh ours-first
    "$CYBELECTL" key import shared.key
    run apptainer key import shared.key <pass
    assert_output --partial 'already belongs to the keyring'
    apptainer sign ours-first.sif <pass
    apptainer verify --local ours-first.sif
    fresh theirs-first
    run apptainer key import shared.key < <(cat pass pass pass)
    run "$CYBELECTL" key import shared.key
    assert_success
    assert_line --partial 'already there'
}

@test "Apptainer verifies what we sign: keys of every kind, ours and gpg's" {
    fresh base
    for kind in ed25519 ecdsa ecdsa-p384 ecdsa-p521 rsa; do
        "$CYBELECTL" key new --pgp --name "Ours $kind" --algorithm "$kind" --passphrase-file pass
    done
    for kind in ed25519 nistp256 nistp384 nistp521 rsa2048; do
        gpg_batch --quick-generate-key "Gpg $kind <$kind@signs.example>" "$kind" sign,cert never
    done
    gpg_batch --export-secret-keys signs.example | "$CYBELECTL" key import -
    for key in 'Ours ed25519' 'Ours ecdsa' 'Ours rsa' 'Gpg ed25519' 'Gpg nistp256' 'Gpg nistp384' 'Gpg nistp521' 'Gpg rsa2048'; do
        cp plain.sif "signed.sif"
        fpr=$("$CYBELECTL" key list | sed -n "s/ .* $key\( <.*\)\?$//p" | head -1)
        "$CYBELECTL" sign signed.sif --pgp --fingerprint "$fpr" --passphrase-file pass
        run apptainer verify --local signed.sif
        assert_success
        assert_line --partial "$fpr"
        "$CYBELECTL" verify signed.sif --pgp
        apptainer sif dump 3 signed.sif >signed.asc
        "$CYBELECTL" key export "$fpr" | gpg_batch --import
        # Not by gpg's exit code: it stumbles over the end of armor that has neither checksum nor padding, the
        # reference's form, after it has found the signature good.
        run gpg_batch --status-fd 1 --verify signed.asc
        assert_line --regexp "^\\[GNUPG:\\] VALIDSIG $fpr "
    done
}

@test "we verify what Apptainer signs, with keys of every kind" {
    for kind in ed25519 nistp256 nistp384 nistp521 rsa2048 dsa2048; do
        fresh "signs-$kind"
        gpg_batch --quick-generate-key "A $kind <$kind@theirs.example>" "$kind" sign,cert never
        gpg_batch --armor --export-secret-keys "$kind@theirs.example" >"$kind.key"
        apptainer key import "$kind.key" < <(cat pass pass pass)
        apptainer sign "signs-$kind.sif" < <(cat pass pass)
        run "$CYBELECTL" verify "signs-$kind.sif" --pgp
        assert_success
        gpg_batch --export "$kind@theirs.example" >"$kind.pub"
        APPTAINER_KEYSDIR=$place/none run "$CYBELECTL" verify "signs-$kind.sif" --pgp-keyring "$kind.pub" --format json
        assert_success
        jq -e '.verified' <<<"$output"
    done
}

@test "where the primary key only certifies, its subkey signs, and Apptainer verifies that" {
    fresh sub
    gpg_batch --quick-generate-key 'Certifier <c@sub.example>' ed25519 cert never
    fpr=$(gpg --with-colons --list-keys c@sub.example | awk -F: '/^fpr/ {print $10; exit}')
    gpg_batch --quick-add-key "$fpr" rsa2048 sign never
    gpg_batch --export-secret-subkeys c@sub.example | "$CYBELECTL" key import -
    "$CYBELECTL" sign sub.sif --pgp --passphrase-file pass
    "$CYBELECTL" verify sub.sif --pgp
    run apptainer verify --local sub.sif
    assert_success
    assert_line --partial "$fpr"
}

@test "an unknown signer, a revoked key and a changed image are refused with 4, by name" {
    fresh bad
    gpg_batch --quick-generate-key 'Bad <b@bad.example>' ed25519 sign,cert never
    fpr=$(gpg --with-colons --list-keys b@bad.example | awk -F: '/^fpr/ {print $10; exit}')
    gpg_batch --export-secret-keys b@bad.example | "$CYBELECTL" key import -
    refuses 3 "$CYBELECTL" sign bad.sif --pgp --passphrase-file <(echo wrong)
    assert_line 'error: the passphrase does not open the OpenPGP key'
    "$CYBELECTL" sign bad.sif --pgp --passphrase-file pass
    APPTAINER_KEYSDIR=$place/keys-made-rsa refuses 4 "$CYBELECTL" verify bad.sif --pgp
    assert_line --partial "$fpr"
    sed 's/^:-----/-----/' "g/openpgp-revocs.d/$fpr.rev" | gpg_batch --import
    gpg_batch --export b@bad.example | "$CYBELECTL" key import -
    refuses 4 "$CYBELECTL" verify bad.sif --pgp
    assert_line --partial 'it is revoked'
    run apptainer verify --local bad.sif
    assert_failure
}
