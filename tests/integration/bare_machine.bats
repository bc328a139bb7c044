# SPDX-License-Identifier: Apache-2.0
# The bare Debian 12 on which .ci/run runs the commands of the README: what is in it, what is not, and what stays of it.
load ../parts/suite.bash

setup() {
    enter_place
    export TMPDIR=$place
}
teardown() { leave_place; }

bare_machine() { "$parts_dir/bare-machine" "$@"; }

# nothing_stays: no file, mount or process of a machine made in this place.
nothing_stays() {
    assert_equal "$(find "$place" -maxdepth 1 -name 'cybelectl-bare.*')" ""
    assert_equal "$(grep -ls "$place" /proc/[0-9]*/mountinfo)" ""
}

@test "it is a minimal Debian 12 with a clone of HEAD, and shares no file but the cache of fixtures" {
    : >"$place/of-this-machine"
    run --separate-stderr env CI=true SECRET=x "$parts_dir/bare-machine" bash -c '
        cat /etc/debian_version
        git rev-parse HEAD
        git status --porcelain
        echo "curl: $(command -v curl), CI: $CI, secret: $SECRET"
        ls "$0"
        ps ax 2>/dev/null || ls -d /proc/[0-9]* | wc -l
        ls -d "$1"/bare-bookworm-*.tar | tail -n 1
        exit 7' "$place" "$(cache_dir)"
    assert_equal "$status" 7
    assert_line --index 0 --regexp '^12[.]'
    assert_line --index 1 "$(git -C "$repo" rev-parse HEAD)"
    assert_line --index 2 'curl: , CI: true, secret: '
    assert_line --index 3 --regexp '^[3-6]$'
    assert_line --index 4 --regexp '/bare-bookworm-.*[.]tar$'
    assert_equal "${#lines[@]}" 5
    nothing_stays
}

@test "the machine's CA certificates are trusted there" {
    run --separate-stderr bare_machine grep -c -e '-BEGIN CERTIFICATE-' /etc/ssl/certs/ca-certificates.crt
    assert_success
    assert [ "$output" -ge "$(grep -e '-BEGIN CERTIFICATE-' -A 1 /etc/ssl/certs/ca-certificates.crt | grep -v -- - | sort -u | wc -l)" ]
}

@test "an ordinary user there has sudo and subordinate ids" {
    run --separate-stderr bare_machine -u bash -c 'id -u; sudo id -u; grep -c "^$USER:" /etc/subuid
        touch here && git status --porcelain
        touch ~/.cache/cybelectl-tests/probe ~/probe'
    assert_success
    assert_equal "$output" "$(printf '%s\n' 1000 0 1 '?? here')"
    nothing_stays
}

@test "a daemon that was left behind ends with the machine" {
    run --separate-stderr bare_machine bash -c 'setsid sleep 1234 <&- >&- 2>&- & echo left'
    assert_output left
    nothing_stays
}

# a_machine_waits: a machine whose command has begun; its script is process machine. INT is ignored in what a script
# starts in the background, so it is reset.
a_machine_waits() {
    rm -f begun
    setsid env --default-signal=INT "$parts_dir/bare-machine" bash -c 'echo begun; sleep 600' >begun 2>error 3>&- &
    machine=$!
    wait_for 120 grep -q begun begun
}

@test "TERM and INT end it, and nothing stays" {
    local signal
    for signal in TERM INT; do
        a_machine_waits
        kill -"$signal" -- "-$machine"
        wait_for 60 is_gone "$machine"
        nothing_stays
    done
}

@test "KILL ends it, and the next start removes its files" {
    a_machine_waits
    kill -KILL "$machine"
    wait_for 60 is_gone "$machine"
    wait_for 60 no_mounts
    touch -d '2 minutes ago' cybelectl-bare.*/lock
    run bare_machine true
    assert_success
    nothing_stays
}
no_mounts() { ! grep -qs "$place" /proc/[0-9]*/mountinfo; }

@test "a damaged archive of the minimal root is made again" {
    local archive newest
    mkdir -p copy/cybelectl-tests
    # The cache may hold older ones, too.
    newest=$(find "$(cache_dir)" -name 'bare-bookworm-*.tar' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
    cp "$newest"* copy/cybelectl-tests/
    archive=copy/cybelectl-tests/${newest##*/}
    truncate -s -4096 "$archive"
    XDG_CACHE_HOME=$place/copy run bare_machine true
    assert_success
    sha256sum --quiet -c <(sed "s,-\$,$archive," "$archive.sha256")
}

@test "without the right to mount it fails with the reason, at once" {
    [[ $(id -u) == 0 ]] || as_root=sudo
    run $as_root setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$parts_dir/bare-machine" true
    assert_equal "$status" 125
    assert_line 'error: bare-machine cannot make mount and process namespaces'
    assert_line --partial 'help: '
}
