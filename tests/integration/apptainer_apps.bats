# SPDX-License-Identifier: Apache-2.0
# SCIF applications beside the real Apptainer: it builds the same files from the same definition, and each program runs the
# other's applications. A minute.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run apptainer "$@"
}

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place
    "$parts_dir/apptainer" make >&2
    write_definition >app.def
    cp /bin/busybox sh
    mkdir data
    echo one >data/one
    apptainer build theirs.sif app.def >&2
    "$CYBELECTL" build app.def -o ours.sif >&2
}
setup() {
    cd "$place" || return
    export CYBELE_TMPDIR=$place
}
teardown_file() { leave_place; }

write_definition() {
    cat <<'END'
Bootstrap: scratch

%files
    sh /bin/sh
    sh /bin/busybox

%post
    /bin/busybox --install -s /bin

%appinstall hello
    echo '#!/bin/sh' >bin/hello-app
    echo 'echo hello from $SCIF_APPNAME: $WORD, $*' >>bin/hello-app
    chmod 755 bin/hello-app

%apprun hello
    exec hello-app run "$@"

%appstart hello
    exec hello-app start "$@"

%appenv hello
    WORD=greeting
    export WORD

%applabels hello
    Version 1.2
    Kind <test> & more

%apphelp hello
    Says hello.

%appfiles hello
    data
    data/one two

%apptest hello
    test -x bin/hello-app

%appinstall tool-2
    umask 022 # Apptainer's is 0002
    pwd >where

%runscript
    echo whole "$@"
END
}

# files IMAGE: of its applications, each with its digest.
files() {
    "$CYBELECTL" exec "$1" sh -c 'cd / && find scif .singularity.d/env/94-appsbase.sh -type f | sort | while read f; do
        sha256sum "$f"; stat -c %a "$f"; done; find scif -type d | sort'
}

@test "the files of applications are Apptainer's, to the byte" {
    files theirs.sif >theirs.txt
    files ours.sif >ours.txt
    run diff theirs.txt ours.txt
    assert_success
    assert [ "$(wc -l <ours.txt)" -gt 25 ]
    run -0 "$CYBELECTL" exec ours.sif cat /scif/apps/tool-2/where
    assert_output /scif/apps/tool-2
}

@test "each program runs the other's applications" {
    local image
    for image in theirs.sif ours.sif; do
        run -0 "$CYBELECTL" run --app hello "$image" 1 '2 3'
        assert_output 'hello from hello: greeting, run 1 2 3'
        run -0 --separate-stderr apptainer run --app hello "$image" 1 '2 3'
        assert_output 'hello from hello: greeting, run 1 2 3'
        run -0 "$CYBELECTL" exec --app hello "$image" sh -c 'hello-app; echo $SCIF_APPDATA $APPTAINER_APPNAME'
        assert_output $'hello from hello: greeting,\n/scif/data/hello hello'
        run -0 --separate-stderr apptainer exec --app hello "$image" sh -c 'hello-app; echo $SCIF_APPDATA $APPTAINER_APPNAME'
        assert_output $'hello from hello: greeting,\n/scif/data/hello hello'
        run -0 "$CYBELECTL" run "$image" word
        assert_output 'whole word'
    done
}

@test "applications that are not there, or have nothing to run, are refused" {
    run "$CYBELECTL" run --app none ours.sif
    assert_equal "$status" 255
    assert_output --partial "the image has no application 'none'"
    assert_output --partial 'inspect --list-apps'
    run "$CYBELECTL" exec --app none ours.sif true
    assert_equal "$status" 255
    run "$CYBELECTL" run --app tool-2 ours.sif
    assert_equal "$status" 255
    assert_output --partial "has nothing to run"
    run "$CYBELECTL" run --app ../../x ours.sif
    assert_equal "$status" 255
    printf '%s\n' 'Bootstrap: scratch' '%appinstall ../x' 'true' '%apprun /y' 'true' >bad.def
    refuses 3 "$CYBELECTL" build bad.def
    assert_output --partial 'bad.def:2'
    assert_output --partial 'bad.def:4'
}
