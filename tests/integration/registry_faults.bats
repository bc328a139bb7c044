# SPDX-License-Identifier: Apache-2.0
# What goes wrong on the way to and from registries: transfers that stall or are cut, tokens that end meanwhile, full disks,
# SIGKILL, many processes at once. The store stays whole, nothing wrong is served, and a second try succeeds. About three
# minutes. CYBELE_KILLS=100000 kills at every system call instead of a sample.
load ../parts/suite.bash
load ../parts/serve.bash

sudo=()
setup() {
    own_home
    "$CYBELECTL" sif new app.sif
    head -c 1500000 /dev/urandom >data
    "$CYBELECTL" sif add app.sif data --datatype 7
    rm data
}
teardown() {
    end_servers
    ! mountpoint -q disk || "${sudo[@]}" umount disk
    leave_place
}

image() { "$CYBELECTL" image "$@"; }
plain() { "$CYBELECTL" image "$@" --plain-http; }
sum() { sha256sum "$1" | cut -d' ' -f1; }

# oci_layout: layout:1, an OCI image of busybox and 3 MB that do not shrink, in two layers.
oci_layout() {
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 bundle >/dev/null
    mkdir -p bundle/rootfs/bin bundle/rootfs/etc
    cp /bin/busybox bundle/rootfs/bin
    for name in sh cat; do ln -s busybox bundle/rootfs/bin/$name; done
    umoci repack --refresh-bundle --image layout:1 bundle
    head -c 3000000 /dev/urandom >bundle/rootfs/etc/data
    umoci repack --refresh-bundle --image layout:1 bundle
    rm -rf bundle
}

# with_base: serves layout:1 as base:1 and defines base.def on it.
with_base() {
    oci_layout
    serve registry docker-registry open "$place/r"
    skopeo copy -q --dest-tls-verify=false oci:layout:1 "docker://127.0.0.1:$registry/base:1"
    printf 'Bootstrap: docker\nFrom: 127.0.0.1:%s/base:1\n' "$registry" >base.def
}

# layers_are_whole: each layer in the store is what its name says.
layers_are_whole() {
    local file
    while read -r file; do
        [[ $(basename "$(dirname "$file")")$(basename "$file") == "$(sum "$file")" ]] || { echo "damaged: $file" && return 1; }
    done < <(find "$CYBELE_STORE/layers" -type f ! -name '*.*' 2>/dev/null)
}

@test "a registry that stalls is asked again and the rest comes; one that stays silent is given up" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    serve once registry-proxy "$registry" "$place/log" hang=700000:1
    export CYBELE_STALL_LIMIT='2 s'
    plain pull "oras://127.0.0.1:$once/a:1"
    cmp app.sif "$(image path a:1)"
    grep -q ' bytes=700000- ' log
    image remove a:1
    serve always registry-proxy "$registry" "$place/log2" hang=0
    refuses 5 plain pull "oras://127.0.0.1:$always/a:1"
    assert_equal "$(find "$CYBELE_STORE/blobs" -type f)" ""
    plain pull "oras://127.0.0.1:$registry/a:1"
    cmp app.sif "$(image path a:1)"
    CYBELE_STALL_LIMIT=soon refuses 2 plain pull "oras://127.0.0.1:$registry/a:1"
}

@test "several images come side by side: one that stalls does not keep the other away" {
    serve registry docker-registry open "$place/r"
    cp app.sif other.sif
    head -c 200000 /dev/urandom >more
    "$CYBELECTL" sif add other.sif more --datatype 7
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    plain push other.sif "oras://127.0.0.1:$registry/b:1"
    serve proxy registry-proxy "$registry" "$place/log" hang=0:1
    CYBELE_STALL_LIMIT='15 s' "$CYBELECTL" image pull "oras://127.0.0.1:$proxy/a:1" "oras://127.0.0.1:$proxy/b:1" --plain-http >out 3>&- &
    local pid=$!
    one_came() { [[ $(find "$CYBELE_STORE/blobs" -type f ! -name '*.json' | wc -l) == 1 ]]; }
    wait_for 10 one_came
    kill -0 "$pid"
    wait "$pid"
    cmp app.sif "$(image path a:1)"
    cmp other.sif "$(image path b:1)"
    assert_equal "$(cut -d' ' -f1 out | xargs)" 'store:a:1 store:b:1'
}

@test "an upload that is cut at every tenth: the first try is given up, the second is whole" {
    serve registry docker-registry open "$place/r"
    serve cutting registry-proxy "$registry" "$place/log" cut-upload-tenths
    refuses 5 plain push app.sif "oras://127.0.0.1:$cutting/a:1"
    refuses 3 plain pull "oras://127.0.0.1:$registry/a:1" --name early
    plain push app.sif "oras://127.0.0.1:$cutting/a:1"
    assert_equal "$(grep -c ' cut$' log)" 9
    plain pull "oras://127.0.0.1:$registry/a:1" -o back.sif
    cmp app.sif back.sif
}

@test "tokens that end in mid transfer are renewed, and each byte comes once; an identity token is exchanged" {
    mkdir r
    serve tokens registry-token "$place/r"
    serve registry docker-registry token "$place/r" "http://127.0.0.1:$tokens/token"
    serve proxy registry-proxy "$registry" "$place/log" cut=160000 token-uses=2
    local host=127.0.0.1:$proxy
    printf '{"auths":{"%s":{"identitytoken":"alice'"'"'s identity"},"127.0.0.1:%s":{"identitytoken":"alice'"'"'s identity"}}}' "$host" "$tokens" >identity.json
    plain push app.sif "oras://$host/closed/a:1" --authfile identity.json
    : >log
    local before
    before=$(wc -l <r/token.log)
    plain pull "oras://$host/closed/a:1" --authfile identity.json
    cmp app.sif "$(image path closed/a:1)"
    assert_equal "$(grep -cE '^GET .*/blobs/.* bytes=[0-9]+- login 206' log)" 9
    assert [ $(($(wc -l <r/token.log) - before)) -ge 5 ]
    printf '{"auths":{"%s":{"identitytoken":"nobody"},"127.0.0.1:%s":{"identitytoken":"nobody"}}}' "$host" "$tokens" >wrong.json
    refuses 5 plain pull "oras://$host/closed/a:1" --authfile wrong.json --name wrong
}

@test "a token is renewed before it ends: after the first question nothing is refused" {
    mkdir r
    serve tokens registry-token "$place/r" 11 # renewed ten seconds before
    serve registry docker-registry token "$place/r" "http://127.0.0.1:$tokens/token"
    serve proxy registry-proxy "$registry" "$place/log" cut=160000
    printf 'open sesame\n' | plain login "127.0.0.1:$proxy" -u alice --password-stdin --token-server "127.0.0.1:$tokens"
    plain push app.sif "oras://127.0.0.1:$proxy/a:1"
    : >log
    : >r/token.log
    plain pull "oras://127.0.0.1:$proxy/a:1"
    assert_equal "$(grep -c ' 401$' log)" 1
    assert [ "$(wc -l <r/token.log)" -ge 2 ]
}

@test "layers: cut at every tenth, damaged, behind 429; a full disk leaves the store whole" {
    with_base
    serve cutting registry-proxy "$registry" "$place/log" cut=320000 status=429:2
    sed "s/$registry/$cutting/" base.def >cut.def
    "$CYBELECTL" build cut.def -o cut.sif --plain-http
    assert [ "$(grep -cE '^GET .*/blobs/.* bytes=[0-9]+- ' log)" -ge 9 ]
    layers_are_whole
    rm -rf "$CYBELE_STORE"
    serve damaging registry-proxy "$registry" "$place/log2" damage
    sed "s/$registry/$damaging/" base.def >damaged.def
    refuses 4 "$CYBELECTL" build damaged.def -o bad.sif --plain-http --no-cache
    assert_equal "$(find "$CYBELE_STORE/layers" -type f -size +50k 2>/dev/null)" ""
    layers_are_whole
    mkdir disk
    [[ $(id -u) == 0 ]] || sudo=(sudo)
    "${sudo[@]}" mount -t tmpfs -o size=2m,mode=1777 tmpfs disk
    CYBELE_STORE=$place/disk/store refuses 5 "$CYBELECTL" build base.def -o full.sif --plain-http --no-cache
    assert_output --partial 'too little space for the layer'
    assert_not_exist full.sif
    CYBELE_STORE=$place/disk/store layers_are_whole
    "${sudo[@]}" mount -o remount,size=20m disk
    CYBELE_STORE=$place/disk/store "$CYBELECTL" build base.def -o full.sif --plain-http --no-cache
    CYBELE_STORE=$place/disk/store layers_are_whole
    "$CYBELECTL" exec full.sif sh -c 'exit 0'
    assert_equal "$(find disk/store/tmp -type f)" ""
    "${sudo[@]}" umount disk
}

calls='openat,write,pwrite64,rename,unlink,fsync,fdatasync,fchmod,utimensat,linkat,mkdir,ioctl,ftruncate'

# count_calls COMMAND…: how many system calls of the program itself change something.
count_calls() {
    strace -qq -e trace="$calls" -o /dev/stdout "$@" 2>/dev/null | grep -c '('
}

# killed_at NUMBER COMMAND…: SIGKILL at that call.
killed_at() {
    strace -qq -o /dev/null -e trace="$calls" -e inject="$calls:signal=KILL:when=$1" "${@:2}" >/dev/null 2>&1 || true
}

@test "SIGKILL at each system call of a pull that changes something: the store stays whole" {
    serve registry docker-registry open "$place/r"
    plain push app.sif "oras://127.0.0.1:$registry/a:1"
    plain push app.sif "oras://127.0.0.1:$registry/keep:1"
    local count i pull=("$CYBELECTL" image pull "oras://127.0.0.1:$registry/a:1" --plain-http)
    count=$(count_calls "${pull[@]}")
    for ((i = 1; i <= count; i += 1 + count / ${CYBELE_KILLS:-40})); do
        rm -rf "$CYBELE_STORE"
        killed_at "$i" "${pull[@]}"
        [[ ! -d $CYBELE_STORE/blobs ]] || image verify -q
        "${pull[@]}" -q
        cmp app.sif "$(image path a:1)"
    done
    assert [ "$count" -ge 30 ]
    image prune --grace '0 s'
    touch -d '2 minutes ago' "$CYBELE_STORE"/tmp/* 2>/dev/null || true
    image prune
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f)" ""
}

@test "SIGKILL at each system call of the import of layers: nothing wrong is kept, the next build succeeds" {
    with_base
    local count i build=("$CYBELECTL" build base.def -o base.sif --plain-http --no-cache --force)
    count=$(count_calls "${build[@]}")
    for ((i = 1; i <= count; i += 1 + count / ${CYBELE_KILLS:-20})); do
        rm -rf "$CYBELE_STORE" base.sif
        killed_at "$i" "${build[@]}"
        layers_are_whole
        assert_not_exist base.sif.part
        "${build[@]}" -q
        layers_are_whole
        "$CYBELECTL" exec base.sif sh -c 'exit 0'
    done
    assert [ "$count" -ge 20 ]
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f 2>/dev/null)" ""
    # What the last killed build left goes with the next one, when its processes have gone.
    has_processes() { grep -las "CYBELE_TMPDIR=$CYBELE_TMPDIR" /proc/[0-9]*/environ | xargs -r dirname | xargs -rI{} cat {}/comm | grep -x cybelectl; }
    is_alone() { ! has_processes; }
    wait_for 10 is_alone
    find "$CYBELE_TMPDIR" -maxdepth 1 -name '.cybelectl-build*' -exec touch -d '2 hours ago' {} + # one without a lock may be new
    "${build[@]}" -q
    assert_equal "$(find "$CYBELE_TMPDIR" -mindepth 1)" ""
}

@test "16 processes that pull, import, run and collect at once: one blob, no lost image" {
    mkdir -p root/bin root/etc
    cp /bin/busybox root/bin
    ln -s busybox root/bin/cat
    echo here >root/etc/from
    printf 'Bootstrap: localimage\nFrom: root\n' >run.def
    "$CYBELECTL" build run.def -o run.sif
    serve registry docker-registry open "$place/r"
    plain push run.sif "oras://127.0.0.1:$registry/run:1" --no-attach
    serve proxy registry-proxy "$registry" "$place/log"
    local i pids=()
    for i in $(seq 16); do
        (
            set -e
            plain pull "oras://127.0.0.1:$proxy/run:1" --name "run:$i"
            image add run.sif "again:$i"
            image prune --grace '0 s'
            [[ $("$CYBELECTL" exec "store:run:$i" cat /etc/from) == here ]]
            image remove "run:$i"
            image prune --grace '0 s'
            [[ $("$CYBELECTL" exec "store:again:$i" cat /etc/from) == here ]]
            touch "done$i"
        ) >"log.$i" 2>&1 3>&- &
        pids+=($!)
    done
    wait "${pids[@]}" || true
    cat log.*
    assert_equal "$(find . -maxdepth 1 -name 'done*' | wc -l)" 16
    assert_equal "$(grep -cE "^GET .*/blobs/sha256:$(sum run.sif)" log)" 1
    image verify
    assert_equal "$(find "$CYBELE_STORE/blobs" -type f ! -name '*.json' | wc -l)" 1
    assert_equal "$(image list --format json | jq '[.images[].names[]] | length')" 16
}

@test "of two pushes to one tag, the one whose image the tag does not name any more fails; its list is not attached to the other's" {
    serve registry docker-registry open "$place/r"
    serve proxy registry-proxy "$registry" "$place/log" moves-tag=other
    printf 'Bootstrap: localimage\nFrom: root\n' >listed.def
    mkdir -p root/var/lib/dpkg root/etc
    printf 'ID=debian\nVERSION_ID=12\n' >root/etc/os-release
    printf 'Package: one\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n' >root/var/lib/dpkg/status
    "$CYBELECTL" build listed.def -o listed.sif --sbom spdx
    plain push app.sif "oras://127.0.0.1:$registry/a:other"
    refuses 5 plain push listed.sif "oras://127.0.0.1:$proxy/a:1"
    assert_line --partial "oras://127.0.0.1:$proxy/a:1 names another image by now"
    assert_line --partial 'another push to this tag came after'
    plain pull "oras://127.0.0.1:$registry/a:1" --no-store -o got.sif
    cmp app.sif got.sif
    # The tag moves after the push has looked: what it attaches belongs to its own image.
    serve late registry-proxy "$registry" "$place/log" moves-tag-late=other
    run -0 plain push listed.sif "oras://127.0.0.1:$late/a:2" --format json
    local own
    own=$(jq -r '."manifest-digest"' <<<"$output")
    plain pull "oras://127.0.0.1:$registry/a:2" --no-store -o late.sif
    cmp app.sif late.sif
    curl -sf "http://127.0.0.1:$registry/v2/a/manifests/sha256-${own#sha256:}" | jq -e '.manifests | length == 1'
    run ! curl -sf "http://127.0.0.1:$registry/v2/a/manifests/sha256-$(plain pull "oras://127.0.0.1:$registry/a:other" --format json | jq -r '."manifest-digest" | ltrimstr("sha256:")')"
}
