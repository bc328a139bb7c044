# SPDX-License-Identifier: Apache-2.0
# What %post and %appinstall see, beside the real Apptainer: the base's variables, each as the base sets it. Half a minute.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run apptainer "$@"
}

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place
    "$parts_dir/apptainer" make >&2
    cp /bin/busybox sh
    write_base >base.def
    write_second >second.def
    apptainer build base.sif base.def >&2
    apptainer build theirs.sif second.def >&2
    "$CYBELECTL" build second.def -o ours.sif >&2
}
setup() {
    cd "$place" || return
    export CYBELE_TMPDIR=$place
}
teardown_file() { leave_place; }

write_base() {
    cat <<'END'
Bootstrap: scratch

%files
    sh /bin/sh
    sh /bin/busybox

%post
    /bin/busybox --install -s /bin
    echo 'export NINE="ninety one"' >>"$APPTAINER_ENVIRONMENT"

%environment
    export FOO="of the base"
    export PATH=/opt/x/bin:$PATH
    export LD_LIBRARY_PATH=/opt/x/lib:$LD_LIBRARY_PATH
    export HOME=/opt/home LANG=C.UTF-8 LC_ALL=C.UTF-8
    unexported=1
    cd /tmp
END
}

write_second() {
    cat <<'END'
Bootstrap: localimage
From: base.sif

%post
    pwd >/pwd
    env >/post

%environment
    export OWN=1

%post
    env >/second-post

%appinstall hello-1
    env >/app

%apprun hello-1
    true

%appstart hello-1
    true

%appenv hello-1
    export IN_APP=1

%applabels hello-1
    a b
END
}

# seen IMAGE FILE: the variables in it, without those that are each program's own.
seen() {
    "$CYBELECTL" exec "$1" cat "$2" | LC_ALL=C sort |
        grep -Ev '^(APPTAINER|SINGULARITY)_(APPNAME|BIND|COMMAND|CONTAINER|NAME|ROOTFS|LABELS)=' |
        grep -Ev '^(APT_CONFIG|PIP_[A-Z]*|[A-Za-z_]*(CA_BUNDLE|CAINFO|CA_CERTS|CERT_FILE)|[A-Za-z]*_(proxy|PROXY)|PROMPT_COMMAND|PS1|SHLVL|TERM|_)='
}

@test "%post sees what the base sets, as with Apptainer" {
    local file
    for file in /post /second-post; do
        seen theirs.sif "$file" >theirs.txt
        seen ours.sif "$file" >ours.txt
        run diff theirs.txt ours.txt
        assert_success
        run -0 cat ours.txt
        assert_line 'FOO=of the base'
        assert_line 'NINE=ninety one'
        assert_line 'PATH=/opt/x/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
        refute_line --partial OWN=
    done
    run -0 "$CYBELECTL" exec ours.sif cat /pwd
    assert_output /
}

@test "%appinstall sees the base's variables and those of its application" {
    seen theirs.sif /app >theirs.txt
    seen ours.sif /app >ours.txt
    run diff theirs.txt ours.txt
    assert_success
    run -0 cat ours.txt
    assert_line 'FOO=of the base'
    assert_line 'SCIF_APPNAME=hello-1'
}

@test "what the base sets does not stop a step, and a step is made again where the base sets another value" {
    sed 's/of the base/of another/' base.def >other.def
    apptainer build other.sif other.def >&2
    sed 's/base.sif/other.sif/' second.def >third.def
    run -0 "$CYBELECTL" build third.def -o third.sif
    refute_output --partial 'reused'
    run -0 "$CYBELECTL" exec third.sif grep FOO /post
    assert_output 'FOO=of another'
}

# flags FIRST LAST: the options of the shell of a %post whose two section lines these are.
flags() {
    printf 'Bootstrap: localimage\nFrom: base.sif\n\n%s\n    true\n\n%s\n    echo "$-" >/flags\n' "$1" "$2" >joined.def
    apptainer build --force theirs-joined.sif joined.def >&2
    run -0 "$CYBELECTL" build --force joined.def -o ours-joined.sif
    assert_equal "$("$CYBELECTL" exec ours-joined.sif cat /flags)" "$("$CYBELECTL" exec theirs-joined.sif cat /flags)"
    "$CYBELECTL" exec ours-joined.sif cat /flags
}

@test "the shell of several %post is the last one that is named, as with Apptainer" {
    assert_equal "$(flags '%post -c /bin/sh -u' '%post')" u
    assert_equal "$(flags '%post' '%post -c /bin/sh -u')" u
    assert_equal "$(flags '%post -c /bin/sh -u' '%post -c /bin/sh -f')" f
    assert_equal "$(flags '%post -c /bin/sh -u' '%post ')" u
}
