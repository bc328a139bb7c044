# SPDX-License-Identifier: Apache-2.0
# What lies beside images: lists of packages, provenance, statements; and oras at the other end. About one minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    "$parts_dir/oras" make >&2
}
setup() { own_home; }
teardown() {
    end_servers
    leave_place
}

plain() { "$CYBELECTL" image "$@" --plain-http; }
oras() { "$parts_dir/oras" run "$@"; }

# make_image: app.sif, signed, of busybox and dpkg's list of two packages; app.def, good.pem, app.intoto.
make_image() {
    mkdir -p root/bin root/var/lib/dpkg root/etc
    cp /bin/busybox root/bin
    ln -s busybox root/bin/sh
    printf 'ID=debian\nVERSION_ID=12\n' >root/etc/os-release
    printf 'Package: %s\nStatus: install ok installed\nArchitecture: amd64\nVersion: %s\n\n' one 1:2.0+b1-3 two 7 >root/var/lib/dpkg/status
    printf 'Bootstrap: localimage\nFrom: root\n' >app.def
    "$CYBELECTL" key new good.pem
    "$CYBELECTL" build app.def -o app.sif --sbom spdx --sign-key good.pem --provenance app.intoto
}

@test "build --sbom puts a list into the signed group; --provenance says what it was made from" {
    make_image
    "$CYBELECTL" verify app.sif --key good.pub
    "$CYBELECTL" inspect --sbom app.sif >list.json
    assert_equal "$(jq -r '.packages[].externalRefs[]?.referenceLocator' list.json | xargs)" \
        'pkg:deb/debian/one@1:2.0%2Bb1-3?arch=amd64&distro=debian-12 pkg:deb/debian/two@7?arch=amd64&distro=debian-12'
    assert_equal "$("$CYBELECTL" sif list app.sif --format json | jq '[.objects[] | select(.group == 1)] | length')" \
        "$("$CYBELECTL" sif list app.sif --format json | jq '[.objects[] | select(.type != "Signature")] | length')"
    jq -r .payload app.intoto | base64 -d >statement
    assert_equal "$(jq -r '.subject[0].digest.sha256' statement)" "$(sha256sum app.sif | cut -d' ' -f1)"
    jq -e '._type == "https://in-toto.io/Statement/v1" and .predicateType == "https://slsa.dev/provenance/v1"
        and .predicate.buildDefinition.externalParameters.source == "app.def"' statement
    # OpenSSL verifies what was signed: type and payload with their lengths.
    {
        printf 'DSSEv1 28 application/vnd.in-toto+json %s ' "$(stat -c %s statement)"
        cat statement
    } >signed
    jq -r '.signatures[0].sig' app.intoto | base64 -d >sig
    openssl pkeyutl -verify -pubin -inkey good.pub -rawin -in signed -sigfile sig
    refuses 2 "$CYBELECTL" build app.def -o b.sif --provenance b.intoto
}

# attached IMAGE: the type and digest of each document that oras finds attached.
attached() { oras discover --plain-http --format json "$1" | jq -r '.referrers[] | .artifactType + " " + .digest'; }

@test "a push attaches the image's list of packages once, which oras lists and reads; attach is refused" {
    serve registry docker-registry open "$place/r"
    make_image
    local host=127.0.0.1:$registry
    plain push app.sif "oras://$host/app:1"
    plain push app.sif "oras://$host/app:1" # once is enough
    run -0 attached "$host/app:1"
    assert_output --regexp '^application/spdx\+json sha256:[0-9a-f]{64}$'
    oras pull --plain-http -o got "$host/app@${output#* }"
    cmp got/app.spdx.json <("$CYBELECTL" inspect --sbom app.sif)
    plain push app.sif "oras://$host/bare:1" --no-attach
    run -0 attached "$host/bare:1"
    assert_output ''
    refuses 2 "$CYBELECTL" image attach "oras://$host/app:1" app.intoto
    assert_line 'help: write `oras attach --artifact-type TYPE IMAGE FILE`'
    refuses 2 "$CYBELECTL" image referrers "oras://$host/app:1"
    assert_line 'help: write `oras discover IMAGE`'
}

@test "a list that processes wrote at once is complete, and what oras added to it stays" {
    serve registry docker-registry open "$place/r"
    make_image
    local host=127.0.0.1:$registry pids=()
    plain push app.sif "oras://$host/app:1" --no-attach
    echo '{"note":1}' >note.json
    oras attach --plain-http --artifact-type application/x-note "$host/app:1" note.json:application/x-note
    for _ in 1 2 3 4 5 6 7 8; do
        plain push app.sif "oras://$host/app:1" >/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    run -0 attached "$host/app:1"
    assert_equal "$(cut -d' ' -f1 <<<"$output" | sort | xargs)" 'application/spdx+json application/x-note'
}

@test "an OCI base with a key needs a signed statement of its digest beside it" {
    serve registry docker-registry open "$place/r"
    local host=127.0.0.1:$registry digest
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 bundle >/dev/null
    mkdir bundle/rootfs/bin
    cp /bin/busybox bundle/rootfs/bin/sh
    umoci repack --image layout:1 bundle
    skopeo copy -q --dest-tls-verify=false oci:layout:1 "docker://$host/base:1"
    digest=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$host/base:1")
    "$CYBELECTL" key new good.pem
    "$CYBELECTL" key new other.pem
    printf 'kind: Recipe\nname: app\nbase: {image: "docker://%s/base:1", key: good.pub}\nrun: [sh, -c, "exit 0"]\n' "$host" >app.yaml
    refuses 4 "$CYBELECTL" build app.yaml --plain-http
    assert_output --partial 'no signed statement is attached'
    statement() { # KEY DIGEST FILE
        printf '{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"base","digest":{"sha256":"%s"}}],"predicateType":"https://example.org/approved","predicate":{}}' \
            "${2#sha256:}" >payload
        {
            printf 'DSSEv1 28 application/vnd.in-toto+json %s ' "$(stat -c %s payload)"
            cat payload
        } >signed
        openssl pkeyutl -sign -inkey "$1" -rawin -in signed -out sig
        jq -n --arg p "$(base64 -w0 payload)" --arg s "$(base64 -w0 sig)" \
            '{payloadType: "application/vnd.in-toto+json", payload: $p, signatures: [{sig: $s}]}' >"$3"
    }
    attach() {
        local type=application/vnd.dsse.envelope.v1+json
        oras attach --plain-http --artifact-type $type "$host/base:1" "$1:$type"
    }
    statement other.pem "$digest" other.json
    statement good.pem "sha256:$(printf x | sha256sum | cut -d' ' -f1)" elsewhere.json
    attach other.json
    attach elsewhere.json
    refuses 4 "$CYBELECTL" build app.yaml --plain-http
    assert_output --partial 'of 2 signed statements'
    assert [ ! -e app.sif ]
    # A Policy of certificates: the chain lies beside the signature.
    "$parts_dir/authority" pki http://127.0.0.1:9
    printf '%s\n' 'kind: Policy' 'certificates: {roots: [pki/root.pem], revocation: none}' >policy.yaml
    sed 's/good.pub/policy.yaml/' app.yaml >certified.yaml
    refuses 4 "$CYBELECTL" build certified.yaml -o certified.sif --plain-http
    statement pki/good.key "$digest" certified.json
    jq --arg c "$(cat pki/good.pem pki/issuing.pem)" '.signatures[0].cert = $c' certified.json >chain.json
    attach chain.json
    "$CYBELECTL" build certified.yaml -o certified.sif --plain-http
    refuses 4 "$CYBELECTL" build app.yaml --plain-http # a certificate is no key
    statement good.pem "$digest" good.json
    attach good.json
    "$CYBELECTL" build app.yaml --plain-http
    "$CYBELECTL" run app.sif
}

@test "image diff tells packages and files; several images in one pull" {
    serve registry docker-registry open "$place/r"
    make_image
    cp app.sif a.sif
    sed -i 's/^Version: 7/Version: 8/' root/var/lib/dpkg/status
    echo new >root/etc/new
    "$CYBELECTL" build app.def -o b.sif --sbom none
    run "$CYBELECTL" image diff a.sif b.sif --ignore time
    assert_equal "$status" 4
    assert_output --partial 'two'
    assert_output --partial '/etc/new'
    assert_line 'object:' # the signature is of another image
    run "$CYBELECTL" image diff a.sif b.sif --only package
    refute_output --partial '/etc/new'
    "$CYBELECTL" image diff a.sif a.sif
    "$CYBELECTL" image add a.sif a:1
    "$CYBELECTL" image diff store:a:1 a.sif
    plain push a.sif "oras://127.0.0.1:$registry/a:1" --no-attach
    plain push b.sif "oras://127.0.0.1:$registry/b:1" --no-attach
    plain pull "oras://127.0.0.1:$registry/a:1" "oras://127.0.0.1:$registry/b:1"
    "$CYBELECTL" image list b:1
    refuses 2 plain pull "oras://127.0.0.1:$registry/a:1" "oras://127.0.0.1:$registry/b:1" -o c.sif
    # One that is missing does not keep the others away.
    "$CYBELECTL" image remove a:1 b:1
    refuses 3 plain pull "oras://127.0.0.1:$registry/none:1" "oras://127.0.0.1:$registry/b:1"
    "$CYBELECTL" image list b:1
}
