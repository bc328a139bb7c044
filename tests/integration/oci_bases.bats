# SPDX-License-Identifier: Apache-2.0
# OCI images as bases: made by umoci and skopeo, served by Debian's docker-registry, built beside Apptainer. About three minutes.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    "$parts_dir/apptainer" make >&2
    umask 022
    # An image with busybox in three layers, made once: links, whiteouts, folders that come anew, owners, odd modes.
    images=$(mktemp -d /var/tmp/cybelectl-images.XXXXXX)
    export images
    cd "$images" || return
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 bundle >/dev/null
    local root=bundle/rootfs
    mkdir -p $root/bin $root/etc $root/usr/bin $root/usr/lib $root/old/deep $root/tmp
    cp /bin/busybox $root/bin
    for name in sh cat ls echo id env printf touch test mkdir; do ln -s busybox $root/bin/$name; done
    ln $root/bin/busybox $root/bin/second
    ln -s usr/lib $root/lib
    echo low >$root/old/deep/low
    echo low >$root/old/low
    echo gone >$root/etc/gone
    echo one >$root/etc/changed
    chmod 1777 $root/tmp
    umoci repack --refresh-bundle --image layout:1 bundle
    rm -rf $root/old $root/etc/gone
    mkdir $root/old
    echo new >$root/old/new
    echo "two, longer" >$root/etc/changed
    echo lib >$root/usr/lib/one
    chown 7:8 $root/usr/lib/one
    chmod 4755 $root/usr/lib/one
    umoci repack --refresh-bundle --image layout:1 bundle
    echo third >$root/etc/third
    umoci repack --refresh-bundle --image layout:1 bundle
    # shellcheck disable=SC2016
    umoci config --image layout:1 --config.env 'PATH=/bin:/usr/bin' --config.env 'ODD=a`b` $HOME "c" it'"'"'s' \
        --config.entrypoint printf --config.entrypoint '<%s>' --config.cmd 'a $HOME' --config.cmd '`id`' \
        --config.label org.example.kind=base --config.user 1000
    rm -rf bundle
    skopeo copy -q oci:layout:1 oci-archive:base.oci.tar:1
    skopeo copy -q oci:layout:1 docker-archive:base.docker.tar:base:1
    gzip -k base.docker.tar
    chmod -R a+rX .
}
teardown_file() {
    rm -rf "$images"
}

setup() { own_home; }
teardown() {
    end_servers
    leave_place
}

apptainer() { "$parts_dir/apptainer" run apptainer "$@"; }
plain() { "$CYBELECTL" image "$@" --plain-http; }

# define NAME AGENT FROM: NAME.def
define() { printf 'Bootstrap: %s\nFrom: %s\n' "$2" "$3" >"$1.def"; }

# tree SIF DIR: its files, without what tells who built it.
tree() {
    local id
    id=$("$CYBELECTL" sif list "$1" --format json | jq -r '.objects[] | select(.type == "FS") | .id')
    "$CYBELECTL" sif dump "$id" "$1" >part.squashfs
    unsquashfs -n -q -d "$2" part.squashfs >/dev/null
    rm -r part.squashfs "$2/.singularity.d"
}

# same_trees A B: names, kinds, modes, owners, links and bytes.
same_trees() {
    diff <(cd "$1" && find . -mindepth 1 ! -name environment -printf '%P %y %m %U:%G %l\n' | sort) \
        <(cd "$2" && find . -mindepth 1 ! -name environment -printf '%P %y %m %U:%G %l\n' | sort)
    diff -r --no-dereference -x environment "$1" "$2"
}

push_base() { # NAME:TAG
    skopeo copy -q --dest-tls-verify=false "oci:$images/layout:1" "docker://127.0.0.1:$registry/$1"
}

@test "a registry, a layout and archives give the same files as Apptainer's build" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    define docker docker "127.0.0.1:$registry/base:1"
    define oci oci "$images/layout:1"
    define oci-archive oci-archive "$images/base.oci.tar:1"
    define docker-archive docker-archive "$images/base.docker.tar"
    define packed docker-archive "$images/base.docker.tar.gz:base:1"
    for kind in docker oci oci-archive docker-archive packed; do
        "$CYBELECTL" build $kind.def -o $kind.sif --plain-http
        tree $kind.sif $kind
        [[ $kind == docker ]] || same_trees docker $kind
    done
    mkdir share
    cp "$images/base.oci.tar" share
    printf 'Bootstrap: oci-archive\nFrom: share/base.oci.tar\n' >their.def
    apptainer build --mksquashfs-args '-comp zstd -Xcompression-level 1' their.sif their.def
    tree their.sif theirs
    # Mount points and files for binds are each builder's own.
    rm -rf {docker,theirs}/{dev,home,proc,root,sys,var,.exec,.run,.shell,.test,singularity,etc/resolv.conf,etc/hosts,etc/localtime,etc/passwd,etc/group}
    same_trees docker theirs
    assert_equal "$(cat docker/etc/changed) $(ls docker/old) $(stat -c %h docker/bin/busybox)" "two, longer new 2"
    assert_equal "$(stat -c '%U:%G %a' docker/usr/lib/one | sed 's/[a-z]*:[a-z]*/x/')" "x 4755"
}

@test "ENTRYPOINT, CMD, ENV and labels are what they say, and nothing is evaluated twice" {
    define app oci "$images/layout:1"
    "$CYBELECTL" -v build app.def -o app.sif 2>steps
    grep -q 'User of the image does not count' steps
    # shellcheck disable=SC2016
    assert_equal "$("$CYBELECTL" run app.sif)" '<a $HOME><`id`>'
    # shellcheck disable=SC2016
    assert_equal "$("$CYBELECTL" run app.sif 'x $HOME' -x '`id`')" '<x $HOME><-x><`id`>'
    # shellcheck disable=SC2016
    assert_equal "$("$CYBELECTL" exec app.sif sh -c 'printf %s "$ODD"')" 'a`b` $HOME "c" it'"'"'s'
    # shellcheck disable=SC2016
    assert_equal "$(apptainer exec app.sif sh -c 'printf %s "$ODD"')" 'a`b` $HOME "c" it'"'"'s'
    # shellcheck disable=SC2016
    assert_equal "$(apptainer run --no-eval app.sif 'x $HOME' -x '`id`')" '<x $HOME><-x><`id`>'
    # Without it Apptainer's own images evaluate the words of their callers, and so do ours there.
    cp "$images/base.oci.tar" .
    apptainer build theirs.sif oci-archive:base.oci.tar
    # shellcheck disable=SC2016
    assert_equal "$(apptainer run app.sif 'x $HOME' -x '`id -u`')" "$(apptainer run theirs.sif 'x $HOME' -x '`id -u`')"
    assert_equal "$("$CYBELECTL" inspect app.sif --format json | jq -r '.. | ."org.example.kind"? // empty' | head -n1)" base
}

@test "layers are kept in the store and shared; an ordinary user builds, too" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    define a docker "127.0.0.1:$registry/base:1"
    printf '%%post\n    echo made >/made; test "$(id -u)" = 0\n' | cat a.def - >b.def
    as_user "$CYBELECTL" build a.def -o a.sif --plain-http
    local files
    files=$(find "$CYBELE_STORE/layers" -type f -printf '%P %i\n' | sort)
    assert_equal "$(wc -l <<<"$files")" 4 # three layers and the configuration
    as_user "$CYBELECTL" -v build b.def -o b.sif --plain-http --no-cache 2>steps
    grep -q 'in the store' steps
    assert_equal "$(find "$CYBELE_STORE/layers" -type f -printf '%P %i\n' | sort)" "$files"
    as_user "$CYBELECTL" exec b.sif cat /made
    # A damaged layer is found, and fetched anew by the next build.
    local layer
    layer=$(find "$CYBELE_STORE/layers" -type f -size +100k -print -quit)
    chmod u+w "$layer"
    printf x | dd of="$layer" bs=1 seek=5000 conv=notrunc status=none
    refuses 4 as_user "$CYBELECTL" build a.def -o c.sif --plain-http --no-cache
    assert [ ! -e c.sif ]
    as_user "$CYBELECTL" build a.def -o c.sif --plain-http --no-cache
    # prune spares what was used lately, and takes what was not.
    as_user "$CYBELECTL" image prune
    assert_equal "$(find "$CYBELE_STORE/layers" -type f | wc -l)" 4
    find "$CYBELE_STORE/layers" -type f -exec touch -d '60 days ago' {} +
    as_user "$CYBELECTL" image prune
    assert_equal "$(find "$CYBELE_STORE/layers" -type f | wc -l)" 0
}

@test "an image of a registry is built without a definition" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    "$CYBELECTL" build "docker://127.0.0.1:$registry/base:1" -o base.sif --plain-http
    run "$CYBELECTL" inspect --deffile base.sif
    assert_line 'Bootstrap: docker'
    "$CYBELECTL" exec base.sif true
}

@test "a Dockerfile is built in one step; what is not carried is named, and a mistake is told at its line" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    mkdir context
    echo own >context/own
    # shellcheck disable=SC2016
    printf '%s\n' "FROM 127.0.0.1:$registry/base:1 AS make" 'ARG WORD=one' 'RUN echo $WORD >/made' \
        "FROM 127.0.0.1:$registry/base:1" 'COPY --from=make /made /made' 'COPY own /own' 'EXPOSE 80' >context/Dockerfile
    run -0 "$CYBELECTL" build context/Dockerfile --build-arg WORD=two -o app.sif --plain-http
    assert_line 'context/Dockerfile: 6 lines converted, 1 left out'
    assert_output --partial 'context/Dockerfile:7:'
    run -0 "$CYBELECTL" exec app.sif cat /made /own
    assert_output $'two\nown'
    sed '3a\WORKDIR /w\nRUN true && \\\n    false' context/Dockerfile >context/failing.Dockerfile
    refuses 6 "$CYBELECTL" build context/failing.Dockerfile -o failing.sif --plain-http
    assert_output --partial 'error: the step failed with exit code 1'
    assert_output --partial $' --> context/failing.Dockerfile:5:1\n  | RUN true && \\\n'
    assert_output --partial 'cybelectl build context/failing.Dockerfile --shell'
    echo 'FORM x' >>context/Dockerfile
    refuses 3 "$CYBELECTL" build context/Dockerfile -o other.sif
    assert_output --partial 'context/Dockerfile:8:1'
    assert_not_exist other.sif
}

@test "a Recipe's base is locked to a digest, and an image that moved is refused" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    printf 'kind: Recipe\nname: app\nbase: {image: "docker://127.0.0.1:%s/base:1"}\nsteps: ["echo made >/made"]\nrun: [cat, /made]\n' \
        "$registry" >app.yaml
    "$CYBELECTL" recipe lock app.yaml --plain-http
    local digest
    digest=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://127.0.0.1:$registry/base:1")
    grep -qF "digest: \"$digest\"" app.lock.yaml
    # The tag becomes another image; the Lock's stays.
    cp -r "$images/layout" moved
    umoci config --image moved:1 --config.cmd other
    skopeo copy -q --dest-tls-verify=false "oci:moved:1" "docker://127.0.0.1:$registry/base:1"
    "$CYBELECTL" build app.yaml --plain-http
    assert_equal "$("$CYBELECTL" run app.sif)" made
    assert_equal "$("$CYBELECTL" inspect app.sif --format json | jq -r '.. | ."org.opencontainers.image.base.digest"? // empty' | head -n1)" "$digest"
    # A layout cannot be asked by digest: it is compared.
    cp -r "$images/layout" layout
    printf 'kind: Recipe\nname: local\nbase: {image: "oci:layout:1"}\nrun: [cat, /etc/third]\n' >local.yaml
    "$CYBELECTL" recipe lock local.yaml
    "$CYBELECTL" build local.yaml
    umoci config --image layout:1 --config.cmd other
    refuses 4 "$CYBELECTL" build local.yaml --force
    assert_output --partial 'is not the image that the Lock names'
}

@test "a Lock keeps the images of all stages, each once" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    push_base tools:1
    printf '%s\n' 'kind: Recipe' 'name: app' "base: {image: \"docker://127.0.0.1:$registry/base:1\"}" 'stages:' \
        "  - {name: one, base: {image: \"docker://127.0.0.1:$registry/tools:1\"}, steps: ['echo tools >/made']}" \
        "  - {name: two, base: {image: \"docker://127.0.0.1:$registry/tools:1\"}, steps: ['echo more >/more']}" \
        '  - {name: three, base: {image: "oci:layout:1"}, steps: ["echo layout >/laid"]}' \
        'files: [{from: /made, to: /made, stage: one}, {from: /more, to: /more, stage: two}, {from: /laid, to: /laid, stage: three}]' \
        'run: [cat, /made, /more, /laid]' >app.yaml
    cp -r "$images/layout" layout
    "$CYBELECTL" recipe lock app.yaml --plain-http
    assert_equal "$(grep -c 'digest: "sha256:' app.lock.yaml)" 3
    "$CYBELECTL" recipe check app.yaml
    # The tag of an earlier stage moves: what was locked is taken.
    cp -r layout moved
    umoci config --image moved:1 --config.cmd other
    skopeo copy -q --dest-tls-verify=false oci:moved:1 "docker://127.0.0.1:$registry/tools:1"
    "$CYBELECTL" build app.yaml --plain-http
    assert_equal "$("$CYBELECTL" run app.sif | xargs)" 'tools more layout'
    # Of a layout the digest is compared.
    umoci config --image layout:1 --config.cmd other
    refuses 4 "$CYBELECTL" build app.yaml --plain-http --force
    assert_output --partial 'is not the image that the Lock names'
}

@test "store:, oras:// and files are bases, and a key judges them before anything is built" {
    serve registry docker-registry open "$place/r"
    define base oci "$images/layout:1"
    "$CYBELECTL" key new good.pem
    "$CYBELECTL" key new other.pem
    "$CYBELECTL" build base.def -o base.sif --sign-key good.pem
    "$CYBELECTL" image add base.sif base:1
    plain push base.sif "oras://127.0.0.1:$registry/base:1"
    local n=0
    for image in store:base:1 "oras://127.0.0.1:$registry/base:1" base.sif; do
        n=$((n + 1))
        printf 'kind: Recipe\nname: app%s\nbase: {image: "%s", key: good.pub}\nrun: [cat, /etc/third]\n' "$n" "$image" >app$n.yaml
        "$CYBELECTL" build app$n.yaml --plain-http
        assert_equal "$("$CYBELECTL" run app$n.sif)" third
        sed 's/good.pub/other.pub/' app$n.yaml >bad.yaml
        refuses 4 "$CYBELECTL" build bad.yaml -o bad.sif --plain-http
        assert_output --partial 'nothing is built from it'
        assert [ ! -e bad.sif ]
    done
}

@test "an image of several architectures, and one of none that fits" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    local type=application/vnd.oci.image digest size
    curl -sf -H "Accept: $type.manifest.v1+json" "http://127.0.0.1:$registry/v2/base/manifests/1" >manifest
    digest=sha256:$(sha256sum manifest | cut -d' ' -f1)
    size=$(stat -c %s manifest)
    entry() { printf '{"mediaType":"%s","size":%s,"digest":"%s","platform":{"os":"%s","architecture":"%s"}}' $type.manifest.v1+json "$size" "$digest" "$1" "$2"; }
    put() { curl -sf -X PUT -H "Content-Type: $type.index.v1+json" --data-binary @- "http://127.0.0.1:$registry/v2/base/manifests/$1"; }
    printf '{"schemaVersion":2,"mediaType":"%s","manifests":[%s,%s,%s]}' $type.index.v1+json "$(entry windows amd64)" "$(entry unknown unknown)" "$(entry linux amd64)" | put list
    printf '{"schemaVersion":2,"mediaType":"%s","manifests":[%s,%s]}' $type.index.v1+json "$(entry linux arm64)" "$(entry unknown unknown)" | put arm
    define list docker "127.0.0.1:$registry/base:list"
    "$CYBELECTL" build list.def -o list.sif --plain-http
    define arm docker "127.0.0.1:$registry/base:arm"
    refuses 3 "$CYBELECTL" build arm.def -o arm.sif --plain-http
    assert_output --partial 'it has linux/arm64'
    assert_output --partial '--> arm.def:2'
}

@test "each mistake in a base has a message of its own" {
    serve registry docker-registry open "$place/r"
    push_base base:1
    local host=127.0.0.1:$registry
    try() { # CODE TEXT AGENT FROM
        define bad "$3" "$4"
        refuses "$1" "$CYBELECTL" build bad.def -o bad.sif --plain-http
        assert_output --partial "$2"
        assert [ ! -e bad.sif ]
    }
    try 3 'a daemon that runs as root' docker-daemon base:1
    try 3 'closed in April 2021' shub a/b
    try 3 'no image docker://' docker "$host/base:none"
    try 3 'in lower case' docker "$host/Base:1"
    try 5 '' docker 127.0.0.1:1/base:1
    try 3 'is not a folder' oci nowhere
    try 3 'has no such image' oci "$images/layout:none"
    try 3 'is not an image layout' oci "$place"
    try 3 'is not an archive of docker' docker-archive "$images/base.oci.tar"
    try 3 'is not a file' docker-archive nowhere.tar
    try 3 'has no such image' docker-archive "$images/base.docker.tar:other:1"
    printf x >broken.tar
    try 3 'is it a complete tar file' oci-archive broken.tar
    try 3 'the header names no image' docker ''
    "$CYBELECTL" sif new app.sif
    plain push app.sif "oras://$host/sif:1"
    try 3 'begin with oras://' docker "$host/sif:1"
    try 3 'is not a SIF' oras "$host/base:1"
}

@test "layouts that lie are refused, and nothing is kept" {
    local blob
    lie() { # CODE
        define bad oci lying:1
        refuses "$1" "$CYBELECTL" build bad.def -o bad.sif
        assert [ ! -e bad.sif ]
        rm -r lying
    }
    layer() { # the first layer's file
        local blobs=lying/blobs/sha256
        echo "$blobs/$(jq -r '.layers[0].digest' "$blobs/$(jq -r '.manifests[0].digest' lying/index.json | cut -d: -f2)" | cut -d: -f2)"
    }
    cp -r "$images/layout" lying && blob=$(layer) && printf x | dd of="$blob" bs=1 seek=9000 conv=notrunc status=none && lie 4
    cp -r "$images/layout" lying && printf x >>"$(layer)" && lie 4
    cp -r "$images/layout" lying && blob=$(layer) && : >"$blob" && lie 4
    cp -r "$images/layout" lying && rm "$(layer)" && lie 3
    cp -r "$images/layout" lying && find lying/blobs -type f -size -4k -exec sh -c 'for f; do printf " " >>"$f"; done' x {} + && lie 4
    cp -r "$images/layout" lying && echo '{' >lying/index.json && lie 3
    run -0 "$CYBELECTL" cache list
    assert_output --partial '0 entries'
    nothing_left bad.def cache home store
}
