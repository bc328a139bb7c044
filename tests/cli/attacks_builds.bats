# SPDX-License-Identifier: Apache-2.0
# What builds and starts can be tricked into: by the text of a step, by files next to a Recipe, by an unsigned build, by an image's
# links. Each case repeats a finding, named in its title. One minute.
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
    # Without those of jobs that the local scheduler of another suite runs meanwhile; they are named by a UUID.
    find /sys/fs/cgroup -maxdepth 2 -type d | grep -vE '/cybelectl-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' | sort
    cut -d' ' -f1 /proc/modules 2>/dev/null || true # a kernel without modules has none
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

@test "%setup and %pre of an ordinary user read the machine and write to the image alone" {
    apart setup-user
    mkdir given && echo data >given/data
    local before home=$PWD/home
    mkdir "$home" && echo mine >"$home/mine"
    before=$(what_a_step_may_not_change)
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%pre' '# nothing' '%setup' \
        'mkdir -p $APPTAINER_ROOTFS/data && cp -r given/data "$SINGULARITY_ROOTFS/data/"' \
        'cp /etc/hostname $APPTAINER_ROOTFS/hostname || true; echo here >/tmp/own; cat /tmp/own' \
        'test "$(umask)" != "" && test "$PWD" = "$CALLER" && test "$GIVEN" = seen' \
        "for place in /etc/evil /usr/evil \$HOME/evil \$CALLER/evil \$CALLER/base.sif $home/mine /sys/evil /proc/sys/kernel/hostname; do" \
        '    if echo evil >>"$place"; then echo "$place" >>$APPTAINER_ROOTFS/written; fi' 'done 2>/dev/null' \
        'ln -s / $APPTAINER_ROOTFS/outside; if echo evil >$APPTAINER_ROOTFS/outside/etc/evil2; then echo link >>$APPTAINER_ROOTFS/written; fi' \
        'if rm -f "$CALLER/given/data" 2>/dev/null; then echo removed >>$APPTAINER_ROOTFS/written; fi' \
        'if mount -o remount,rw / 2>/dev/null; then echo mounted >>$APPTAINER_ROOTFS/written; fi; rm $APPTAINER_ROOTFS/outside' \
        '%post' 'cat /data/data' >setup.def
    run -0 as_user env "HOME=$home" "CALLER=$PWD" GIVEN=seen "$CYBELECTL" build setup.def
    assert_line --partial "warning: line 5: '%setup' runs on this machine, and can write only to the image"
    refute_line --partial "'%pre' runs"
    run -0 "$CYBELECTL" exec setup.sif cat /data/data
    assert_output data
    run "$CYBELECTL" exec setup.sif cat /written
    assert_failure
    assert_equal "$(cat given/data)" data
    assert_equal "$(cat "$home/mine")" mine
    assert [ ! -e /etc/evil ] && assert [ ! -e /etc/evil2 ] && assert [ ! -e /tmp/own ]
    assert_equal "$(what_a_step_may_not_change)" "$before"
    sed -i 's/^.*GIVEN.*$/echo said; exit 3/' setup.def
    run -6 as_user "$CYBELECTL" build setup.def -o other.sif
    assert_line --partial '%setup failed with exit code 3'
    assert [ ! -e other.sif ]
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

# a_folder NAME: the folder of a Recipe that takes all of it.
a_folder() {
    mkdir -p "$1/src" "$1/.git" "$1/.cybelectl" && cd "$1" || return
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: ../base.sif}' 'files: [{from: ., to: /opt/app}]' >app.yaml
    echo 'int main(){}' >src/main.c
    echo object >src/main.o
    echo history >.git/HEAD
    echo 'site: site.yaml' >.cybelectl/x
    cp ../base.sif other.sif
    echo 'no image' >text.sif
}

# taken IMAGE: the names below /opt/app.
taken() { "$CYBELECTL" exec "$1" sh -c 'cd /opt/app && find . | sort | tr "\n" " "'; }

@test "A-D3: the output, other images, .git and .cybelectl never come into an image, however often it is built" {
    a_folder context
    run -0 "$CYBELECTL" -v build app.yaml
    assert_output --partial 'files: 4 of the host, '
    assert_output --partial 'left out: .cybelectl (a file of cybelectl), .git (the history), other.sif (an image)'
    run -0 taken app.sif
    assert_output '. ./app.yaml ./src ./src/main.c ./src/main.o ./text.sif '
    local bytes
    bytes=$(stat -c %s app.sif)
    echo 'int main(){return 0;}' >src/main.c
    run -0 "$CYBELECTL" -v build app.yaml
    assert_output --partial 'app.sif (the output of this build)'
    run -0 taken app.sif
    assert_output '. ./app.yaml ./src ./src/main.c ./src/main.o ./text.sif '
    assert [ "$(stat -c %s app.sif)" -lt $((bytes * 11 / 10)) ]
    # nothing changed: also what is left out is no reason to build
    touch .git/index other.sif
    run -0 "$CYBELECTL" -v build app.yaml
    assert_output --partial 'nothing changed'
    # by a pattern and by a link, which the output hides behind
    ln -s app.sif link
    sed -i 's,from: \.,from: "*",; s,/opt/app,/opt/app/,' app.yaml
    run -0 "$CYBELECTL" build app.yaml --force
    run -0 taken app.sif
    assert_output '. ./app.yaml ./src ./src/main.c ./src/main.o ./text.sif '
    # the output by its name is refused, another image by its name is taken
    sed -i 's/from: "\*"/from: app.sif/' app.yaml
    refuses 3 "$CYBELECTL" build app.yaml --force
    assert_output --partial 'the output of this build'
    sed -i 's/from: app.sif/from: other.sif/' app.yaml
    "$CYBELECTL" build app.yaml --force
    run -0 taken app.sif
    assert_output '. ./other.sif '
}

@test "A-D3: a .dockerignore decides what comes into an image, and a .containerignore before it" {
    a_folder ignored
    printf '%s\n' '# objects' '**/*.o' '*' '!src' 'src/secret' >.dockerignore
    echo x >src/secret
    run -0 "$CYBELECTL" build app.yaml
    run -0 taken app.sif
    assert_output '. ./src ./src/main.c ./src/main.o '
    ln -s nowhere src/dangling.o
    printf '%s\n' '*' '!src' '**/*.o' >.containerignore
    run -0 "$CYBELECTL" -v build app.yaml
    assert_output --partial 'src/main.o (.containerignore:3)'
    run -0 taken app.sif
    assert_output '. ./src ./src/main.c ./src/secret '
    # what the ignore file leaves out is not taken by its name either
    printf '%s\n' 'src' >.containerignore
    sed -i 's/from: \./from: src/' app.yaml
    refuses 3 "$CYBELECTL" build app.yaml
    assert_output --partial '.containerignore:1'
    echo '[' >.containerignore
    refuses 3 "$CYBELECTL" build app.yaml
    assert_output --partial '.containerignore:1:1'
}

@test "A-D3: a private key, a token or a .env is refused by name, with the line that allows it" {
    a_folder secrets
    rm other.sif
    echo 'PASSWORD=x' >.env
    cp ../centre.pem src/key
    printf 'ghp_%036d\n' 1 >src/word
    refuses 3 "$CYBELECTL" build app.yaml
    assert_output --partial 'app.yaml:4:'
    assert_output --partial '.env (settings with secrets)'
    assert_output --partial 'src/key (a private key)'
    assert_output --partial 'src/word (a token)'
    assert_output --partial 'allow: [.env, src/key, src/word]'
    assert_file_not_exists app.sif
    sed -i 's,to: /opt/app,to: /opt/app\, allow: [.env\, src/key],' app.yaml
    refuses 3 "$CYBELECTL" build app.yaml
    refute_output --partial 'settings with secrets'
    assert_output --partial 'allow: [.env, src/key, src/word]'
    sed -i 's,src/key\],src/key\, word],' app.yaml
    "$CYBELECTL" build app.yaml
    run -0 taken app.sif
    assert_output --partial './.env '
    # examples and public keys are no secrets
    sed -i 's/, allow.*$/}]/' app.yaml
    rm .env src/key src/word
    cp ../centre.pub src/
    echo 'PASSWORD=' >.env.example
    "$CYBELECTL" build app.yaml
    # through a link too, and by its own name
    ln -s ../../centre.pem src/linked
    refuses 3 "$CYBELECTL" build app.yaml
    assert_output --partial 'src/linked (a private key)'
    sed -i 's,from: \.,from: ../centre.pem,' app.yaml
    refuses 3 "$CYBELECTL" build app.yaml
    assert_output --partial 'allow: [centre.pem]'
}

@test "A-D3: %files of a definition copies all that Apptainer copies, with a warning" {
    a_folder definition
    echo 'PASSWORD=x' >.env
    printf '%s\n' 'Bootstrap: localimage' 'From: ../base.sif' '%files' '. /opt/app' >all.def
    run -0 "$CYBELECTL" build all.def
    assert_output --partial 'warning: %files copies what a Recipe would leave out: .cybelectl (a file of cybelectl), .git (the history), other.sif (an image)'
    assert_output --partial 'warning: %files copies .env (settings with secrets)'
    run -0 taken all.sif
    assert_output '. ./.cybelectl ./.cybelectl/x ./.env ./.git ./.git/HEAD ./all.def ./app.yaml ./other.sif ./src ./src/main.c ./src/main.o ./text.sif '
}

@test "A-D11: an unsigned image takes the place of a signed one with --force only, by build and by submit" {
    mkdir signed && cd signed
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: ../base.sif}' >app.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'image: {recipe: app.yaml}' 'command: ["true"]' >j.yaml
    printf '%s\n' 'Bootstrap: localimage' 'From: ../base.sif' >other.def
    "$CYBELECTL" build app.yaml --sign-key ../centre.pem
    local digest
    digest=$(sha256sum app.sif)
    for asked in 'app.yaml' 'app.yaml -o app.sif --no-cache' 'other.def -o app.sif'; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" build $asked
        assert_line --partial 'app.sif is signed, and this build does not sign'
        assert_line --partial -- '--sign-key'
    done
    # A job whose image is not current any more builds it again, with a key or not at all.
    echo 'help: changed' >>app.yaml
    refuses 3 "$CYBELECTL" submit j.yaml --scheduler local
    assert_line --partial 'app.sif is signed, and older than what it is built from'
    assert_equal "$(sha256sum app.sif)" "$digest"
    CYBELE_SIGN_KEY=$place/centre.pem "$CYBELECTL" submit j.yaml --scheduler local --wait
    assert_not_equal "$(sha256sum app.sif)" "$digest"
    "$CYBELECTL" verify app.sif --key ../centre.pub
    CYBELE_SIGN_KEY=$place/centre.pem "$CYBELECTL" build app.yaml
    "$CYBELECTL" verify app.sif --key ../centre.pub
    "$CYBELECTL" build app.yaml --force
    run -4 "$CYBELECTL" verify app.sif --key ../centre.pub
    # An unsigned one is replaced by a build of the same Recipe, as ever.
    "$CYBELECTL" build app.yaml
}

@test "A-D12: two builds of a locked Recipe are equal byte for byte, and --verify-reproducible reports what it found" {
    mkdir twice && cd twice
    unset SOURCE_DATE_EPOCH
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: ../base.sif}' 'steps: [{run: "mkdir /made && echo x >/made/file"}]' >app.yaml
    "$CYBELECTL" recipe lock app.yaml
    "$CYBELECTL" build app.yaml -o one.sif
    sleep 1.1 # of two seconds, by two commands, from the first one's cache and without
    "$CYBELECTL" build app.yaml -o two.sif
    "$CYBELECTL" build app.yaml -o three.sif --no-cache
    cmp one.sif two.sif
    cmp one.sif three.sif
    assert_equal "$("$CYBELECTL" exec one.sif stat -c %Y /made/file)" "$(sed -n 's/^ *epoch: //p' app.lock.yaml)"
    run -0 "$CYBELECTL" build app.yaml -o four.sif --verify-reproducible
    assert_line 'reproducible: a second build, without the cache, made the same image'
    cmp one.sif four.sif
    run -0 --separate-stderr "$CYBELECTL" build app.yaml -o five.sif --verify-reproducible --format json
    assert_equal "$(jq -r .reproducible <<<"$output")" true
    # What differs is named, and nothing says reproducible.
    sed -i 's,echo x,cat /proc/sys/kernel/random/uuid,' app.yaml
    refuses 6 "$CYBELECTL" build app.yaml -o six.sif --unlocked --verify-reproducible
    assert_output --partial /made/file
    refute_line --partial 'reproducible:'
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
    run as_user sh -c 'seen() { ls -A /tmp /var/tmp | grep -v "^cybelectl-suite"; } # other suites come and go
        echo seen >/tmp/marker; seen >before
        "$1" exec links.sif cat /tmp/marker; seen | diff before -' sh "$CYBELECTL"
    assert_output seen
}

# base_of NAME LINE…: builds NAME.def, which begins with these lines.
base_of() {
    printf '%s\n' "${@:2}" >"$1.def"
    "$CYBELECTL" build "$1.def" --force --plain-http
}

@test "D-F2: Fingerprints: a base that each of the keys has not signed is refused with 4" {
    mkdir fingerprints && cd fingerprints
    export APPTAINER_KEYSDIR=$PWD/keys
    printf 'open sesame\n' >pass && chmod 600 pass
    for name in One Two; do "$CYBELECTL" key new --pgp --name "$name" --passphrase-file pass; done
    one=$("$CYBELECTL" key list | sed -n 's/ .* One\( .*\)\?$//p' | head -1)
    two=$("$CYBELECTL" key list | sed -n 's/ .* Two\( .*\)\?$//p' | head -1)
    sign() { "$CYBELECTL" sign "$1" --pgp --fingerprint "$2" --passphrase-file pass "${@:3}"; }
    cp ../base.sif unsigned.sif
    cp ../base.sif one.sif && sign one.sif "$one"
    cp one.sif both.sif && sign both.sif "$two" --force
    base_of good 'Bootstrap: localimage' 'From: one.sif' "Fingerprints: $one"
    base_of good 'Bootstrap: localimage' 'From: both.sif' "Fingerprints: $two, ${one,,}"
    refuses 4 base_of bad 'Bootstrap: localimage' 'From: unsigned.sif' "Fingerprints: $one"
    assert_line --partial 'the base unsigned.sif is not verified'
    refuses 4 base_of bad 'Bootstrap: localimage' 'From: one.sif' "Fingerprints: $two"
    refuses 4 base_of bad 'Bootstrap: localimage' 'From: one.sif' "Fingerprints: $one,$two"
    refuses 4 base_of bad 'Bootstrap: localimage' 'From: one.sif' "Fingerprints: $(printf 'A%.0s' {1..40})"
    # One byte of what was signed.
    cp one.sif changed.sif
    printf '\377' | dd of=changed.sif bs=1 seek=$(($(stat -c %s ../base.sif) - 4096)) conv=notrunc status=none
    refuses 4 base_of bad 'Bootstrap: localimage' 'From: changed.sif' "Fingerprints: $one"
    # The keyring decides what the fingerprint's key is.
    APPTAINER_KEYSDIR=$PWD/none refuses 4 base_of bad 'Bootstrap: localimage' 'From: one.sif' "Fingerprints: $one"
    # Where nothing can be verified, it is refused, with its place.
    mkdir -p folder/bin
    for lines in 'Bootstrap: localimage|From: folder' 'Bootstrap: docker|From: 127.0.0.1:1/a:1' 'Bootstrap: scratch'; do
        IFS='|' read -ra words <<<"$lines"
        refuses 3 base_of bad "${words[@]}" "Fingerprints: $one"
    done
    refuses 3 base_of bad 'Bootstrap: localimage' 'From: one.sif' 'Fingerprints: 0123'
    assert_output --partial 'bad.def:3:'
    assert_file_not_exists bad.sif
}

@test "E-2: Registry and Namespace of a docker base are asked, and refused where an agent does not read them" {
    mkdir registry && cd registry
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 --rootless bundle >/dev/null
    mkdir bundle/rootfs/bin && cp ../busybox bundle/rootfs/bin/sh
    umoci repack --image layout:1 bundle
    serve port docker-registry open "$PWD/registry"
    # shellcheck disable=SC2154
    local registry=127.0.0.1:$port
    skopeo copy -q --dest-tls-verify=false oci:layout:1 "docker://$registry/group/sub/app:1"
    base_of app 'Bootstrap: docker' 'From: app:1' "Registry: $registry" 'Namespace: group/sub'
    run -0 "$CYBELECTL" inspect app.sif
    assert_output --partial "$registry/group/sub/app:1"
    base_of app 'Bootstrap: docker' 'From: sub/app:1' "Registry: $registry" 'Namespace: group'
    for line in "Registry: $registry" 'Namespace: group'; do
        refuses 3 base_of bad 'Bootstrap: oras' "From: $registry/group/sub/app:1" "$line"
        assert_line --partial "'${line%%:*}' has no effect with 'Bootstrap: oras'"
        assert_output --partial 'bad.def:3:'
    done
    # Of a key that decides nothing, a warning.
    run -0 base_of app 'Bootstrap: localimage' 'From: ../base.sif' 'OSVersion: bookworm'
    assert_line --partial "warning: line 3: 'OSVersion' has no effect with 'Bootstrap: localimage'"
    run -0 "$CYBELECTL" def check app.def
    assert_output --partial 'warning[CD028]'
}

@test "D-F11: def check exits with 3 where it reports an error, also where Apptainer's parser accepts the file" {
    mkdir checks && cd checks
    printf 'Bootstrap: localimage\nFrom: /b\n%%post\ntrue\n' >good.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post -c\numask 022\n' >stops.def
    printf 'Bootstrap: localimage\nFrom: /b\n%%post -c /bin/bash\numask 022\ntrue\n' >goes-on.def
    local file rule
    while read -r file rule; do
        run -3 "$CYBELECTL" def check "$file.def"
        assert_line --partial "error[$rule]"
        assert_line --partial "accepted by Apptainer 1.4.5; 1 error"
        run -3 "$CYBELECTL" def check --format json good.def "$file.def"
        run -3 "$CYBELECTL" def check --format sarif "$file.def"
    done <<<$'stops CD109\ngoes-on CD101'
    sed -i 's/^%post -c/# cybelectl: ignore CD109\n&/' stops.def
    run -0 "$CYBELECTL" def check stops.def
    refute_output --partial error
}

@test "a link that leads nowhere, added to a folder of files, makes the step another one, and the build says what is wrong" {
    mkdir dangling dangling/tree
    cp busybox dangling/busybox
    cd dangling
    echo 1 >tree/a
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' 'tree /tree' >tree.def
    "$CYBELECTL" build tree.def -o a.sif
    ln -s nowhere tree/link
    refuses 3 "$CYBELECTL" build tree.def -o b.sif
    assert_output --partial 'tree/link'
    rm tree/link
    run -0 "$CYBELECTL" build tree.def -o c.sif
}
