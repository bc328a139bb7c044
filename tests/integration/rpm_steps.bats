# SPDX-License-Identifier: Apache-2.0
# What dnf and zypper download in a step: kept for the steps of later builds, and never trusted. Both are Debian's own, in an
# image of Debian; they install a small distribution of our own, whose repository is served on loopback, below /toy.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    work_place
    printf '%s\n' 'kind: Recipe' 'name: tools' 'base: debian:12' 'packages: {system: [dnf, zypper]}' 'run: [/bin/true]' >tools.yaml
    "$CYBELECTL" build -q tools.yaml -o tools.sif >&2 || return # its packages are in the cache that all tests share
    local first=$place
    own_home
    mv "$first/tools.sif" .
    rm -r "$first"
    export made=$place
    "$parts_dir/rpm-repository" www/toy/1 >&2
    env -u CYBELE_TMPDIR python3 -u -m http.server --bind 127.0.0.1 --directory www 0 >server 2>&1 3>&- &
    echo $! >servers
    wait_for 20 grep -q '^Serving HTTP' server
    address=http://127.0.0.1:$(sed -nE 's/.* port ([0-9]+) .*/\1/p' server)/toy/1
    printf '%s\n' 'Bootstrap: localimage' 'From: tools.sif' '%post' 'mkdir -p /etc/yum.repos.d /etc/zypp/repos.d' \
        "printf '[toy]\nname=toy\nbaseurl=$address\ngpgcheck=0\n' >/etc/yum.repos.d/toy.repo" \
        "zypper -n addrepo --no-gpgcheck $address toy" >base.def
    "$CYBELECTL" build -q base.def -o base.sif >&2
}
teardown_file() {
    end_process "$(cat "$made/servers")"
    place=$made leave_place
}
setup() { cd "$made" || return; }

# definition TOOL NAME…: a step that installs these packages, and leaves none of them in its cache.
definition() {
    local step
    case $1 in
        dnf) step="dnf -y --installroot=/toy --releasever=1 --setopt=reposdir=/etc/yum.repos.d --setopt=cachedir=/var/cache/dnf install ${*:2}" ;;
        # 107: scripts of packages failed, which find no /dev below /toy.
        zypper) step="zypper -n --installroot /toy install ${*:2} || test \$? = 107" ;;
    esac
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' "$step" 'dnf --releasever=1 clean all' \
        "true $RANDOM$RANDOM" >app.def
}
# asked: how many packages were fetched from the repository.
asked() { grep -ac '"GET /toy/1/.*\.rpm ' "$made/server" || true; }
# build [WORD…]: its output in $output, the number of packages that were fetched meanwhile in $fetched; no package is left.
build() {
    local before
    before=$(asked)
    run -0 "$@" "$CYBELECTL" -v build --force app.def
    fetched=$(($(asked) - before))
    assert_equal "$("$CYBELECTL" exec app.sif find / -xdev -name '*.rpm')" ''
}

@test "dnf, zypper: a step's packages are there for the next build, whatever removed them" {
    local tool
    for tool in dnf zypper; do
        "$CYBELECTL" cache prune --kind packages --all
        definition "$tool" hello
        build
        assert_line --regexp "%post: 0 packages and lists from the cache, 2 downloaded\$"
        assert_equal "$tool $fetched" "$tool 2"
        definition "$tool" hello newer-rpm
        build
        assert_line --regexp "%post: 2 packages and lists from the cache, 1 downloaded\$"
        assert_equal "$tool $fetched" "$tool 1"
        run -0 "$CYBELECTL" exec app.sif cat /toy/usr/bin/hello
        assert_line 'echo hello'
        run -0 "$CYBELECTL" cache list --kind packages
        assert_line --regexp '^packages .* hello-1-1\.x86_64\.rpm of app\.def$'
    done
}

@test "another file in a package's place is fetched again" {
    local tool about key
    for tool in dnf zypper; do
        "$CYBELECTL" cache prune --kind packages --all
        definition "$tool" hello
        build
        # As if a script had put it there.
        about=$(grep -l hello-1-1 cache/packages/*.about)
        echo other >other
        key=$(sha256sum other | cut -d' ' -f1)
        mv "$about" "cache/packages/$key.package.about"
        printf '%s %s\n' "$key" "$(stat -c %s other)" >"cache/packages/$key.package.sha256"
        mv other "cache/packages/$key.package"
        definition "$tool" hello
        build
        assert_equal "$tool $fetched" "$tool 1"
        run -0 "$CYBELECTL" exec app.sif cat /toy/usr/bin/hello
        assert_line 'echo hello'
    done
}

@test "a step that installs nothing has the same bytes with kept packages and without" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'command -v dnf zypper >/tools' >app.def
    export SOURCE_DATE_EPOCH=1700000000
    assert [ "$(find cache/packages -name '*.package' | wc -l)" -ge 2 ]
    run -0 "$CYBELECTL" build --force app.def -o kept.sif
    for kind in packages images; do "$CYBELECTL" cache prune --kind "$kind" --all; done
    for key in $("$CYBELECTL" cache list --kind steps --format json | jq -r '.entries[] | select(.step == "%post") | .key'); do
        rm "cache/steps/$key".*
    done
    run -0 "$CYBELECTL" -v build --force app.def -o bare.sif
    assert_output --partial '+ command -v dnf zypper'
    run -0 cmp kept.sif bare.sif
}

@test "as an ordinary user" {
    mkdir user
    cd user || return
    cp "$CYBELECTL" ../base.sif .
    export CYBELE_CACHE_DIR=$PWD/cache CYBELE_TMPDIR=$PWD/scratch
    mkdir scratch
    CYBELECTL=./cybelectl
    definition dnf hello
    build as_user
    assert_equal "$fetched" 2
    definition dnf hello
    build as_user
    assert_line --regexp "%post: 2 packages and lists from the cache, 0 downloaded\$"
    assert_equal "$fetched" 0
}

@test "a build that is killed in such a step leaves no watcher" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'dnf --version' 'touch /var/cache/dnf/begun' "sleep 60.$unique" >app.def
    "$CYBELECTL" build --force app.def >killed 2>&1 3>&- &
    local build=$!
    wait_for 60 pgrep -fx "sleep 60.$unique"
    kill -KILL "$build"
    wait_for 20 eval '! pgrep -f "sleep 60.$unique|^$CYBELECTL build --force app.def"'
}
