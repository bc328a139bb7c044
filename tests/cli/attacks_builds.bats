# SPDX-License-Identifier: Apache-2.0
# What builds and starts can be tricked into: by the text of a step, by files next to a Recipe, by an unsigned build, by an image's
# links. Each case repeats a finding, named in its title. Two minutes.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place CYBELE_CACHE_DIR=$place/cache HOME=$place
    cp /bin/busybox .
    cc -static -O1 -o hostile "$repo/tests/parts/hostile-step.c"
    "$CYBELECTL" key new centre.pem
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%post' 'busybox --install -s /bin' >base.def
    "$CYBELECTL" build base.def
}
setup() { cd "$place" || return; }
teardown() { end_servers; }
teardown_file() { leave_place; }

# what_a_step_may_not_change: the machine, as far as the attempts could change it.
what_a_step_may_not_change() {
    local name
    for name in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /sys/kernel/mm/ksm/run /proc/swaps; do
        echo "$name $(cat "$name" 2>/dev/null)"
    done
    stat -c '%n %a %u:%g %t:%T' /dev/null /dev/zero /dev/urandom "$(readlink -f "$CYBELECTL")"
    find /sys/fs/cgroup -maxdepth 2 -type d | sort
    cut -d' ' -f1 /proc/modules
    cut -d' ' -f5 /proc/self/mountinfo | grep -v "$place"
    cat /sys/class/net/lo/flags
    nice
}

# apart NAME: a folder of its own with what a build there needs, which another user may have.
apart() {
    mkdir "$1"
    cp base.sif hostile busybox "$1"
    cd "$1" || return
    export CYBELE_CACHE_DIR=$PWD/cache CYBELE_TMPDIR=$PWD
}

as_root() {
    local -a sudo=()
    [[ $(id -u) == 0 ]] || sudo=(sudo -E)
    "${sudo[@]}" "$@"
}

# try_everything WHO: builds hostile.def as root or as the user; leaves the report of its step.
try_everything() {
    local listener segment before name=cybele-$1-$$
    segment=$(ipcmk -M 4096 | grep -o '[0-9]*$')
    ./hostile listen "$name" >listening &
    listener=$!
    until [[ -s listening ]]; do sleep 0.05; done
    echo outside >marker
    before=$(what_a_step_may_not_change)
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%files' 'hostile /hostile' \
        '%post' "/hostile $segment $name $PWD/marker >/report" >hostile.def
    "$1" "$CYBELECTL" build hostile.def
    assert_equal "$(what_a_step_may_not_change)" "$before"
    assert ipcs -m -i "$segment"
    ipcrm -m "$segment"
    kill "$listener"
    "$CYBELECTL" exec hostile.sif cat /report >report
    # Abstract sockets of others are out of reach where the kernel has Landlock with scopes (Linux 6.12): ABI 6.
    if (($(./hostile landlock) < 6)); then
        run -0 sed -i '/^abstract socket of the host\tDONE$/d' report
    fi
    run grep DONE report
    assert_output ''
    run -0 grep -c refused report
    assert [ "$output" -ge 80 ]
}

@test "C-F8: a hostile step changes nothing outside its tree, by none of eighty ways: as root" {
    apart root
    try_everything as_root
}

@test "C-F8: a hostile step changes nothing outside its tree, by none of eighty ways: as an ordinary user" {
    apart user
    try_everything as_user
}

@test "C-F8: what packages do works in a step: owners, modes, other users, pipes, devices, the host's name" {
    apart packages
    cat >packages.def <<'END'
Bootstrap: localimage
From: base.sif
%post
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo 'runner:x:1234:1234::/:/bin/sh' >>/etc/passwd
mkdir -p /var/lib/app && echo x >/var/lib/app/file && chown -R 1234:4321 /var/lib/app && chmod 2750 /var/lib/app
chmod 4755 /bin/busybox
su runner -s /bin/sh -c 'id -u' >/who
mkfifo /var/lib/app/pipe && rm /bin/vi && hostname builder && echo x >/dev/shm/x && cat </dev/stdin >/dev/stdout
for device in null zero urandom; do head -c 1 /dev/$device >/dev/null; done
test -d /sys/kernel/mm
cat /proc/sys/kernel/ostype >/seen
%test
test "$(stat -c %u:%g:%a /var/lib/app)" = 1234:4321:2750
test "$(cat /who)" = 1234
test "$(cat /seen)" = Linux
END
    as_root "$CYBELECTL" build packages.def
    as_user "$CYBELECTL" build packages.def -o other.sif
}

@test "C-F8: a step has no descriptor of the terminal from which -v is asked, and its output arrives" {
    cat >terminal.def <<'END'
Bootstrap: localimage
From: base.sif
%post
ls -l /proc/self/fd | grep -c pts >/terminals || true
test ! -e /dev/tty
echo 'printed by the step' >&2
END
    run -0 script -qec "'$CYBELECTL' -v build terminal.def" /dev/null
    assert_output --partial 'printed by the step'
    run -0 "$CYBELECTL" exec terminal.sif cat /terminals
    assert_output 0
}

@test "C-F8: an image whose shell is a script of /proc/self/exe cannot reach the program that builds" {
    mkdir -p trap/bin
    cp busybox trap/bin/busybox
    printf '#!/proc/self/exe\n' >trap/bin/sh
    chmod 755 trap/bin/sh
    printf '%s\n' 'Bootstrap: localimage' 'From: trap' '%post' 'chmod 4777 /proc/self/exe' >trap.def
    run "$CYBELECTL" build trap.def
    assert_failure
    assert_output --partial '/proc/self/exe'
    assert_equal "$(stat -c %a "$(readlink -f "$CYBELECTL")")" 755
}

@test "E-1: permissions in an image hold for an ordinary user and for root of a user namespace, by FUSE and unpacked" {
    apart modes
    cat >modes.def <<'END'
Bootstrap: localimage
From: base.sif
%post
mkdir -p /opt/one /opt/two /folder
printf '#!/bin/sh\necho the wrong tool\n' >/opt/one/tool && chmod 644 /opt/one/tool
printf '#!/bin/sh\necho the right tool\n' >/opt/two/tool && chmod 755 /opt/two/tool
echo NAME=x >/etc/os-release && chmod 644 /etc/os-release
echo secret >/closed && chmod 000 /closed
echo secret >/folder/file && chmod 000 /folder
END
    "$CYBELECTL" build modes.def
    cat >look <<'END'
id -u
"$1" exec modes.sif sh -c '
    test -x /etc/os-release && echo "a text can be started"
    [ "$(id -u)" = 0 ] || { cat /closed /folder/file; ls /folder; } 2>/dev/null
    PATH=/opt/one:/opt/two:/bin; tool
    grep " / / " /proc/self/mountinfo | grep -o " fuse[.a-z]*" || true'
END
    run -0 --separate-stderr as_user sh look "$CYBELECTL"
    assert_output $'1234\nthe right tool\n fuse.squashfs'
    run -0 --separate-stderr as_user -c sh look "$CYBELECTL"
    assert_output $'1234\nthe right tool'
    # Root of a user namespace may read all, and start what is not executable no more than any root.
    run -0 --separate-stderr "$parts_dir/enter" -m whole -w -b "$PWD" / sh look "$CYBELECTL"
    assert_output $'0\nthe right tool\n fuse.squashfs'
}

@test "E-4: a start makes nothing on the host, also where an image links /var/tmp to /tmp" {
    apart links
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'rm -rf /var/tmp' 'mkdir -p /var /tmp' 'ln -s ../tmp /var/tmp' >links.def
    "$CYBELECTL" build links.def
    local name=${place##*/} marker
    marker=$(mktemp /tmp/cybelectl-marker.XXXXXX)
    echo seen >"$marker"
    # The working folder is below /var/tmp of the host: by the link it would be made in /tmp.
    run "$CYBELECTL" exec links.sif sh -c "cat $marker; ls -d /var/tmp/$name"
    rm "$marker"
    assert_line seen
    assert_file_not_exists "/tmp/$name"
    # shellcheck disable=SC2016
    run as_user sh -c 'echo seen >/tmp/marker; ls -A /tmp /var/tmp >before
        "$1" exec links.sif cat /tmp/marker; ls -A /tmp /var/tmp | diff before -' sh "$CYBELECTL"
    assert_output seen
}
