# SPDX-License-Identifier: Apache-2.0
# What builds download from a package mirror is kept by content: another build of the same snapshot asks the mirror for its
# signed index and for nothing else. The machine's mirror stands behind a server of our own that counts requests.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    own_home
    export made=$place
    CYBELE_TMPDIR=$(mktemp -d /dev/shm/cybelectl-test.XXXXXX) # of a disk, a base's thousands of files are slow to remove
    serve mirror mirror-proxy "$("$parts_dir/mirror")" "$made/requests"
    export address=http://127.0.0.1:$mirror
    printf '%s\n' "${running[@]}" >servers
    definition one 'apt-get update' 'apt-get install -y --no-install-recommends hello'
    build one >one.log 2>&1 || tail -n 40 one.log >&2
    mv requests first
}
teardown_file() {
    local pid
    while read -r pid; do end_process "$pid"; done <"$made/servers"
    rm -rf --one-file-system "$CYBELE_TMPDIR"
    place=$made leave_place
}
setup() {
    cd "$made" || return
    : >requests
}

# definition NAME LINE…: NAME.def, whose only %post has these lines.
definition() {
    local name=$1
    shift
    printf '%s\n' 'Bootstrap: debootstrap' 'OSVersion: bookworm' "MirrorURL: $address" '%post' "$@" >"$name.def"
}
build() { "$CYBELECTL" -v build "$1.def" -o "$1.sif" --force; }
forget() {
    local kind
    for kind in bases steps images; do "$CYBELECTL" cache prune --kind "$kind" --all; done
}

@test "a first build asks the mirror for every package, and keeps them" {
    assert [ "$(grep -c '\.deb$' first)" -gt 50 ]
    grep -q '/hello_' first
    run -0 "$CYBELECTL" exec one.sif hello -g here
    assert_output here
    run -0 "$CYBELECTL" cache list --kind packages
    assert_line --regexp '^packages .* hello_.*_amd64\.deb of one\.def$'
    run -0 "$CYBELECTL" exec one.sif sh -c 'find /var/cache/apt /etc/apt -type f -o -type d; cat /etc/apt/apt.conf.d/*'
    refute_output --partial .deb
    refute_output --partial kept
    refute_output --partial Methods
}

@test "the same base and package in another list of steps: nothing but the signed index is asked for" {
    forget
    definition two 'apt-get update' 'echo other >/word' 'apt-get install -y --no-install-recommends hello' 'apt-get clean'
    run -0 build two
    assert_line --regexp 'bootstrap debian bookworm: [0-9]+ packages and lists from the cache, 0 downloaded$'
    assert_line --regexp '%post: [0-9]+ packages and lists from the cache, 0 downloaded$'
    run -1 grep -v '/InRelease$' requests
    run -0 "$CYBELECTL" exec two.sif hello -g there
    assert_output there
}

@test "as an ordinary user: kept by one build for the next, whose root is a subordinate id" {
    mkdir user
    cd user || return
    definition user 'apt-get update' 'apt-get install -y --no-install-recommends hello'
    export CYBELE_CACHE_DIR=$PWD/cache CYBELE_TMPDIR=/tmp # which is memory, as_user's own
    cp "$CYBELECTL" cybelectl
    run -0 as_user ./cybelectl -v build user.def
    assert [ "$(grep -c '\.deb$' ../requests)" -gt 50 ]
    : >../requests
    for kind in bases steps; do as_user ./cybelectl cache prune --kind "$kind" --all; done
    sed -i 's/^apt-get update$/apt-get update; true/' user.def
    run -0 as_user ./cybelectl -v build --force user.def
    assert_line --regexp 'bootstrap debian bookworm: [0-9]+ packages and lists from the cache, 0 downloaded$'
    run -1 grep -v '/InRelease$' ../requests
}

@test "a damaged package is fetched again, and no other; verify knows them" {
    forget
    hello=$("$CYBELECTL" cache list --kind packages --format json | jq -r '.entries[] | select(.step | startswith("hello_")) | .key')
    printf X | dd of="cache/packages/$hello.package" bs=1 seek=2000 conv=notrunc status=none
    definition three 'apt-get update && apt-get install -y --no-install-recommends hello' 'hello'
    run -0 build three
    run grep -v '/InRelease$' requests
    assert_output --regexp '^[^ ]*/hello_[^ ]*\.deb$'
    run -0 "$CYBELECTL" cache verify --kind packages
    printf X | dd of="cache/packages/$hello.package" bs=1 seek=2000 conv=notrunc status=none
    run -3 "$CYBELECTL" cache verify --kind packages
    assert_output --partial 'were damaged and are removed'
}

@test "what a script puts beside the kept packages is never another build's package" {
    definition four 'mkdir -p /var/cache/apt/kept' 'echo forged >/var/cache/apt/kept/'"$(printf %064d 7)" \
        'ln -s /etc/shadow /var/cache/apt/kept/'"$(printf %064d 8)" 'rm -f /var/cache/apt/kept/names && mkfifo /var/cache/apt/kept/names'
    run -0 build four
    assert_file_not_exists "cache/packages/$(printf %064d 7).package"
    assert_file_not_exists "cache/packages/$(printf %064d 8).package"
}

@test "prune takes the packages away" {
    run -0 "$CYBELECTL" cache prune --kind packages --all
    assert_output --regexp '^removed [0-9]+ entries, [0-9.]+ MB$'
    assert_equal "$(find cache/packages -name '*.package')" ''
}
