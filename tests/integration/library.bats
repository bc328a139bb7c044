# SPDX-License-Identifier: Apache-2.0
# Images of a library server (library://): pulled into the store, as a base; Apptainer reads the same server. About one minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    "$parts_dir/apptainer" make >&2
}

setup() {
    own_home
    mkdir -p root/bin root/etc library/group/tools/app
    cp /bin/busybox root/bin
    ln -s busybox root/bin/sh
    ln -s busybox root/bin/cat
    echo of-the-library >root/etc/from
    printf 'Bootstrap: localimage\nFrom: root\n' >app.def
    "$CYBELECTL" key new good.pem
    "$CYBELECTL" build app.def -o app.sif --sign-key good.pem
    cp app.sif library/group/tools/app/1.amd64.sif
}
teardown() {
    end_servers
    leave_place
}

plain() { "$CYBELECTL" image "$@" --plain-http; }

@test "an image comes by tag, by digest and from a host that is set; Apptainer gets the same bytes" {
    serve library library "$place/library"
    local host=127.0.0.1:$library digest
    digest=$(sha256sum app.sif | cut -d' ' -f1)
    run -0 plain pull "library://$host/group/tools/app:1"
    assert_output "store:group/tools/app:1 image sha256:$digest"
    cmp app.sif "$(plain path group/tools/app:1 2>/dev/null || "$CYBELECTL" image path group/tools/app:1)"
    plain pull library://group/tools/app:1 --library "http://$host" -o set.sif --no-store
    CYBELE_LIBRARY=$host plain pull "library://group/tools/app@sha256:$digest" -o digest.sif
    CYBELE_LIBRARY=$host plain pull "library://group/tools/app:sha256.$digest" -o dotted.sif
    assert_equal "$(sha256sum set.sif digest.sif dotted.sif | grep -c "$digest")" 3
    assert_equal "$(grep -c '^GET /storage/' library/log)" 2 # once for the store, once for the file without it
    "$parts_dir/apptainer" run apptainer pull --library "http://$host" their.sif library://group/tools/app:1
    cmp app.sif their.sif
    plain copy "library://$host/group/tools/app:1" copy.sif
    cmp app.sif copy.sif
}

@test "a broken transfer is gone on with; a token goes to the library only" {
    echo 3 >library/cut
    serve library library "$place/library" secret
    local host=127.0.0.1:$library
    refuses 5 plain pull "library://$host/group/tools/app:1"
    assert_output --partial 'no token for it was found'
    CYBELE_LIBRARY_TOKEN=wrong refuses 5 plain pull "library://$host/group/tools/app:1"
    assert_output --partial 'does not accept the token of $CYBELE_LIBRARY_TOKEN'
    strace -f -qq -s 1000 -e trace=execve -o calls env CYBELE_LIBRARY_TOKEN=secret "$CYBELECTL" image pull \
        "library://$host/group/tools/app:1" --plain-http
    run ! grep '"[^"]*secret[^"]*"' <(grep -v '"env"' calls)
    cmp app.sif "$("$CYBELECTL" image path group/tools/app:1)"
    assert_equal "$(grep -c '^GET /storage/.* bytes=' library/log)" 3
    run ! grep '^GET /storage/.* token ' library/log
    printf '{"auths":{"%s":{"identitytoken":"secret"}}}' "$host" >logins.json
    plain pull "library://$host/group/tools/app:1" --name again --authfile logins.json
}

@test "what a library cannot give is told by what is wrong, and nothing is kept" {
    serve library library "$place/library"
    local host=127.0.0.1:$library
    refuses 3 plain pull library://group/tools/app:1
    assert_output --partial 'no library is set'
    for bad in library://a/b/c/d library:// "library://$host/a//b" "library://$host/a:b:c" "library://$host/a@sha256:12"; do
        refuses 3 plain pull "$bad"
    done
    refuses 3 plain pull "library://$host/group/tools/none:1"
    refuses 3 plain pull "library://$host/group/tools/app:2"
    refuses 3 plain pull "library://$host/group/tools/app:1" --arch arm64
    assert_output --partial 'for arm64'
    refuses 5 plain pull library://127.0.0.1:1/a/b/c
    refuses 5 "$CYBELECTL" image pull "library://$host/group/tools/app:1"
    assert_output --partial 'does not speak https'
    echo '"sha256.'"$(printf '%064d' 1)"'"' >library/hash
    refuses 4 plain pull "library://$host/group/tools/app:1"
    assert_output --partial 'is damaged as the registry sends it'
    refuses 4 plain pull "library://$host/group/tools/app@sha256:$(sha256sum app.sif | cut -d' ' -f1)"
    echo '"sif.0123"' >library/hash
    refuses 3 plain pull "library://$host/group/tools/app:1"
    assert_output --partial 'cannot be verified'
    rm library/hash
    echo text >library/group/tools/app/text.amd64.sif
    refuses 3 plain pull "library://$host/group/tools/app:text"
    assert_output --partial 'is not a SIF'
    refuses 3 plain push app.sif "library://$host/group/tools/app:3"
    assert_output --partial 'pulled only'
    refuses 3 plain pull shub://group/app
    assert_output --partial 'closed in April 2021'
    assert_equal "$(find "$CYBELE_STORE/blobs" -type f 2>/dev/null)" ""
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f 2>/dev/null)" ""
}

@test "a base of a library is locked to its digest and verified by a key" {
    serve library library "$place/library"
    local digest
    digest=$(sha256sum app.sif | cut -d' ' -f1)
    export CYBELE_LIBRARY=127.0.0.1:$library
    printf 'kind: Recipe\nname: own\nbase: {image: "library://group/tools/app:1", key: good.pub}\nrun: [cat, /etc/from]\n' >own.yaml
    "$CYBELECTL" recipe lock own.yaml --plain-http
    grep -qF "digest: \"sha256:$digest\"" own.lock.yaml
    # The tag becomes another image; the Lock's stays.
    mv library/group/tools/app/1.amd64.sif library/group/tools/app/0.amd64.sif
    "$CYBELECTL" sif new library/group/tools/app/1.amd64.sif
    "$CYBELECTL" build own.yaml --plain-http
    assert_equal "$("$CYBELECTL" run own.sif)" of-the-library
    "$CYBELECTL" key new other.pem
    sed 's/good.pub/other.pub/' own.yaml >bad.yaml
    refuses 4 "$CYBELECTL" build bad.yaml -o bad.sif --plain-http --unlocked
    assert_not_exist bad.sif
    # A definition file names its library itself.
    printf 'Bootstrap: library\nFrom: group/tools/app:0\nLibrary: http://%s\n' "$CYBELE_LIBRARY" >named.def
    CYBELE_LIBRARY='' "$CYBELECTL" build named.def -o named.sif --plain-http
    assert_equal "$("$CYBELECTL" exec named.sif cat /etc/from)" of-the-library
}
