# SPDX-License-Identifier: Apache-2.0
# By the name of Apptainer: mistakes of the command line, of variables and of files end with Apptainer's own exit code and say in
# one sentence what is wrong, and what was interrupted leaves nothing behind. tests/cases/apptainer has the same rows side by side.
load ../parts/suite.bash

setup_file() {
    local name
    enter_place
    export place
    mkdir -p bin box/{bin,etc,tmp,var/tmp,proc,sys,dev,root,home,.singularity.d/env}
    ln -s "$CYBELECTL" bin/apptainer
    cp /bin/busybox box/bin/busybox
    for name in sh cat echo ls sleep true; do ln -s busybox "box/bin/$name"; done
    printf 'root:x:0:0:root:/root:/bin/sh\n' >box/etc/passwd
    printf 'root:x:0:\n' >box/etc/group
    touch box/etc/{hosts,localtime,resolv.conf}
    printf '#!/bin/sh\necho started\n' >box/.singularity.d/startscript
    chmod 755 box/.singularity.d/startscript
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 bundle >/dev/null 2>&1
    cp -a box/. bundle/rootfs/
    head -c 30M /dev/urandom >bundle/rootfs/root/data # what takes a while to convert
    umoci repack --refresh-bundle --image layout:1 bundle >/dev/null
    rm -rf bundle
}
setup() {
    cd "$place" || return
    export HOME=$place/home CYBELE_CACHE_DIR=$place/cache CYBELE_STORE=$place/store
    mkdir -p home tmp
    unset XDG_RUNTIME_DIR
    export TMPDIR=$place/tmp
}
teardown() { rm -rf --one-file-system home tmp cache store; }
teardown_file() { leave_place; }

# says CODE TEXT COMMAND…: ends with CODE; standard error holds TEXT in one line of one message, and nothing is left.
says() {
    local code=$1 text=$2
    shift 2
    run --separate-stderr bin/apptainer "$@"
    assert_equal "$status" "$code"
    # shellcheck disable=SC2154 # bats sets it
    run grep -cF -- "$text" <<<"$stderr"
    assert_output 1
    run find tmp -mindepth 1
    assert_output ''
}

@test "an unknown flag, and a letter that no flag has" {
    says 1 'unknown flag: --nosuch' exec --nosuch box true
    says 1 "unknown shorthand flag: 'Z'" exec -Z box true
    says 1 'unknown flag: --nosuch' build --nosuch new.sif box
    says 1 'unknown flag: --nosuch' instance start --nosuch box name
    says 1 'unknown command "nosuch"' nosuch
}

@test "a flag with a wrong value, and one without its value" {
    says 1 'invalid argument "maybe" for "--nv"' exec --nv=maybe box true
    says 1 'invalid argument "WORD" for "--env"' exec --env WORD box true
    says 1 'invalid argument "x" for "-k, --keyidx"' sign -k x box.sif
    says 1 'invalid argument "x" for "-t, --timeout"' instance stop --timeout x name
    says 1 'flag needs an argument: --bind' exec --bind
    says 255 'xx is not a valid bind option' exec -B box:/mnt:xx box true
    says 255 'is not an absolute path' exec --home box box true
    says 255 'destination must be an absolute path' exec --scratch scratch box true
}

@test "flags that contradict" {
    mkdir -p one two
    says 255 'writable' exec --overlay one --overlay two box true
    says 255 'writable' exec --overlay one --writable-tmpfs box true
    says 255 'more than one flags have been set' instance list --json --logs
    says 255 "global keyring doesn't contain private keys" key list --global --secret
}

@test "a variable with a wrong value" {
    APPTAINER_NV=maybe says 255 'unable to set flag nv to value maybe' exec box true
    SINGULARITY_PIDS_LIMIT=many says 255 SINGULARITY_PIDS_LIMIT exec box true
    APPTAINER_TMPDIR=$place/nosuch says 255 "stat $place/nosuch: no such file or directory" build new.sif box
    assert_file_not_exists new.sif
    APPTAINER_BIND=/nosuch-source says 255 'mount source /nosuch-source doesn'\''t exist' exec box true
}

@test "an instance that is gone, and a name that is taken" {
    says 255 'no instance found with name gone' exec instance://gone true
    says 1 'no instance found' instance stop gone
    bin/apptainer instance start --pid-file number box taken
    says 255 'instance taken already exists' instance start box taken
    kill -KILL "$(<number)"
    wait_for 10 test ! -d "/proc/$(<number)"
    says 255 'no instance found with name taken' exec instance://taken true
    bin/apptainer instance start box taken
    bin/apptainer instance stop taken
    run find home/.apptainer/instances/cybelectl -name '*.json'
    assert_output ''
}

@test "two starts at the same time take a name once" {
    local i
    local -a starts=()
    for i in {1..6}; do
        (bin/apptainer instance start box one >"out.$i" 2>&1 && echo "$i" >>begun) &
        starts+=($!)
    done
    for i in "${starts[@]}"; do wait "$i" || true; done
    assert_equal "$(wc -l <begun)" 1
    assert_equal "$(grep -l 'already exists' out.* | wc -l)" 5
    bin/apptainer instance stop one
    rm begun out.*
}

@test "a conversion that is killed at any moment is done again, and leaves nothing" {
    local delay started
    for delay in 0.02 0.1 0.2 0.4 0.8; do
        bin/apptainer exec oci:layout:1 echo ready >out 2>&1 &
        started=$!
        sleep "$delay"
        kill -KILL "$started" 2>/dev/null || true
        wait "$started" || true
    done
    run bin/apptainer exec oci:layout:1 echo ready
    assert_success
    assert_line ready
    # One killed after its image was complete leaves its folder to the next conversion.
    run bin/apptainer exec --disable-cache oci:layout:1 echo ready
    assert_success
    # One image, and no part of another.
    assert_equal "$("$CYBELECTL" image list --format json | grep -c '"digest"')" 1
    run find tmp -mindepth 1
    assert_output ''
    assert_equal "$(find store -type f -size +1M | wc -l)" 1
}

@test "a store without space, and a folder of temporary files without space: one sentence, and nothing is left" {
    mkdir -p store cache
    # shellcheck disable=SC2016 # for the shell inside
    run unshare --mount sh -c 'full() {
            mount -t tmpfs -o size=2m,mode=700 none "$1"
            bin/apptainer exec oci:layout:1 true 2>errors
            echo "$1: $?, $(grep -ciE "enough space|no space" errors) of $(grep -vc "^INFO" errors), $(find store tmp -type f -size +100k | wc -l)"
            umount "$1"
        }
        full store
        full tmp'
    assert_line 'store: 255, 1 of 1, 0'
    assert_line 'tmp: 255, 1 of 1, 0'
}

@test "an apptainer.conf with unknown words, or with a wrong value" {
    printf 'some thing = yes\nmount proc = no\n' >unknown.conf
    run --separate-stderr bin/apptainer --config "$PWD/unknown.conf" exec box ls /proc # unknown words are skipped, the others count
    assert_success
    assert_output ''
    printf 'mount proc = maybe\n' >wrong.conf
    says 255 'mount proc' --config "$PWD/wrong.conf" exec box true
}

@test "a base that the keys of Fingerprints have not signed ends with 4, by the name of Apptainer with 255" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' "Fingerprints: $(printf 'A%.0s' {1..40})" >wrong.def
    "$CYBELECTL" build -q box -o base.sif
    run "$CYBELECTL" build wrong.def -o wrong.sif
    assert_failure 4
    assert_output --partial 'the base base.sif is not verified'
    says 255 'while checking fingerprint: integrity: signature not found for object group 1' build wrong.sif wrong.def
    assert_file_not_exists wrong.sif
}
