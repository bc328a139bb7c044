# SPDX-License-Identifier: Apache-2.0
# By the name of Apptainer, what the host gives: its apptainer.conf, devices by CDI, ext3 overlays, key servers.
# shellcheck disable=SC2016 # the texts are for shells in containers
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    enter_place
    export place
    mkdir -p bin box/{bin,etc,tmp,proc,sys,dev,root,home,mnt,srv}
    cp /bin/busybox box/bin
    local name
    for name in sh cat ls touch test head hostname rm; do ln -s busybox "box/bin/$name"; done
    printf 'root:x:0:0:root:/root:/bin/sh\n' >box/etc/passwd
    printf 'root:x:0:\n' >box/etc/group
    cp "$CYBELECTL" cybelectl
    ln -s ../cybelectl bin/apptainer
    mkdir libexec
    cp "$(dirname "$CYBELECTL")/../libexec/cybelectl-http" libexec/
}
setup() {
    cd "$place" || return
    export CYBELE_LIBEXEC=$place/libexec
}
teardown() { end_servers; }
teardown_file() { leave_place; }

# inside COMMAND…: as root of a user namespace on this machine, whose changes are gone afterwards.
inside() {
    "$parts_dir/enter" -m whole -w -b "$place" / "$@"
}

@test "CDI: nodes, mounts and variables of a device, by both forms of the files, and only when asked for" {
    mkdir -p cdi more
    echo driver >driver.so
    cat >cdi/zero.yaml <<YAML
cdiVersion: "0.6.0"
kind: tests.example/memory
containerEdits:
  env:
    - COMMON=yes
devices:
  - name: zero
    containerEdits:
      deviceNodes:
        - path: /dev/memory-zero
          hostPath: /dev/zero
      mounts:
        - hostPath: $place/driver.so
          containerPath: /srv/driver.so
          options: [ro, nosuid, bind]
      env:
        - DEVICE=zero
  - name: nothing
    containerEdits:
      deviceNodes:
        - path: /dev/memory-null
          hostPath: /dev/null
YAML
    run bin/apptainer exec --cdi-dirs "$place/cdi" --device tests.example/memory=zero box \
        sh -c 'cat /srv/driver.so; echo $COMMON $DEVICE; test -c /dev/memory-zero; echo $?; head -c 2 /dev/memory-zero | cat -v; ls /dev/memory-null'
    assert_line driver
    assert_line 'yes zero'
    assert_line 0
    assert_output --partial '^@^@'
    assert_failure # of `ls`: the other device was not asked for
    run bin/apptainer exec --cdi-dirs "$place/cdi" --device tests.example/memory=all box sh -c 'ls /dev/memory-null /dev/memory-zero'
    assert_success
    printf '{"cdiVersion":"0.6.0","kind":"tests.example/memory","devices":[{"name":"zero","containerEdits":{"env":["DEVICE=of json"]}}]}' >more/a.json
    run env APPTAINER_DEVICE=tests.example/memory=zero APPTAINER_CDI_DIRS="$place/cdi,$place/more" bin/apptainer exec box sh -c 'echo $DEVICE'
    assert_output 'of json' # the later folder counts
    run bin/apptainer exec --cdi-dirs "$place/cdi" --device tests.example/memory=none box true
    assert_failure 255
    assert_output --partial "the device 'tests.example/memory=none' is not known"
    run bin/apptainer exec --device memory box true
    assert_failure
    assert_output --partial 'is not the name of a device'
    echo 'kind: [' >more/b.yaml
    run bin/apptainer exec --cdi-dirs "$place/more" --device tests.example/memory=zero box true
    assert_failure 255
}

@test "apptainer.conf of the host counts for both names, --config in its place" {
    # shellcheck disable=SC2016
    run inside sh -c 'mkdir -p /etc/apptainer; printf "bind path = /etc/hostname:/srv/of-host\nmount sys = no\nunknown words = 1\n" >/etc/apptainer/apptainer.conf
        for name in bin/apptainer ./cybelectl; do $name exec box sh -c "ls /srv; ls /sys | head -n 1"; done'
    assert_output $'of-host\nof-host'
    run inside sh -c 'mkdir -p /etc/apptainer; echo "mount sys = perhaps" >/etc/apptainer/apptainer.conf; bin/apptainer exec box true'
    assert_failure 255
    assert_output --partial "'perhaps' is not a value of 'mount sys'"
    run inside sh -c 'mkdir -p /etc/apptainer; printf "mount hostfs = yes\nmax loop devices = x\n" >/etc/apptainer/apptainer.conf; bin/apptainer exec box true'
    assert_failure 255
    assert_output --partial "'x' is not a value of 'max loop devices'"
    # What is offered and not here is reported, what restricts root is kept.
    run inside sh -c 'mkdir -p /etc/apptainer; printf "mount hostfs = yes\nroot default capabilities = no\n" >/etc/apptainer/apptainer.conf
        bin/apptainer exec box sh -c "while read -r name value; do case \$name in CapEff:) echo \$value ;; esac; done </proc/self/status"'
    assert_line --partial "'mount hostfs = yes' of this host has no effect"
    assert_line 0000000000000000
    run inside sh -c 'mkdir -p /etc/apptainer; printf "image driver = squashfuse\n" >/etc/apptainer/apptainer.conf; bin/apptainer exec box sh -c "exit 0"'
    assert_success
    assert_line --partial "'image driver = squashfuse' of this host has no effect"
    echo 'allow container dir = no' >strict.conf
    run bin/apptainer --config strict.conf exec box true
    assert_failure 255
    assert_output --partial 'configuration disallows users from running sandbox containers'
}

@test "an execution control list of the host that is active refuses SIF files, by both names" {
    printf 'Bootstrap: localimage\nFrom: box\n' >box.def
    bin/apptainer build box.sif box.def
    run inside sh -c 'mkdir -p /etc/apptainer; printf "# a list\nactivated = false\n[[execgroup]]\n  activated = true\n" >/etc/apptainer/ecl.toml
        bin/apptainer exec box.sif sh -c "echo started"'
    assert_output started
    for value in true 'tru e'; do # what cannot be read is no permission
        run inside sh -c 'mkdir -p /etc/apptainer; echo "activated = $0" >/etc/apptainer/ecl.toml
            for name in bin/apptainer ./cybelectl; do $name exec box.sif sh -c "echo started"; echo "code $?"; done; bin/apptainer exec box sh -c "echo a folder"' "$value"
        refute_line started
        assert_equal "$(grep -c 'code 255' <<<"$output")" 2
        assert_output --partial 'the execution control list of this host is active'
        assert_line 'a folder'
    done
}

@test "an ext3 overlay is written, read by several, locked while it is written, and clean afterwards" {
    bin/apptainer overlay create --sparse --size 64 layer.img
    run bin/apptainer exec -o layer.img box sh -c 'echo kept >/kept; rm /bin/hostname; ls -d /kept'
    assert_output /kept
    for option in layer.img layer.img:ro; do # what was removed stays removed
        run bin/apptainer exec -o "$option" box ls /bin/hostname
        assert_failure 1
    done
    run bin/apptainer exec -o layer.img:ro box cat /kept
    assert_output kept
    run bin/apptainer exec -o layer.img:ro box touch /new
    assert_failure 1
    run e2fsck -fn layer.img
    assert_success
    mkdir -p meet
    bin/apptainer exec -o layer.img -B meet:/mnt box sh -c 'touch /srv/ready /mnt/begun; while [ ! -e /mnt/end ]; do :; done' &
    local writer=$!
    wait_for 30 test -e meet/begun
    run timeout 60 bin/apptainer exec -o layer.img box true
    assert_failure 255
    assert_output --partial 'currently in use by another process'
    touch meet/end
    wait "$writer"
    run bin/apptainer exec -o layer.img:ro box ls /srv/ready
    assert_success
    # Nothing of it lives on.
    wait_for 10 sh -c "! fuser -s $place/layer.img"
}

@test "without fuse2fs, or fuse-overlayfs to write, an ext3 overlay is refused by name" {
    bin/apptainer overlay create --sparse --size 64 lacking.img
    run inside sh -c 'rm /usr/bin/fuse2fs; bin/apptainer exec -u -o lacking.img:ro box true'
    assert_failure 255
    assert_output --partial 'fuse2fs is not installed'
    run inside sh -c 'rm /usr/bin/fuse-overlayfs; bin/apptainer exec -u -o lacking.img box true'
    assert_failure 255
    assert_output --partial 'fuse-overlayfs is not installed'
    run inside sh -c 'rm /sbin/mkfs.ext3; bin/apptainer overlay create --size 64 none.img'
    assert_failure 255
    assert_output --partial 'mkfs.ext3 is not installed'
    [[ ! -e none.img ]]
}

@test "keys are pushed to a key server, searched, pulled by another user, and removed" {
    export HOME=$place/one no_proxy='*'
    mkdir one two
    serve keyserver key-server "$place/gnupg"
    local url=http://127.0.0.1:$keyserver fingerprint
    bin/apptainer key newpair -N Ada -E ada@example.org -C test -P '' -U=false >/dev/null
    fingerprint=$("$CYBELECTL" key list | grep -oE '^[0-9A-F]{40}')
    bin/apptainer key push --url "$url" "$fingerprint"
    run bin/apptainer key search --url "$url" ada@example.org
    assert_success
    assert_output --partial "${fingerprint: -8}"
    assert_output --partial 'ada@example.org'
    run bin/apptainer key search --url "$url" nobody
    assert_failure 2
    export HOME=$place/two
    bin/apptainer key pull --url "$url" "$fingerprint"
    # Eight digits are few: the fingerprint of the key that came is said.
    run -0 --separate-stderr bin/apptainer key pull --url "$url" "${fingerprint: -8}"
    assert_regex "$stderr" "WARNING: Other keys can end with ${fingerprint: -8}, too. .* $fingerprint\\."
    run bin/apptainer key list
    assert_output --partial "$fingerprint"
    run bin/apptainer key pull --url "$url" 0123456789ABCDEF0123456789ABCDEF01234567
    assert_failure 2
    bin/apptainer key remove "$fingerprint"
    run bin/apptainer key list
    refute_output --partial "$fingerprint"
    run bin/apptainer key remove "$fingerprint"
    assert_failure 255
    export HOME=$place/one
    bin/apptainer key remove --both "$fingerprint"
    run bin/apptainer key list --secret
    refute_output --partial "$fingerprint"
}

@test "the program getent is asked once for a user's line, and not at all where only files have accounts" {
    local real
    [[ $(id -u) == 0 ]] || skip "needs root, to become a user without a line in /etc/passwd"
    real=$(command -v getent)
    mkdir -p asked/home asked/bin
    chmod 777 asked asked/home
    printf '#!/bin/sh\necho "$*" >>%s/asked/log\nexec %s "$@"\n' "$place" "$real" >asked/bin/getent
    chmod 755 asked/bin/getent
    start='PATH='$place'/asked/bin:$PATH HOME='$place'/asked/home setpriv --reuid 54321 --regid 54321 --clear-groups'
    start+=' bin/apptainer exec --no-mount home box cat /etc/passwd | tail -n 1'
    run inside bash -c "sed -i 's/^passwd:.*/passwd: files systemd/; s/^group:.*/group: files systemd/' /etc/nsswitch.conf; $start"
    assert_success
    assert_output --partial ':54321:54321:'
    assert_equal "$(sort asked/log)" $'group 54321\npasswd 54321'
    rm asked/log
    run inside bash -c "printf '# accounts\npasswd: files # and no more\ngroup:\tfiles\n' >/etc/nsswitch.conf; $start"
    assert_success
    assert_output --partial ':54321:54321:'
    [[ ! -e asked/log ]]
}
