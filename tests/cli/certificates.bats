# SPDX-License-Identifier: Apache-2.0
# Certificates at the command line: chains, revocation by responders and lists, time stamps. The authority, its
# responder and its time stamps are OpenSSL's.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    mkdir pki
    # The servers end with their standard input, which ends with this shell.
    mkfifo hold
    "$parts_dir/ocsp" pki <hold >ocsp.port &
    "$parts_dir/tsa" pki <hold >tsa.port &
    exec {hold}>hold
    for ((i = 0; i < 100; ++i)); do
        [[ -s ocsp.port && -s tsa.port ]] && break
        sleep 0.1
    done
    ocsp_port=$(<ocsp.port)
    stamps=http://127.0.0.1:$(<tsa.port)
    export stamps
    "$parts_dir/authority" pki "http://127.0.0.1:$ocsp_port" >&2
    for name in good revoked unreachable silent listed by-rogue server old brief; do
        cat "pki/$name.pem" pki/issuing.pem >"pki/$name-chain.pem"
    done
    "$CYBELECTL" sif new plain.sif
    printf 'bootstrap: scratch\n' >app.def
    "$CYBELECTL" sif add plain.sif app.def --datatype 1 --groupid 1
}
setup() { cd "$place" || return; }
teardown_file() {
    exec {hold}>&-
    leave_place
}

# signed NAME [OPTION…]: an image signed with a key and its chain.
signed() {
    cp plain.sif "$1.sif"
    "$CYBELECTL" sign "$1.sif" --key "pki/$1.key" --certificate "pki/$1-chain.pem" "${@:2}" >log 2>&1
}

later=() # what moves the program's clock
verify() {
    run --separate-stderr "${later[@]}" "$CYBELECTL" verify "$@" --certificate-roots pki/root.pem
}

@test "the authority's root is enough, and another root is not" {
    signed good
    verify good.sif
    assert_success
    assert_line --partial 'O=Lab, CN=good'
    run "$CYBELECTL" verify good.sif --certificate-roots pki/self.pem
    assert_failure 4
}

@test "a certificate that is no one's to sign code with, or has expired, ends with 4 and the reason" {
    local name reason
    while read -r name reason; do
        signed "$name"
        verify "$name.sif"
        assert_equal "$name $status" "$name 4"
        [[ $output$stderr == *"$reason"* ]] || fail "$name: $output$stderr"
    done <<'ROWS'
server purpose
old expired on 2021-01-01
ROWS
}

@test "the help of a certificate that does not count is about the certificate" {
    signed old
    assert_file_contains log 'warning: a certificate in pki/old-chain.pem has expired'
    verify old.sif
    assert_equal "$status" 4
    assert_regex "$stderr" 'help: ask the signer to sign again with a renewed certificate'
    signed good
    assert_equal "$(<log)" 'signed good.sif with pki/good.key'
    run -4 "$CYBELECTL" verify good.sif --certificate-roots pki/self.pem
    assert_line --regexp '^help: .*--certificate-roots FILE'
    refute_output --partial 'name the public key'
    signed unreachable
    run -4 "$CYBELECTL" verify unreachable.sif --certificate-roots pki/root.pem --revocation hard
    assert_line --regexp '^help: .*--crl FILE'
    refute_output --partial 'name the public key'
    run -3 "$CYBELECTL" sign good.sif --key pki/good.pem
    assert_line --partial 'help: give the private key that belongs to this certificate'
}

@test "a certificate that is named makes nobody else under its root count" {
    signed good
    verify good.sif --certificate pki/good-chain.pem
    assert_success
    verify good.sif --certificate pki/good.pem # what is between lies beside the signature
    assert_success
    verify good.sif --certificate pki/silent-chain.pem
    assert_failure 4
    [[ $stderr == *'made with another key'* ]]
    run --separate-stderr env SSL_CERT_FILE=pki/root.pem APPTAINER_VERIFY_CERTIFICATE=pki/silent-chain.pem "$CYBELECTL" verify good.sif
    assert_failure 4
    verify good.sif --certificate pki/good.pem --require all
    assert_success
    verify good.sif --certificate pki/good.pem --require 2
    assert_failure 2
    verify good.sif --require all # of whom?
    assert_failure 2
    [[ $stderr == *'roots accept every signer certified under them'* ]]
    verify good.sif --require 2 # somebody else under the root may have signed, too
    assert_failure 4
}

# What each way of asking says: NAME WAY STATUS.
@test "revocation: good, revoked, not to be learnt, softly and strictly" {
    local name way expected
    while read -r name way expected; do
        [[ -e $name.sif ]] || signed "$name"
        verify "$name.sif" --revocation "$way"
        assert_equal "$name $way $status" "$name $way $expected"
    done <<'ROWS'
good none 0
good soft 0
revoked none 0
revoked soft 4
revoked hard 4
unreachable soft 0
unreachable hard 4
by-rogue soft 0
by-rogue hard 4
silent hard 4
listed hard 0
ROWS
}

@test "a responder that cannot be reached is a warning, or the reason" {
    signed unreachable
    verify unreachable.sif --revocation soft
    assert_success
    [[ $output$stderr == *127.0.0.1:1* ]]
    verify unreachable.sif --revocation hard
    assert_failure 4
    [[ $stderr == *127.0.0.1:1* && $stderr == *help:* ]]
}

@test "a list from a file says who is revoked, without a network" {
    signed revoked
    verify revoked.sif --crl pki/issuing.crl --crl pki/root.crl --revocation hard
    assert_failure 4
    [[ $output$stderr == *revoked* ]]
    signed silent
    verify silent.sif --crl pki/issuing.crl --crl pki/root.crl --revocation hard
    assert_success
}

# Policies: REQUIRE ROOTS INTERMEDIATES REVOCATION KEYS IMAGE STATUS, lists with commas, - for none.
@test "a policy counts those who are certified, beside keys" {
    local require roots between revocation keys image expected
    [[ -e plain.pem ]] || "$CYBELECTL" key new plain.pem >log
    signed good
    signed revoked
    cp pki/self.pem pki/self-chain.pem
    cp plain.sif two.sif
    "$CYBELECTL" sign two.sif --key pki/good.key --key pki/self.key --certificate pki/good-chain.pem \
        --certificate pki/self-chain.pem >log
    cp plain.sif same.sif # two certificates under one root
    "$CYBELECTL" sign same.sif --key pki/good.key --key pki/silent.key --certificate pki/good-chain.pem \
        --certificate pki/silent-chain.pem >log
    cp plain.sif both.sif
    "$CYBELECTL" sign both.sif --key pki/good.key --key plain.pem --certificate pki/good-chain.pem >log
    cp plain.sif leaf.sif # the chain without what is between
    "$CYBELECTL" sign leaf.sif --key pki/good.key --certificate pki/good.pem >log
    while read -r require roots between revocation keys image expected; do
        printf 'kind: Policy\nrequire: %s\nkeys: [%s]\ncertificates: {roots: [%s], intermediates: [%s], revocation: %s}\n' \
            "$require" "${keys#-}" "$roots" "${between#-}" "$revocation" >policy.yaml
        run "$CYBELECTL" verify "$image.sif" --policy policy.yaml
        assert_equal "$require $roots $between $revocation $keys $image $status" \
            "$require $roots $between $revocation $keys $image $expected"
    done <<'ROWS'
any pki/root.pem - none - good 0
any pki/self.pem - none - good 4
any pki/root.pem,pki/self.pem - none - good 0
all pki/root.pem,pki/self.pem - none - good 4
all pki/root.pem,pki/self.pem - none - two 0
2 pki/root.pem,pki/self.pem - none - two 0
2 pki/root.pem - none - good 4
2 pki/root.pem - none - same 0
3 pki/root.pem - none - same 4
any pki/root.pem - none - leaf 4
any pki/root.pem pki/issuing.pem none - leaf 0
any pki/root.pem - none - revoked 0
any pki/root.pem - soft - revoked 4
any pki/root.pem - hard - good 0
any pki/root.pem - hard - revoked 4
all pki/root.pem - none plain.pub good 4
all pki/root.pem - none plain.pub both 0
2 pki/root.pem - none plain.pub both 0
any pki/self.pem - none plain.pub both 0
ROWS
}

@test "a time stamp outlives its certificate" {
    # A certificate for five minutes.
    local until
    until=$(($(date +%s) + 300))
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out pki/moment.key 2>/dev/null
    openssl req -new -key pki/moment.key -subj /O=Lab/CN=moment -out moment.csr
    printf 'keyUsage=digitalSignature\nextendedKeyUsage=codeSigning\n' >moment.cnf
    (cd pki && openssl ca -config issuing.cnf -batch -notext -in ../moment.csr -extfile ../moment.cnf -out moment.pem \
        -enddate "$(date -u -d "@$until" +%Y%m%d%H%M%SZ)" 2>/dev/null)
    cat pki/moment.pem pki/issuing.pem >pki/moment-chain.pem
    signed moment
    mv moment.sif unstamped.sif
    signed moment --timestamp-url "$stamps/tsa"
    verify unstamped.sif
    assert_success
    # Ten minutes later, by the clock of the program alone.
    later=(env NO_FAKE_STAT=1 faketime -f +10m)
    verify unstamped.sif
    assert_failure 4
    [[ $output$stderr == *'expired on'* ]]
    verify moment.sif
    assert_success
    verify moment.sif --format json
    assert_success
    (($(jq '.signatures[0].stamped' <<<"$output") <= until))
}

@test "an authority that gives no stamp, a wrong one or an old one leaves the image unsigned" {
    local route
    signed good --timestamp-url "$stamps/replay"
    for route in refuse purpose replay nothing; do
        cp plain.sif unstamped.sif
        run "$CYBELECTL" sign unstamped.sif --key pki/good.key --certificate pki/good-chain.pem --timestamp-url "$stamps/$route"
        assert_failure
        assert_line --partial 'help: '
        cmp plain.sif unstamped.sif
    done
    cp plain.sif unstamped.sif
    run "$CYBELECTL" sign unstamped.sif --key pki/good.key --timestamp-url "$stamps/tsa"
    assert_failure 2
    cmp plain.sif unstamped.sif
}
