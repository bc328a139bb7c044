# SPDX-License-Identifier: Apache-2.0
# Images to and from Debian's docker-registry, with Apptainer and skopeo at the other end, through connections that break.
# About four minutes.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    "$parts_dir/apptainer" make >&2
    "$parts_dir/oras" make >&2
}

setup() {
    own_home
    "$CYBELECTL" sif new app.sif
    head -c 1500000 /dev/urandom >data
    "$CYBELECTL" sif add app.sif data --datatype 7
    rm data
}
teardown() {
    end_servers
    leave_place
}

image() { "$CYBELECTL" image "$@"; }
plain() { "$CYBELECTL" image "$@" --plain-http; }
oras() { "$parts_dir/oras" run "$@"; }
apptainer() { "$parts_dir/apptainer" run apptainer "$@"; }
sum() { sha256sum "$1" | cut -d' ' -f1; }

# manifest REPOSITORY TAG: its bytes.
manifest() {
    curl -sf -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://127.0.0.1:$registry/v2/$1/manifests/$2"
}

# put_manifest REPOSITORY TAG TYPE <bytes
put_manifest() {
    curl -sf -X PUT -H "Content-Type: $3" --data-binary @- "http://127.0.0.1:$registry/v2/$1/manifests/$2"
}

# signed_app: app.sif with an object that a signature covers, signed by centre.pem.
signed_app() {
    rm app.sif
    "$CYBELECTL" sif new app.sif
    head -c 100000 /dev/urandom >data
    "$CYBELECTL" sif add app.sif data --datatype 7 --groupid 1
    "$CYBELECTL" key new centre.pem -q
    "$CYBELECTL" sign app.sif --key centre.pem -q
}

# nothing_kept: no image, whole or half, came into the store.
nothing_kept() {
    assert_equal "$(find "$CYBELE_STORE/blobs" -type f 2>/dev/null)" ""
}

@test "what we push, Apptainer and skopeo read; what Apptainer pushes, we read; the manifests are equal" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry
    plain push app.sif "$host/ours/app:1"
    apptainer pull their.sif "$host/ours/app:1"
    cmp app.sif their.sif
    skopeo inspect --raw --tls-verify=false "docker://127.0.0.1:$registry/ours/app:1" >raw
    manifest ours/app 1 >ours
    cmp raw ours
    apptainer push app.sif "$host/theirs/app:1"
    plain pull "$host/theirs/app:1" -o back.sif
    cmp app.sif back.sif
    manifest theirs/app 1 >theirs
    cmp ours theirs
    skopeo copy -q --src-tls-verify=false "docker://127.0.0.1:$registry/ours/app:1" oci:layout
    cmp app.sif "layout/blobs/sha256/$(sum app.sif)"
}

@test "names with quotes and marks make the manifest that Apptainer makes" {
    serve registry docker-registry open "$place/r"
    for name in 'a b.sif' 'a&b<c>.sif' "it's \"x\".sif" 'größe.sif'; do
        cp app.sif "$name"
        plain push "$name" "oras://127.0.0.1:$registry/names:ours"
        apptainer push "$name" "oras://127.0.0.1:$registry/names:theirs"
        assert_equal "$(manifest names ours)" "$(manifest names theirs)"
    done
}

@test "oras reads what we push, and we what it pushes, with each kind of configuration" {
    serve registry docker-registry open "$place/r"
    local host=127.0.0.1:$registry sif=application/vnd.sylabs.sif
    plain push app.sif "oras://$host/ours:1"
    mkdir got
    oras pull --plain-http -o got "$host/ours:1"
    cmp app.sif got/app.sif
    oras push --plain-http --artifact-type $sif.config.v1+json "$host/theirs:empty" app.sif:$sif.layer.v1.sif
    oras push --plain-http --config /dev/null:$sif.config.v1+json "$host/theirs:none" app.sif:$sif.layer.v1.sif
    for tag in empty none; do
        plain pull "oras://$host/theirs:$tag" -o "$tag.sif"
        cmp app.sif "$tag.sif"
    done
    oras push --plain-http "$host/theirs:text" app.sif:text/plain
    refuses 3 plain pull "oras://$host/theirs:text"
    plain copy "oras://$host/theirs:none" "oras://$host/copied:1"
    oras pull --plain-http -o got/again "$host/copied:1"
    cmp app.sif got/again/app.sif
}

@test "media types of older programs, lists of architectures, and what is not a SIF" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry oci=application/vnd.oci.image
    plain push app.sif "$host/a:1"
    for type in application/vnd.sylabs.sif.layer.tar appliciation/vnd.sylabs.sif.layer.tar; do
        manifest a 1 | sed "s|application/vnd.sylabs.sif.layer.v1.sif|$type|" | put_manifest a old "$oci.manifest.v1+json"
        plain pull "$host/a:old" -o "old.sif" --force
        cmp app.sif old.sif
    done
    local size digest
    size=$(manifest a 1 | wc -c)
    digest=sha256:$(manifest a 1 | sha256sum | cut -d' ' -f1)
    entry() { printf '{"mediaType":"%s","size":%s,"digest":"%s","platform":{"os":"linux","architecture":"%s"}}' "$oci.manifest.v1+json" "$size" "$digest" "$1"; }
    printf '{"schemaVersion":2,"mediaType":"%s","manifests":[%s,%s]}' "$oci.index.v1+json" "$(entry arm64)" "$(entry s390x)" |
        put_manifest a list "$oci.index.v1+json"
    refuses 3 plain pull "$host/a:list"
    assert_output --partial 'it has arm64, s390x'
    plain pull "$host/a:list" --arch arm64 -o list.sif
    cmp app.sif list.sif
    manifest a 1 | sed 's|application/vnd.sylabs.sif.layer.v1.sif|text/plain|' | put_manifest a text "$oci.manifest.v1+json"
    refuses 3 plain pull "$host/a:text"
    assert_output --partial "its type is 'text/plain'"
    manifest a 1 | jq -c '.layers += .layers' | put_manifest a two "$oci.manifest.v1+json"
    refuses 3 plain pull "$host/a:two"
    refuses 3 plain pull "$host/a:none"
    refuses 3 plain pull "$host/none"
    refuses 3 plain tags "$host/none"
    assert_equal "$(plain tags "$host/a" | xargs)" '1 list old text two'
}

@test "several pulls are one document; the name that was asked for is told" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/one:1"
    plain push app.sif "oras://127.0.0.1:$registry/two:1"
    run --separate-stderr "$CYBELECTL" image pull --plain-http "oras://127.0.0.1:$registry/one:1" "oras://127.0.0.1:$registry/two:1" --format json
    assert_success
    run -0 jq -c '[.format, (.pulled | length), (.pulled[].reference | split("/")[3])]' <<<"$output"
    assert_output '[1,2,"one:1","two:1"]'
    run -0 "$CYBELECTL" image pull --plain-http "oras://127.0.0.1:$registry/one:1" --name zoo
    assert_line --partial 'store:zoo:latest'
}

@test "several images go into a folder by -o DIR, and each says by whose key it was verified" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry
    signed_app
    plain push app.sif "$host/centre/one:1" -q
    plain push app.sif "$host/centre/two:1" -q
    run -0 --separate-stderr plain pull "$host/centre/one:1" "$host/centre/two:1" -o images/ --verify centre.pub
    assert_line --index 0 --regexp '^images/one.sif manifest .*, verified by centre.pub \(SHA256:[A-Za-z0-9+/]+\)$'
    assert_line --index 1 --regexp '^images/two.sif manifest .*, verified by centre.pub'
    cmp app.sif images/one.sif
    cmp app.sif images/two.sif
    run -0 plain pull "$host/centre/one:1" -o . # a folder that is there, for one image
    cmp app.sif one.sif
    refute_output --partial 'verified'
    run -0 --separate-stderr plain pull "$host/centre/one:1" --verify centre.pub --format json
    assert_equal "$(jq -r '."verified-by"[0] | split(" ")[0]' <<<"$output")" centre.pub
    plain push app.sif "$host/other/one:1" -q
    refuses 2 plain pull "$host/centre/one:1" "$host/other/one:1" -o images/
    assert_line --partial 'would both be images/one.sif'
    refuses 2 plain pull "$host/centre/one:1" "$host/centre/two:1" -o file.sif
    assert_line 'help: name a folder for all of them: -o DIR/, or pull the images one by one'
}

@test "an image that was changed after it was signed is not pushed" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry
    signed_app
    cp app.sif bad.sif
    python3 - bad.sif <<'END'
import subprocess, sys, json, os
listed = json.loads(subprocess.run([os.environ["CYBELECTL"], "sif", "list", sys.argv[1], "--format", "json"], capture_output=True, check=True).stdout)
place = next(o for o in listed["objects"] if "signature" not in str(o.get("type", "")).lower())
with open(sys.argv[1], "r+b") as image:
    image.seek(place["offset"])
    byte = image.read(1)
    image.seek(place["offset"])
    image.write(bytes([byte[0] ^ 1]))
END
    refuses 4 "$CYBELECTL" verify bad.sif --key centre.pub
    refuses 4 plain push bad.sif "$host/centre/bad:1"
    assert_line 'error: bad.sif was changed after it was signed'
    assert_line --partial 'help: sign it again: `cybelectl sign --force --key KEY bad.sif`'
    refuses 3 plain tags "$host/centre/bad"
    run -4 plain push app.sif bad.sif "$host/all/"
    assert_line '1 of 2 images pushed'
    run -0 plain push bad.sif "$host/centre/bad:1" --force
    "$CYBELECTL" sign --force --key centre.pem bad.sif -q
    run -0 plain push bad.sif "$host/centre/good:1"
}

@test "a push that replaces a signed image by one without a signature is told, with where the signed one is" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry
    cp app.sif plain.sif
    signed_app
    run -0 plain push plain.sif "$host/centre/app:1"
    refute_line --partial warning
    run -0 plain push app.sif "$host/centre/app:1" # signed over unsigned
    refute_line --partial warning
    local signed
    signed=$(plain push app.sif "$host/centre/app:1" --format json | jq -r .manifest)
    run -0 plain push plain.sif "$host/centre/app:1"
    assert_line "warning: $host/centre/app:1 was signed, and is not signed any more"
    assert_line --partial "it is still there as $host/centre/app@$signed"
    assert_line 'help: sign this one and push it again: `cybelectl sign --key KEY IMAGE`'
    run -0 plain push plain.sif "$host/centre/app:1" # unsigned over unsigned
    refute_line --partial warning
    run -0 plain push app.sif "$host/centre/app:1"
    refute_line --partial warning
}

@test "a registry that no image reaches is reported once" {
    cp app.sif b.sif
    cp app.sif c.sif
    local begin=$SECONDS
    run -5 --separate-stderr plain push app.sif b.sif c.sif oras://127.0.0.1:1/centre/
    assert_line --index 0 --partial 'app.sif: error: cannot reach http://127.0.0.1:1/'
    assert_line --index 1 'b.sif: not tried'
    assert_line --index 2 'c.sif: not tried'
    assert_line --index 3 '0 of 3 images pushed'
    assert_equal "$(grep -c '^error:' <<<"$stderr")" 1
    assert [ "$((SECONDS - begin))" -lt 60 ]
}

@test "an image for another architecture is refused before it has a name" {
    serve registry docker-registry open "$place/r"
    head -c 5000 /dev/zero >root
    "$CYBELECTL" sif add app.sif root --datatype 4 --partfs 1 --parttype 2 --partarch 4
    plain push app.sif "oras://127.0.0.1:$registry/arm:1"
    refuses 3 plain pull "oras://127.0.0.1:$registry/arm:1" -o arm.sif
    assert_output --partial 'is an image for arm64'
    assert_not_exist arm.sif
    nothing_kept
    plain pull "oras://127.0.0.1:$registry/arm:1" --arch arm64
}

@test "references that name nothing are told by what is wrong" {
    for bad in 'docker://a.example/x' 'library://x/y/z' 'shub://x/y' 'oras://a.example/' 'oras://a.example/UPPER' \
        'oras://a.example/a..b' 'oras://a.example/a:b:c' 'oras://a.example/a@sha256:12' "oras://a.example/$(printf 'a%.0s' {1..300})" http://a/b app.sif; do
        refuses 3 image pull "$bad"
    done
    refuses 5 image pull oras://no-such-host.invalid/a
    refuses 2 image pull oras://a.example/a --no-store
    refuses 3 image push missing.sif oras://a.example/a
    echo text >text.sif
    refuses 3 image push text.sif oras://a.example/a
}

@test "what is there is not sent again; what another repository has is mounted" {
    serve registry docker-registry open "$place/r"
    serve proxy registry-proxy "$registry" "$place/log"
    local host=oras://127.0.0.1:$proxy
    image add app.sif app
    plain push store:app "$host/one/app:1"
    assert_equal "$(grep -c '^PUT .*/blobs/' log)" 2
    : >log
    run plain push store:app "$host/one/app:1"
    assert_output --partial '(there already)'
    assert_equal "$(wc -l <log)" 1 # one HEAD
    : >log
    plain push store:app "$host/one/app:2"
    run ! grep -E '^(POST|PATCH) |^PUT .*/blobs/' log
    run plain push store:app "$host/two/app:1"
    assert_output --partial '(mounted)'
    rm -rf "$CYBELE_STORE"
    plain pull "$host/two/app:1" --name mine
    cmp app.sif "$(image path mine)"
    run plain push store:mine "$host/three:1"
    assert_output --partial '(mounted)'
}

@test "a copy between registries keeps every byte of the manifest; on one host nothing is moved" {
    serve registry docker-registry open "$place/r"
    serve other docker-registry open "$place/o"
    serve proxy registry-proxy "$registry" "$place/log"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    plain copy "oras://127.0.0.1:$registry/a:1" "oras://127.0.0.1:$other/b:2"
    plain pull "oras://127.0.0.1:$other/b:2" -o b.sif
    cmp app.sif b.sif
    manifest a 1 >one
    registry=$other manifest b 2 >two
    cmp one two
    plain copy "oras://127.0.0.1:$proxy/a:1" "oras://127.0.0.1:$proxy/c:1"
    run ! grep -E '^GET .*/blobs/|^PUT .*/blobs/' log
    plain copy "oras://127.0.0.1:$registry/c:1" store:c
    plain copy store:c c.sif
    cmp app.sif c.sif
}

@test "a registry with passwords: from a login, a file, a program, the environment; never on a command line" {
    serve registry docker-registry htpasswd "$place/r"
    local host=127.0.0.1:$registry
    refuses 5 plain push app.sif "oras://$host/app:1"
    assert_output --partial "image login $host"
    refuses 5 bash -c "echo wrong | '$CYBELECTL' image login $host -u alice --password-stdin --plain-http"
    assert_not_exist home/.docker/config.json
    local nowhere
    : >file
    for nowhere in /proc/none /proc "$place/file"; do # of the environment, not of what was given
        HOME=$nowhere CYBELE_REGISTRY_PASSWORD='open sesame' refuses 5 plain login "$host" -u alice
        assert_line "error: the login cannot be stored in $nowhere/.docker/config.json"
        assert_line 'help: name a file that you can write: --authfile FILE'
    done
    echo '{"auths": []}' >list.json
    CYBELE_REGISTRY_PASSWORD='open sesame' plain login "$host" -u alice --authfile list.json
    printf 'open sesame\n' | strace -f -qq -s 1000 -e trace=execve -o calls "$CYBELECTL" image login "$host" -u alice --password-stdin --plain-http
    assert_equal "$(stat -c %a home/.docker/config.json)" 600
    strace -f -qq -s 1000 -e trace=execve -o calls2 "$CYBELECTL" image push app.sif "oras://$host/app:1" --plain-http
    run ! grep -e sesame -e "$(printf 'alice:open sesame' | base64)" calls calls2
    apptainer pull --authfile home/.docker/config.json a.sif "oras://$host/app:1" # it reads what we wrote
    cmp app.sif a.sif
    image logout "$host"
    refuses 5 plain pull "oras://$host/app:1"
    apptainer registry login --authfile theirs.json --username alice --password 'open sesame' "docker://$host"
    plain pull "oras://$host/app:1" --name theirs --authfile theirs.json
    rm -rf home/.docker home/.apptainer
    APPTAINER_DOCKER_USERNAME=alice APPTAINER_DOCKER_PASSWORD='open sesame' plain tags "oras://$host/app"
    CYBELE_REGISTRY_PASSWORD='open sesame' plain login "$host" -u alice --authfile own.json
    REGISTRY_AUTH_FILE=own.json plain tags "oras://$host/app"
    plain tags "oras://$host/app" --authfile own.json
    mkdir bin
    printf '%s\n' '#!/bin/sh' 'read -r server' 'echo "{\"ServerURL\":\"$server\",\"Username\":\"alice\",\"Secret\":\"open sesame\"}"' >bin/docker-credential-tests
    chmod +x bin/docker-credential-tests
    echo "{\"credHelpers\":{\"$host\":\"tests\"}}" >helper.json
    PATH=$place/bin:$PATH plain tags "oras://$host/app" --authfile helper.json
}

@test "https with an authority of its own: refused unless it is named" {
    serve registry docker-registry tls "$place/r"
    refuses 5 image push app.sif "oras://localhost:$registry/a:1"
    assert_output --partial -- --ca-file
    image push app.sif "oras://localhost:$registry/a:1" --ca-file r/ca.pem
    SSL_CERT_FILE=$place/r/ca.pem image pull "oras://127.0.0.1:$registry/a:1" -o a.sif
    cmp app.sif a.sif
    CYBELE_CA_FILE=$place/r/ca.pem image tags "oras://localhost:$registry/a"
    serve open docker-registry open "$place/o"
    refuses 5 image tags "oras://127.0.0.1:$open/a"
    assert_output --partial 'does not speak https'
    assert_output --partial -- --plain-http
}

@test "tokens: rights that are missing are told, public images need none, ended tokens are renewed" {
    mkdir r
    serve tokens registry-token "$place/r" 1
    serve registry docker-registry token "$place/r" "http://127.0.0.1:$tokens/token"
    local host=127.0.0.1:$registry
    printf 'open sesame\n' | plain login "$host" -u alice --password-stdin --authfile alice.json --token-server "127.0.0.1:$tokens"
    printf 'bob\n' | plain login "$host" -u bob --password-stdin --authfile bob.json --token-server "127.0.0.1:$tokens"
    refuses 5 bash -c "echo wrong | '$CYBELECTL' image login $host -u bob --password-stdin --plain-http --token-server 127.0.0.1:$tokens"
    plain push app.sif "oras://$host/public/app:1" --authfile alice.json
    plain pull "oras://$host/public/app:1" --name anonymous
    refuses 5 plain push app.sif "oras://$host/public/app:2" --authfile bob.json
    assert_output --partial 'does not have this right'
    plain push app.sif "oras://$host/closed/app:1" --authfile alice.json
    refuses 5 plain pull "oras://$host/closed/app:1" --name closed
    plain pull "oras://$host/closed/app:1" --name closed --authfile bob.json
    # The store knows a repository that has it: the token asks for both.
    image add app.sif app
    run plain push store:app "oras://$host/mounted/app:1" --authfile alice.json
    assert_output --partial '(mounted)'
    grep -q '"closed/app", "actions": \["pull"\].*\|.*"mounted/app", "actions": \["pull", "push"\]' r/token.log
    refuses 2 setsid "$CYBELECTL" image login "$host" -u bob --plain-http </dev/null
}

@test "a connection that is cut at every tenth is gone on with, each byte sent once" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    serve proxy registry-proxy "$registry" "$place/log" cut=160000
    plain pull "oras://127.0.0.1:$proxy/a:1"
    cmp app.sif "$(image path a:1)"
    assert_equal "$(grep -cE '^GET .*/blobs/.* bytes=[0-9]+-' log)" 9
    plain pull "oras://127.0.0.1:$proxy/a:1" -o b.sif --no-store
    cmp app.sif b.sif
    assert_equal "$(find . -name '.*.part')" ""
}

@test "a registry that knows no ranges sends it again; one that stays broken is given up" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    serve proxy registry-proxy "$registry" "$place/log" cut=400000:1 no-range
    plain pull "oras://127.0.0.1:$proxy/a:1"
    cmp app.sif "$(image path a:1)"
    serve busy registry-proxy "$registry" "$place/log2" status=500:99
    refuses 5 plain pull "oras://127.0.0.1:$busy/a:1" --name other
    assert_output --partial 'answers 500'
    assert_equal "$(wc -l <log2)" 6
}

@test "429 and 500 are waited for, an upload that breaks begins again" {
    serve registry docker-registry open "$place/r"
    serve busy registry-proxy "$registry" "$place/log" status=429:3
    plain push app.sif "oras://127.0.0.1:$busy/a:1"
    assert_equal "$(grep -c ' 429$' log)" 3
    serve broken registry-proxy "$registry" "$place/log2" status=503:2
    plain pull "oras://127.0.0.1:$broken/a:1"
    head -c 1000 /dev/urandom >more
    "$CYBELECTL" sif add app.sif more --datatype 7
    serve cutting registry-proxy "$registry" "$place/log3" cut-upload=3
    plain push app.sif "oras://127.0.0.1:$cutting/a:2"
    assert_equal "$(grep -c ' cut$' log3)" 3
    plain pull "oras://127.0.0.1:$registry/a:2" -o b.sif
    cmp app.sif b.sif
}

@test "an image pulled by tag and digest keeps the tag as its name" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/group/a:1"
    local manifest
    manifest=$(plain copy "oras://127.0.0.1:$registry/group/a:1" "oras://127.0.0.1:$registry/group/b:1")
    plain pull "oras://127.0.0.1:$registry/group/a:1@${manifest#*@}"
    cmp app.sif "$("$CYBELECTL" image path group/a:1)"
}

@test "damaged bytes never become an image" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    serve proxy registry-proxy "$registry" "$place/log" damage
    refuses 4 plain pull "oras://127.0.0.1:$proxy/a:1"
    refuses 4 plain pull "oras://127.0.0.1:$proxy/a:1" -o a.sif
    refuses 4 plain pull "oras://127.0.0.1:$proxy/a:1" -o a.sif --no-store
    assert_not_exist a.sif
    nothing_kept
    assert_equal "$(find store/tmp . -maxdepth 1 -name '*.part' -o -name 'pull-*')" ""
    refuses 3 plain pull "oras://127.0.0.1:$proxy/a@sha256:$(printf "%064d" 0)"
    serve longer registry-proxy "$registry" "$place/log2" longer
    refuses 4 plain pull "oras://127.0.0.1:$longer/a:1"
    assert_output --partial 'more bytes come than the'
    refuses 4 plain pull "oras://127.0.0.1:$longer/a:1" -o a.sif --no-store
    assert_not_exist a.sif
    nothing_kept
}

@test "a redirect to another host does not take the login along" {
    serve registry docker-registry htpasswd "$place/r"
    serve open docker-registry open "$place/o"
    serve there registry-proxy "$open" "$place/there"
    serve proxy registry-proxy "$registry" "$place/log" "elsewhere=$there"
    printf 'open sesame\n' | plain login "127.0.0.1:$proxy" -u alice --password-stdin
    plain push app.sif "oras://127.0.0.1:$proxy/a:1"
    plain push app.sif "oras://127.0.0.1:$open/a:1" # the other one has it too
    plain pull "oras://127.0.0.1:$proxy/a:1"
    grep -qE '^GET .*/blobs/.* - 200$' there
    run ! grep login there
    grep -q ' login 307$' log
}

@test "who must have signed it is asked before it has a name" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry
    "$CYBELECTL" key new centre.pem
    "$CYBELECTL" key new other.pem
    plain push app.sif "$host/a:unsigned"
    "$CYBELECTL" sif new signed.sif
    head -c 300000 /dev/urandom >data
    "$CYBELECTL" sif add signed.sif data --datatype 7 --groupid 1
    "$CYBELECTL" sign signed.sif --key centre.pem
    plain push signed.sif "$host/a:signed"
    printf '%s\n' 'kind: Policy' 'keys: [centre.pub]' >policy.yaml
    for who in centre.pub policy.yaml; do
        refuses 4 plain pull "$host/a:unsigned" --verify "$who" -o a.sif
    done
    refuses 4 plain pull "$host/a:signed" --verify other.pub -o a.sif
    refuses 4 plain pull "$host/a:signed" --verify other.pub -o a.sif --no-store
    nothing_kept
    assert_not_exist a.sif
    plain pull "$host/a:signed" --verify policy.yaml -o a.sif
    cmp signed.sif a.sif
    refuses 4 plain pull "$host/a:signed" --verify other.pub -o b.sif # of the store, too
    assert_not_exist b.sif
    refuses 3 plain pull "$host/a:signed" --verify missing.pub
}

@test "a pull that is killed is gone on with by the next" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    serve hanging registry-proxy "$registry" "$place/log" hang=700000
    "$CYBELECTL" image pull "oras://127.0.0.1:$hanging/a:1" --plain-http 3>&- &
    local pid=$!
    came() { [[ $(stat -c %s store/tmp/pull-* 2>/dev/null) == 700000 ]]; }
    wait_for 20 came
    kill -KILL "$pid"
    wait "$pid" || true
    nothing_kept
    serve proxy registry-proxy "$registry" "$place/log2"
    plain pull "oras://127.0.0.1:$proxy/a:1"
    grep -q 'bytes=700000-' log2
    cmp app.sif "$(image path a:1)"
    assert_equal "$(find store/tmp -type f)" ""
}

@test "16 processes that pull, add and collect at once: one download, no lost image" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    serve proxy registry-proxy "$registry" "$place/log"
    local i
    for i in $(seq 16); do
        (
            set -e
            plain pull "oras://127.0.0.1:$proxy/a:1" --name "a:$i" -o "out$i.sif"
            cmp app.sif "out$i.sif"
            image prune --grace '0 s'
            image add app.sif "again:$i"
            image remove "a:$i"
            image prune --grace '0 s'
            touch "done$i"
        ) >"log.$i" 2>&1 3>&- &
        pids[i]=$!
    done
    wait "${pids[@]}"
    cat log.*
    assert_equal "$(find . -maxdepth 1 -name 'done*' | wc -l)" 16
    assert_equal "$(grep -cE "^GET .*/blobs/sha256:$(sum app.sif)" log)" 1
    image verify
    assert_equal "$(image list --format json | jq -r '.images | length')" 1
}

# written COMMAND…: the bytes that it and its helper write into files of this place.
written() {
    strace -f -qq -y -e trace=write,pwrite64,writev,pwritev,copy_file_range,sendfile,splice -o calls "$@"
    grep -F "<$place/" calls | sed -nE 's/.* = ([0-9]+)$/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'
}

@test "what is pulled is written once, into the store as into a file" {
    serve registry docker-registry open "$place/r"
    head -c 20000000 /dev/urandom >data
    "$CYBELECTL" sif add app.sif data --datatype 7
    local name=oras://127.0.0.1:$registry/a:1 size
    size=$(stat -c %s app.sif)
    plain push app.sif "$name"
    local bytes
    bytes=$(written "$CYBELECTL" image pull "$name" --plain-http -q)
    assert [ "$bytes" -ge "$size" ]
    assert [ "$bytes" -le $((size + size / 20)) ]
    rm -r "$CYBELE_STORE"
    bytes=$(written "$CYBELECTL" image pull "$name" --plain-http -q -o out.sif --link)
    assert [ "$bytes" -le $((size + size / 20)) ]
    cmp app.sif out.sif
}

@test "several images are pushed into a folder of a registry; both digests are named" {
    serve registry docker-registry open "$place/r"
    local host=oras://127.0.0.1:$registry
    cp app.sif second.sif
    "$CYBELECTL" sif add second.sif app.sif --datatype 7
    "$CYBELECTL" image add app.sif third:3 -q
    run -0 --separate-stderr plain push app.sif second.sif store:third:3 "$host/centre/" --tag 2026.1
    local manifest
    manifest=sha256:$(manifest centre/app 2026.1 | sha256sum | cut -d ' ' -f 1)
    assert_line --index 0 "$host/centre/app:2026.1 manifest $manifest, image sha256:$(sum app.sif) (uploaded)"
    assert_line --index 1 --partial "$host/centre/second:2026.1 manifest sha256:"
    assert_line --index 2 --partial "$host/centre/third:2026.1 manifest sha256:"
    assert_line --index 3 '3 of 3 images pushed'
    run -0 --separate-stderr plain pull "$host/centre/app:2026.1" -o back.sif
    assert_output --partial "manifest $manifest, image sha256:$(sum back.sif)"
    plain pull "$host/centre/app@$manifest" -o pinned.sif # what is called a manifest names the image
    cmp app.sif pinned.sif
    run -3 --separate-stderr plain push gone.sif app.sif "$host/centre/" --format json
    run -0 jq -c '[(.images[] | .image, .reference?, ."manifest-digest"?)]' <<<"$output"
    assert_output "[\"gone.sif\",null,null,\"app.sif\",\"$host/centre/app:latest\",\"$manifest\"]"
    refuses 2 plain push app.sif second.sif "$host/centre/one:1"
    refuses 2 plain push app.sif "$host/centre/one:1" --tag 2
    refuses 2 plain push app.sif
    refuses 3 plain push app.sif second.sif ./folder/
}
