# SPDX-License-Identifier: Apache-2.0
# Bases that a tool of this machine makes: yum and dnf by dnf, zypper by zypper, from a small distribution of our own whose
# repository is served on loopback; and busybox, by one download.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    enter_place
    export made=$place
    "$parts_dir/rpm-repository" "$made/www/toy/1" >&2
    cp "$(command -v busybox)" "$made/www/busybox"
}
teardown_file() {
    place=$made leave_place
}

setup() {
    own_home
    env -u CYBELE_TMPDIR python3 -u -m http.server --bind 127.0.0.1 --directory "$made/www" 0 >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
    running+=($!)
    wait_for 20 grep -q '^Serving HTTP' "$BATS_TEST_TMPDIR/server"
    address=http://127.0.0.1:$(sed -nE 's/.* port ([0-9]+) .*/\1/p' "$BATS_TEST_TMPDIR/server")
}
teardown() {
    end_servers
    leave_place
}

definition() {
    printf '%s\n' "$@" >toy.def
}

# files: of the image, as it runs.
files() {
    "$CYBELECTL" exec toy.sif busybox find / -xdev "$@"
}

@test "yum: a base by dnf, whose packages' scripts ran in the tree" {
    definition 'Bootstrap: yum' 'OSVersion: 1' "MirrorURL: $address/toy/%{OSVERSION}" 'Include: toy-release hello' \
        '%post' 'grep -q "Toy release 1" /etc/redhat-release' 'hello >/said'
    run -0 "$CYBELECTL" -v build toy.def
    assert_output --partial 'bootstrap by dnf 1'
    run -0 "$CYBELECTL" exec toy.sif cat /said /installed
    assert_output $'hello\n0'
    run -0 files -path '*/var/cache/*'
    refute_output --partial 'bootstrap'
    run -0 files -name rpmdb.sqlite
    assert_output /var/lib/rpm/rpmdb.sqlite
    run -0 "$CYBELECTL" exec toy.sif ls /root /dev
    refute_output --partial rpm
    # a second build takes what is kept
    printf '%s\n' 'hello >/again' >>toy.def
    run -0 "$CYBELECTL" -v build --force toy.def
    refute_output --partial 'bootstrap by'
    run -0 "$CYBELECTL" exec toy.sif cat /again
    assert_output hello
}

@test "dnf: packages signed or not are refused with GPG; the database lies where the tree's rpm looks" {
    definition 'Bootstrap: dnf' "MirrorURL: $address/toy/1" 'Include: newer-rpm' 'Setopt: install_weak_deps=0'
    refuses 6 env GPG="$address/toy/1/key.asc" "$CYBELECTL" build toy.def
    assert_output --partial 'dnf said:'
    assert_file_not_exists toy.sif
    run -0 "$CYBELECTL" build toy.def
    run -0 files -name rpmdb.sqlite
    assert_output /usr/lib/sysimage/rpm/rpmdb.sqlite
}

@test "yum: as an ordinary user" {
    definition 'Bootstrap: yum' "MirrorURL: $address/toy/1" 'Include: hello' '%post' 'hello'
    # The setting is an archive of Debian, which replaces no repository of RPM packages; the command line's address does.
    CYBELE_MIRROR=http://127.0.0.1:9/debian run -0 as_user "$CYBELECTL" build toy.def
    run -0 "$CYBELECTL" exec toy.sif hello
    assert_output hello
    sed -i 's|^MirrorURL.*|MirrorURL: http://127.0.0.1:9/toy|' toy.def
    run -0 as_user "$CYBELECTL" build --force toy.def --mirror "$address/toy/1"
}

@test "zypper: a base from a signed repository, and more of them" {
    definition 'Bootstrap: zypper' 'OSVersion: 1' "MirrorURL: $address/toy/%{osversion}" "OtherURL0: $address/toy/1" 'Include: hello' \
        '%post' 'test "$(cat /etc/aaa)" = toy' 'hello'
    run -0 "$CYBELECTL" -v build toy.def
    assert_output --partial 'bootstrap by zypper 1'
    run -0 "$CYBELECTL" exec toy.sif hello
    assert_output hello
    run -0 "$CYBELECTL" exec toy.sif busybox ls /etc/zypp/repos.d
    assert_output $'base.repo\nrepo-0.repo'
}

# asked: how many packages were fetched from the repository.
asked() { grep -ac '"GET /toy/1/.*\.rpm ' "$BATS_TEST_TMPDIR/server" || true; }

# replace_kept NAME: another file lies in the cache as the package NAME, as if a script had put it there.
replace_kept() {
    local packages=$CYBELE_CACHE_DIR/packages about key
    about=$(grep -l "$1" "$packages"/*.about)
    echo other >other
    key=$(sha256sum other | cut -d' ' -f1)
    mv "$about" "$packages/$key.package.about"
    printf '%s %s\n' "$key" "$(stat -c %s other)" >"$packages/$key.package.sha256"
    mv other "$packages/$key.package"
}

@test "dnf, zypper: what they fetched is kept by content, and never trusted" {
    local agent before=0
    for agent in dnf zypper; do
        rm -rf "$CYBELE_CACHE_DIR"
        count() { definition "Bootstrap: $agent" "MirrorURL: $address/toy/1" "Include: $1" && run -0 "$CYBELECTL" -v build --force toy.def; }
        count ''
        assert_output --partial "bootstrap by $agent: 0 packages and lists from the cache, 2 downloaded"
        assert_equal "$agent $(($(asked) - before))" "$agent 2"
        # Another base of the same repository: what it shares is there.
        count hello
        assert_output --partial "bootstrap by $agent: 2 packages and lists from the cache, 1 downloaded"
        assert_equal "$agent $(($(asked) - before))" "$agent 3"
        run -0 files -path '*/var/cache/*.rpm'
        assert_output ''
        # What the repository's index does not name so is fetched again.
        replace_kept hello-1-1
        count 'hello newer-rpm'
        assert_output --partial "bootstrap by $agent: 2 packages and lists from the cache, 2 downloaded"
        assert_equal "$agent $(($(asked) - before))" "$agent 5"
        run -0 "$CYBELECTL" exec toy.sif hello
        assert_output hello
        before=$(asked)
    done
    run -0 "$CYBELECTL" exec toy.sif sh -c 'grep -h keeppackages /etc/zypp/repos.d/*'
    assert_output 'keeppackages=0'
}

@test "busybox: one program, and links of all its names" {
    definition 'Bootstrap: busybox' "MirrorURL: $address/busybox" '%post' 'echo made | tr a-z A-Z >/word' '%runscript' 'cat /word'
    run -0 "$CYBELECTL" -v build toy.def
    assert_output --partial 'bootstrap busybox: from'
    assert_output --partial 'plain HTTP'
    run -0 "$CYBELECTL" run toy.sif
    assert_output MADE
    run -0 "$CYBELECTL" exec toy.sif grep -c root /etc/passwd
    end_servers # what was fetched is kept
    echo 'cat /etc/hosts' >>toy.def
    run -0 "$CYBELECTL" -v build --force toy.def
    assert_output --partial 'bootstrap busybox: reused'
}

@test "a base that two stages begin from is made once in a build, without the cache too" {
    definition 'Bootstrap: busybox' "MirrorURL: $address/busybox" 'Stage: one' '%post' 'echo first >/word'
    printf '%s\n' 'Bootstrap: busybox' "MirrorURL: $address/busybox" 'Stage: two' '%files from one' '/word' '%post' 'echo second >>/word' >>toy.def
    run -0 "$CYBELECTL" -v build --no-cache --force toy.def
    assert_equal "$(grep -c 'bootstrap busybox: from' <<<"$output")" 1
    run -0 "$CYBELECTL" exec toy.sif cat /word
    assert_output $'first\nsecond'
    # Another header, another base.
    sed -i "0,/^Stage: one/s//Include: tar\n&/" toy.def
    run -0 "$CYBELECTL" -v build --no-cache --force toy.def
    assert_equal "$(grep -c 'bootstrap busybox: from' <<<"$output")" 2
}

@test "what cannot be made is refused before a build, with the line" {
    definition 'Bootstrap: yum' 'UpdateURL: http://127.0.0.1:9/%{OSVERSION}' 'ConfURL: http://127.0.0.1:9/conf'
    refuses 3 "$CYBELECTL" build toy.def
    assert_line --partial 'the header has no MirrorURL'
    assert_line --partial 'the header has no OSVersion'
    assert_line --partial "'confurl' in the header of 'yum' is not supported yet"
    assert_line --partial 'toy.def:1'
    definition 'Bootstrap: zypper' 'MirrorURL: http://127.0.0.1:9/' 'Product: SLES' 'User: somebody' 'Regcode: none' 'Modules: sle-module'
    refuses 3 "$CYBELECTL" build toy.def
    for header in product user regcode modules; do assert_line --partial "'$header' in the header of 'zypper' is not supported yet"; done
    assert_line --partial 'build with --builder apptainer'
    definition 'Bootstrap: arch'
    refuses 3 "$CYBELECTL" build toy.def
    assert_line --partial "the bootstrap agent 'arch' is not supported yet"
    definition 'Bootstrap: busybox' 'MirrorURL: ftp://127.0.0.1/busybox'
    refuses 3 "$CYBELECTL" build toy.def
    definition 'Bootstrap: zypper' 'MirrorURL: http://127.0.0.1:9/'
    mkdir none
    ln -s "$(command -v cat)" none
    refuses 5 env PATH="$place/none" "$CYBELECTL" build toy.def
    assert_output --partial 'zypper is not installed'
    nothing_left home none toy.def
}

@test "what fails in the making leaves nothing" {
    definition 'Bootstrap: yum' "MirrorURL: $address/toy/1" 'Include: no-such-package'
    refuses 6 "$CYBELECTL" build toy.def
    assert_output --partial 'no-such-package'
    definition 'Bootstrap: yum' "MirrorURL: http://127.0.0.1:9/toy"
    refuses 5 "$CYBELECTL" build toy.def
    definition 'Bootstrap: busybox' "MirrorURL: $address/none"
    refuses 5 "$CYBELECTL" build toy.def
    assert_output --partial 404
    definition 'Bootstrap: busybox' "MirrorURL: $address/toy/1/key.asc"
    refuses 3 "$CYBELECTL" build toy.def
    assert_output --partial 'are not a program'
    nothing_left home cache toy.def
}
