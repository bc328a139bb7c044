# SPDX-License-Identifier: Apache-2.0
# The key verbs: PEM pairs, and the OpenPGP keyring that Apptainer and GnuPG understand.
load ../parts/suite.bash

setup() {
    work_place
    export GNUPGHOME=$place/g APPTAINER_KEYSDIR=$place/keys
    unset SINGULARITY_SYPGPDIR CYBELE_PASSPHRASE
    mkdir -m 700 g
    echo "s2k-count 65536" >g/gpg-agent.conf # few rounds, for speed
    printf 'open sesame\n' >pass
    chmod 600 pass
}
teardown() {
    gpgconf --kill all
    leave_place
}

gpg_batch() {
    gpg --batch --yes --no-tty --pinentry-mode loopback --passphrase 'open sesame' --trust-model always "$@"
}

# new_pgp NAME [OPTION…]: makes an OpenPGP key with the passphrase in the file pass.
new_pgp() {
    "$CYBELECTL" key new --pgp --name "$1" --email "$1@site.example" --passphrase-file pass "${@:2}"
}

@test "a PEM key of every kind is read by openssl, its private file by its owner alone" {
    for kind in ed25519 ecdsa ecdsa-p384 ecdsa-p521 rsa rsa-4096; do
        "$CYBELECTL" key new "$kind.pem" --algorithm "$kind"
        assert_equal "$(stat -c %a "$kind.pem" "$kind.pub" | xargs)" "600 644"
        assert_equal "$(openssl pkey -in "$kind.pem" -pubout)" "$(cat "$kind.pub")"
    done
    run openssl pkey -in ecdsa-p521.pem -noout -text
    assert_line --partial P-521
    run openssl pkey -in rsa-4096.pem -noout -text
    assert_line --partial '4096 bit'
}

@test "an encrypted PEM key opens with its passphrase and no other" {
    "$CYBELECTL" key new site.pem --encrypt --passphrase-file pass
    run head -1 site.pem
    assert_output '-----BEGIN ENCRYPTED PRIVATE KEY-----'
    assert_equal "$(openssl pkey -in site.pem -passin file:pass -pubout)" "$(cat site.pub)"
    run openssl pkey -in site.pem -passin pass:wrong -noout
    assert_failure
    run openssl asn1parse -in site.pem
    assert_line --partial hmacWithSHA256
    assert_line --partial aes-256-cbc
    assert_line --partial ':0927C0' # 600000 rounds
}

@test "the passphrase comes from a file, a descriptor, a variable, never from the command line" {
    "$CYBELECTL" key new a.pem --encrypt --passphrase-fd 5 5<pass
    CYBELE_PASSPHRASE='open sesame' "$CYBELECTL" key new b.pem --encrypt
    "$CYBELECTL" key new c.pem --encrypt --passphrase-file - <pass
    for key in a b c; do
        openssl pkey -in "$key.pem" -passin file:pass -noout
    done
    refuses 2 setsid "$CYBELECTL" key new d.pem --encrypt </dev/null
    assert_line 'error: no passphrase for the new key d.pem'
    assert_file_not_exist d.pem
}

@test "at the terminal a new passphrase is asked twice and not shown" {
    run python3 "$parts_dir/terminal.py" typed typed -- "$CYBELECTL" key new t.pem --encrypt
    assert_success
    refute_output --partial typed
    openssl pkey -in t.pem -passin pass:typed -noout
    run python3 "$parts_dir/terminal.py" typed other -- "$CYBELECTL" key new u.pem --encrypt
    assert_failure 3
    assert_output --partial 'the two passphrases differ'
    assert_file_not_exist u.pem
}

@test "a new OpenPGP key is encrypted, its files are the owner's, and gpg opens it" {
    run new_pgp Alpha
    assert_success
    assert_equal "$(stat -c %a keys keys/pgp-public keys/pgp-secret | xargs)" "700 600 600"
    "$CYBELECTL" key export Alpha --secret -o alpha.key
    assert_equal "$(stat -c %a alpha.key)" 600
    gpg_batch --import alpha.key
    echo text | gpg_batch --clearsign | gpg_batch --verify
    run gpg --list-packets alpha.key
    assert_line --partial 'iter+salt S2K, algo: 9, SHA1 protection, hash: 8'
    CYBELE_PASSPHRASE='' refuses 2 setsid "$CYBELECTL" key new --pgp --name Beta --email b@site.example
}

@test "what holds no key is not imported" {
    refuses 3 "$CYBELECTL" key import - </dev/null
    : >empty.key
    refuses 3 "$CYBELECTL" key import empty.key
    assert_file_not_exist keys/pgp-secret
    assert_file_not_exist keys/pgp-public
}

@test "a key whose own signature is damaged is imported with a word" {
    gpg --batch --passphrase '' --quick-generate-key 'Torn <torn@site.example>' ed25519 sign,cert
    gpg --batch --export Torn >torn.key
    last=$(tail -c 1 torn.key | od -An -tu1)
    truncate -s -1 torn.key
    # shellcheck disable=SC2059 # the byte is the format
    printf "\\$(printf %o $((last ^ 1)))" >>torn.key
    run --separate-stderr "$CYBELECTL" key import torn.key
    assert_success
    assert_line --partial 'imported key '
    [[ $stderr == *'warning: key '*' is not usable'*'no valid self-signature'* ]]
}

@test "what is open is encrypted when it is imported, unless that is refused by name" {
    gpg --batch --passphrase '' --quick-generate-key 'Open <open@site.example>' ed25519 sign,cert
    gpg --batch --export-secret-keys >open.key
    refuses 2 setsid "$CYBELECTL" key import open.key
    assert_file_not_exist keys/pgp-secret
    "$CYBELECTL" key import open.key --passphrase-file pass
    run bash -c 'gpg --list-packets keys/pgp-secret'
    assert_line --partial 'SHA1 protection'
    rm -r keys
    "$CYBELECTL" key import open.key --no-passphrase
    run bash -c 'gpg --list-packets keys/pgp-secret'
    refute_line --partial protection
}

@test "private keys get another passphrase when they are imported" {
    gpg --batch --passphrase '' --quick-generate-key 'Open <open@site.example>' ed25519 sign,cert
    gpg --batch --export-secret-keys >open.key
    echo 'the first' | "$CYBELECTL" key import open.key --new-passphrase --passphrase-fd 0
    "$CYBELECTL" key export open@site.example --secret -o locked.key
    rm -r keys
    printf '%s\n' wrong 'the second' >lines
    refuses 3 bash -c '"$CYBELECTL" key import locked.key --new-passphrase --passphrase-fd 0 <lines'
    assert_file_not_exist keys/pgp-secret
    printf '%s\n' 'the first' 'the second' >lines
    "$CYBELECTL" key import locked.key --new-passphrase --passphrase-fd 0 <lines
    "$CYBELECTL" key export open@site.example --secret -o again.key
    rm -r keys
    refuses 3 bash -c '"$CYBELECTL" key import again.key --new-passphrase --passphrase-fd 0 <lines'
    printf '%s\n' 'the second' 'the third' | "$CYBELECTL" key import again.key --new-passphrase --passphrase-fd 0
}

@test "a key of gpg is imported, listed and exported; the second time it says so" {
    gpg_batch --quick-generate-key 'Gamma <g@site.example>' rsa2048 sign,cert 2y
    gpg_batch --quick-generate-key 'Delta <d@site.example>' nistp384 sign,cert never
    gpg_batch --armor --export-secret-keys Gamma | "$CYBELECTL" key import -
    gpg_batch --armor --export | "$CYBELECTL" key import - >out
    run cat out
    assert_line --regexp '^already there: [0-9A-F]{40} Gamma <g@site.example>$'
    assert_line --regexp '^imported key [0-9A-F]{40} Delta <d@site.example>$'
    run "$CYBELECTL" key list
    assert_line --regexp '^[0-9A-F]{40}  RSA 2048 .*  private   Gamma <g@site.example>$'
    assert_line --regexp '^[0-9A-F]{40}  NIST P-384 .*  public    Delta <d@site.example>$'
    "$CYBELECTL" key list --format json >list.json
    jq -e '.keys | length == 2 and all(.usable) and (.[0].private == "encrypted") and (.[0].expires > 0)' list.json
    fpr=$(jq -r '.keys[1].fingerprint' list.json)
    assert_equal "$("$CYBELECTL" key export "$fpr" | gpg --show-keys --with-colons | awk -F: '/^fpr/ {print $10}')" "$fpr"
    run gpg --show-keys <("$CYBELECTL" key export "${fpr:24}" --armor)
    assert_success
    refute_output --partial CRC
    refuses 3 "$CYBELECTL" key export "$fpr" --secret
}

@test "a revocation reaches a key that is known already" {
    gpg_batch --quick-generate-key 'Omega <o@site.example>' ed25519 sign,cert never
    gpg_batch --export | "$CYBELECTL" key import -
    sed 's/^:-----/-----/' g/openpgp-revocs.d/*.rev | gpg_batch --import
    run bash -c 'gpg --export | "$CYBELECTL" key import -'
    assert_line --partial 'updated key'
    run "$CYBELECTL" key list
    assert_line '    not usable: it is revoked'
}

@test "ten imports at a time lose no key" {
    for i in 0 1 2 3 4 5 6 7 8 9; do
        APPTAINER_KEYSDIR=$place/k$i "$CYBELECTL" key new --pgp --name "K$i" --no-passphrase
        APPTAINER_KEYSDIR=$place/k$i "$CYBELECTL" key export "K$i" -o "k$i.pgp"
    done
    local imports=()
    for i in 0 1 2 3 4 5 6 7 8 9; do
        "$CYBELECTL" key import "k$i.pgp" &
        imports+=($!)
    done
    wait "${imports[@]}" # not all children: the clock of the suite is one of them
    assert_equal "$("$CYBELECTL" key list | wc -l)" 10
}

@test "files are listed: PEM halves, an encrypted one unasked, an OpenPGP key" {
    "$CYBELECTL" key new a.pem
    "$CYBELECTL" key new b.pem --encrypt --passphrase-file pass
    new_pgp Alpha --days 30
    "$CYBELECTL" key export Alpha --armor -o alpha.asc
    run "$CYBELECTL" key list a.pem a.pub b.pem alpha.asc
    assert_success
    assert_line --regexp '^SHA256:[^ ]+  Ed25519     private   a.pem$'
    assert_line --regexp '^SHA256:[^ ]+  Ed25519     public    a.pub$'
    assert_line --regexp '^encrypted  .* private   b.pem$'
    assert_line --regexp '^[0-9A-F]{40}  Ed25519 .* public    Alpha <Alpha@site.example>$'
    assert_line --regexp '^    expires on '
}

@test "what is no key is refused with what it is instead" {
    echo hello >text
    refuses 3 "$CYBELECTL" key import text
    refuses 3 "$CYBELECTL" key list text
    refuses 3 "$CYBELECTL" key import nothing.asc
    refuses 3 "$CYBELECTL" key export Nobody
    refuses 2 "$CYBELECTL" key new
    refuses 2 "$CYBELECTL" key new x.pem --name X
    refuses 2 "$CYBELECTL" key new --pgp --name 'A <b>' --no-passphrase
    printf '\306\005\006\0\0\0\1' >v6
    refuses 3 "$CYBELECTL" key import v6
    assert_line 'because: it has no key of version 4: a key of version 6'
    new_pgp Alpha
    "$CYBELECTL" key export Alpha --secret -o alpha.key
    refuses 3 "$CYBELECTL" key export Alpha --secret -o alpha.key
    new_pgp Alphabet
    refuses 3 "$CYBELECTL" key export Alpha
    assert_line 'error: Alpha names several keys'
}

@test "a passphrase that is given is used: the new key opens with it alone" {
    echo 'barley and rye' >secret
    echo wheat >wrong
    run "$CYBELECTL" key new a.pem --passphrase-file secret
    assert_output --partial 'a.pem (encrypted)'
    grep -q 'ENCRYPTED PRIVATE KEY' a.pem
    "$CYBELECTL" sif new a.sif
    echo x >x && "$CYBELECTL" sif add a.sif x --datatype 7 --groupid 1
    run "$CYBELECTL" sign a.sif --key a.pem --passphrase-file wrong </dev/null
    assert_failure
    "$CYBELECTL" sign a.sif --key a.pem --passphrase-file secret </dev/null
}
