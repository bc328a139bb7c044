# SPDX-License-Identifier: Apache-2.0
# A registry, or a host that it names, as an attacker's: it gets no login that is not its own, and what it answers is data.
# Half a minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup() {
    own_home
    "$CYBELECTL" sif new app.sif
}
teardown() {
    end_servers
    leave_place
}

plain() { "$CYBELECTL" image "$@" --plain-http; }

# login_file HOST…: logins of alice for these hosts.
login_file() {
    local host
    for host in "$@"; do
        jq -n --arg host "$host" --arg auth "$(printf 'alice:open sesame' | base64)" '{($host): {auth: $auth}}'
    done | jq -s '{auths: add}' >logins.json
}

@test "C-F5: a host that a registry redirects to asks for the login, and does not get it" {
    serve other hostile-registry "$place/other.log"
    serve registry hostile-registry "$place/log" "127.0.0.1:$other/v2/asks/blob"
    login_file "127.0.0.1:$registry"
    refuses 5 plain pull "oras://127.0.0.1:$registry/sends:1" -o x.sif --authfile logins.json
    assert_output --partial 'which asks for a login'
    assert_file_exist other.log
    run ! grep -q 'sesame' other.log
    assert_file_not_exist x.sif
}

@test "C-F5: the registry itself asks for the login, and gets it" {
    serve registry hostile-registry "$place/log"
    login_file "127.0.0.1:$registry"
    refuses 5 plain pull "oras://127.0.0.1:$registry/asks:1" -o x.sif --authfile logins.json
    grep -q 'alice:open sesame' log
}

@test "C-F5: a token server of another host gets the login that is kept for it, and no other one" {
    serve other hostile-registry "$place/other.log"
    serve registry hostile-registry "$place/log" "http://localhost:$other/token/good"
    login_file "127.0.0.1:$registry"
    run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif --authfile logins.json
    grep -q 'GET /token/good' other.log
    run ! grep -q 'sesame' other.log
    APPTAINER_DOCKER_USERNAME=alice APPTAINER_DOCKER_PASSWORD='open sesame' run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif
    run ! grep -q 'sesame' other.log
    login_file "127.0.0.1:$registry" "localhost:$other"
    run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif --authfile logins.json
    grep -q 'alice:open sesame' other.log
}

@test "C-F5: a token server at another port of the registry's host does not get the login" {
    serve other hostile-registry "$place/other.log"
    serve registry hostile-registry "$place/log" "http://127.0.0.1:$other/token/good"
    login_file "127.0.0.1:$registry"
    run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif --authfile logins.json
    grep -q 'GET /token/good?service=s&scope=[^ ]* - ' other.log
    APPTAINER_DOCKER_USERNAME=alice APPTAINER_DOCKER_PASSWORD='open sesame' run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif
    echo '{"auths": {"127.0.0.1:'"$registry"'": {"identitytoken": "sesame of alice"}}}' >identity.json
    run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif --authfile identity.json
    run ! grep -q 'sesame' other.log
    # Nor when it is checked; the user may allow that server by name.
    refuses 5 plain login "127.0.0.1:$registry" -u alice --password-stdin --authfile new.json <<<'open sesame'
    assert_output --partial "--token-server 127.0.0.1:$other"
    assert_file_not_exist new.json
    run ! grep -q 'sesame' other.log
    plain login "127.0.0.1:$registry" -u alice --password-stdin --authfile new.json --token-server "127.0.0.1:$other" <<<'open sesame'
    grep -q 'alice:open sesame' other.log
    rm other.log
    run plain pull "oras://127.0.0.1:$registry/bearer:1" -o x.sif --authfile new.json
    grep -q 'alice:open sesame' other.log
}

@test "a registry that offers several schemes gets the login by Basic, and one without it is named" {
    serve registry hostile-registry "$place/log"
    login_file "127.0.0.1:$registry"
    for name in several headers; do
        rm -f log
        run plain pull "oras://127.0.0.1:$registry/$name:1" -o x.sif --authfile logins.json
        grep -q 'alice:open sesame' log
    done
    rm log
    refuses 5 plain pull "oras://127.0.0.1:$registry/negotiate:1" -o x.sif --authfile logins.json
    assert_output --partial 'it offers `negotiate`'
    run ! grep -q 'sesame' log
}

@test "small: a token of the wrong type is refused in a sentence" {
    serve registry hostile-registry "$place/log"
    for kind in number list null object newline; do
        refuses 5 plain pull "oras://127.0.0.1:$registry/token-$kind:1" -o x.sif
        assert_output --partial 'gives no token'
    done
    run ! grep -q 'Evil' log
    run plain pull "oras://127.0.0.1:$registry/token-expires:1" -o x.sif
    refute_output --partial 'a fault of cybelectl'
    grep -q 'Bearer good' log
}

@test "small: a list of tags that does not end, or goes on elsewhere, is refused" {
    serve other hostile-registry "$place/other.log"
    serve registry hostile-registry "$place/log" "127.0.0.1:$other/v2/tags/tags/list"
    for name in endless circle away; do
        refuses 5 timeout 120 "$CYBELECTL" image tags "oras://127.0.0.1:$registry/$name" --plain-http
        assert_output --partial 'gives no list that ends'
    done
    assert [ "$(wc -l <log)" -le 1010 ]
    assert_file_not_exist other.log
    run -0 plain tags "oras://127.0.0.1:$registry/tags"
    assert_output one
}

@test "small: a size that is negative, a fraction or a text is refused with what it is" {
    serve registry hostile-registry "$place/log"
    for pair in 'negative -5' 'fraction 1.5' 'text "12"'; do
        refuses 3 plain pull "oras://127.0.0.1:$registry/${pair%% *}:1" -o x.sif
        assert_output --partial "a size in it is ${pair#* }, not a number of bytes"
    done
}

@test "small: an answer that is nested half a million times is refused, and ends no command by a signal" {
    serve registry hostile-registry "$place/log"
    refuses 3 plain pull "oras://127.0.0.1:$registry/deep:1" -o x.sif
    refuses 5 plain tags "oras://127.0.0.1:$registry/deep"
}

@test "small: an image that comes in bytes, or never right, is given up" {
    serve registry hostile-registry "$place/log"
    refuses 5 timeout 60 "$CYBELECTL" image pull "oras://127.0.0.1:$registry/drips:1" -o x.sif --plain-http
    assert [ "$(grep -c blobs log)" -le 20 ]
    refuses 4 timeout 60 "$CYBELECTL" image pull "oras://127.0.0.1:$registry/turns:1" -o x.sif --plain-http
    assert_output --partial 'is damaged as the registry sends it'
    assert [ "$(grep -c turns/blobs log)" -le 10 ]
    assert_file_not_exist x.sif
}

@test "small: pull prints the name that it gave, not another one of the same image" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/zebra:1"
    plain push app.sif "oras://127.0.0.1:$registry/ant:1"
    run -0 plain pull "oras://127.0.0.1:$registry/ant:1"
    assert_line --partial 'store:ant:1 manifest sha256:'
    run -0 plain pull "oras://127.0.0.1:$registry/zebra:1"
    assert_line --partial 'store:zebra:1 manifest sha256:'
    digest=$("$CYBELECTL" image list --format json | jq -r '.images[0].digest')
    manifest=$(plain pull "oras://127.0.0.1:$registry/zebra:1" --format json | jq -r .manifest)
    run -0 plain pull "oras://127.0.0.1:$registry/zebra@$manifest"
    assert_line --partial "store:$digest manifest $manifest, image $digest"
}

@test "C-F6: no helper of the current folder is ever run" {
    mkdir -p libexec/cybelectl
    for file in libexec/cybelectl-http libexec/cybelectl/cybelectl-http cybelectl-http; do
        printf '#!/bin/sh\ntouch %q\n' "$place/helper-ran" >"$file"
        chmod +x "$file"
    done
    printf 'kind: Recipe\nname: app\nbase: {image: "docker://127.0.0.1:1/base:1"}\n' >app.yaml
    printf 'kind: Job\nname: j\nimage: {recipe: app.yaml}\ncommand: ["true"]\n' >j.yaml
    run "$CYBELECTL" submit j.yaml --scheduler local --plain-http
    assert_failure
    refute_output --partial 'cybelectl-http is not here'
    run "$CYBELECTL" build app.yaml -o app2.sif --plain-http
    run "$CYBELECTL" recipe lock app.yaml --plain-http
    for folder in libexec . ''; do
        CYBELE_LIBEXEC=$folder run plain pull oras://127.0.0.1:1/a:1 -o a.sif
        assert_failure 5
    done
    assert_file_not_exist helper-ran
}

@test "submit, build and recipe lock obey the same settings" {
    serve registry hostile-registry "$place/log"
    printf 'kind: Recipe\nname: app\nbase: {image: "docker://127.0.0.1:%s/asks:1"}\n' "$registry" >app.yaml
    printf 'kind: Job\nname: j\nimage: {recipe: app.yaml}\ncommand: ["true"]\n' >j.yaml
    rm -f app.sif # submit takes one that is there
    login_file "127.0.0.1:$registry"
    for verb in 'build app.yaml -o app2.sif' 'submit j.yaml --scheduler local' 'recipe lock app.yaml'; do
        rm -f log
        # shellcheck disable=SC2086
        run "$CYBELECTL" $verb --plain-http --authfile logins.json
        assert_failure
        grep -q 'alice:open sesame' log
    done
    # A cache and a folder for trees that the settings name, and that cannot be used.
    mkdir config
    touch file
    printf 'cache-dir: %s/file/cache\n' "$place" >config/config.yaml
    printf 'kind: Recipe\nname: app\nbase: debian:12\n' >app.yaml
    for verb in 'build app.yaml -o app2.sif' 'submit j.yaml --scheduler local'; do
        # shellcheck disable=SC2086
        CYBELE_CONFIG_DIR=$place/config refuses 5 env -u CYBELE_CACHE_DIR "$CYBELECTL" $verb
        assert_output --partial "$place/file/cache"
    done
}

@test "generate gives the same bytes whatever the settings say" {
    mkdir -p demo/recipes
    printf 'kind: Recipe\nname: app\nbase: debian:12\npackages: {system: [git]}\n' >demo/recipes/app.yaml
    "$CYBELECTL" generate demo -q
    cp -r demo/generated before
    CYBELE_MIRROR=http://mirror.invalid CYBELE_BUILDER=apptainer CYBELE_CA_FILE=/none run -0 "$CYBELECTL" generate demo
    diff -r before demo/generated
}
