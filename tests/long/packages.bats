# SPDX-License-Identifier: Apache-2.0
# Packages whose installation changes owners, makes accounts and starts what it can: built by an ordinary user with
# subordinate ids, and by one without any, from an image of Debian. Ten minutes.
load ../parts/suite.bash

packages=(openssh-client man-db dbus postfix)

setup_file() {
    enter_place
    export place
    cp "$CYBELECTL" cybelectl
    printf '%s\n' 'Bootstrap: debootstrap' 'OSVersion: bookworm' >base.def
    ./cybelectl build base.def -o base.sif >&2
    chmod 755 base.sif
    {
        printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post'
        printf '    export DEBIAN_FRONTEND=noninteractive\n    apt-get update\n    apt-get install -y --no-install-recommends %s\n' "${packages[*]}"
        printf '%s\n' '    dpkg --audit' '    test -z "$(dpkg --audit)"' '    getent passwd postfix messagebus man' \
            '%test' '    ssh -V' '    man --version' '    dbus-daemon --version' '    postconf mail_version'
    } >packages.def
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# one_id COMMAND…: as a user for whom /etc/subuid has no line; the folder is the user's meanwhile.
one_id() {
    local user=54321
    chown -R $user:$user "$place"
    env HOME="$place/home" CYBELE_CACHE_DIR="$place/cache-one" CYBELE_TMPDIR="$place/tmp-one" CYBELE_STATE_DIR="$place/state-one" \
        setpriv --reuid=$user --regid=$user --clear-groups "$@"
}

# installed IMAGE: the four packages, as dpkg in it says.
installed() {
    run -0 ./cybelectl exec "$1" dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "${packages[@]}"
    assert_equal "$(grep -c ' ii' <<<"$output")" "${#packages[@]}"
}

@test "with subordinate ids: files have their owners" {
    run as_user env CYBELE_CACHE_DIR="$place/cache" ./cybelectl build packages.def -o subordinate.sif
    assert_success
    installed subordinate.sif
    run -0 ./cybelectl exec subordinate.sif stat -c '%U %G' /var/lib/postfix /usr/lib/dbus-1.0/dbus-daemon-launch-helper /var/cache/man
    assert_output $'postfix postfix\nroot messagebus\nman man'
}

@test "with one id: the same packages are set up, all files are root's, and the build says so" {
    mkdir -p home
    run one_id ./cybelectl -v build packages.def -o one.sif
    assert_success
    assert_output --partial 'built with one id ('
    installed one.sif
    run -0 ./cybelectl exec one.sif stat -c '%U %G' /var/lib/postfix /var/cache/man
    assert_output $'root root\nroot root'
}
