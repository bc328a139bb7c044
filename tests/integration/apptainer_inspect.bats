# SPDX-License-Identifier: Apache-2.0
# inspect beside the real Apptainer: the same bytes on its images and on ours. A minute.
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
    sh /bin/mkdir
    sh /bin/ls
    sh /bin/chmod
    sh /bin/cat
    sh /bin/grep

%environment
    export A=1

%runscript
    echo run "$@"

%startscript
    echo start

%test
    echo test

%help
    Help <me> & you

%labels
    Author someone
    B <x> & y
END
}

# same OPTION…: both programs print the same of both images.
same() {
    local image
    for image in theirs.sif ours.sif; do
        apptainer inspect "$@" "$image" >theirs.txt
        "$CYBELECTL" inspect "$@" "$image" >ours.txt
        diff theirs.txt ours.txt
    done
}

@test "the JSON is the same to the byte" {
    same --json
    same --json --labels --deffile --runscript
    same --json --test --startscript --helpfile --environment
    same --json --list-apps
    same --all
    same --all --json
}

@test "the texts are the same" {
    same
    same --labels
    same --runscript
    same --startscript --test --helpfile
    same --environment
    same -l -d -r
}

# Our own builder does not make SCIF apps yet: an image of Apptainer with two of them.
@test "apps are shown as it shows them" {
    cat >>app.def <<'END'

%appinstall foo
    echo x

%apprun foo
    echo foo

%applabels foo
    K v

%apphelp foo
    foo help

%appenv foo
    export F=1

%appinstall bar
    echo y
END
    apptainer build apps.sif app.def >&2
    for options in --list-apps '--app foo' '--app foo -r' '--app foo -H' '--app foo -e' '--json --app foo' \
        '--json --app foo -r' '--json --list-apps' --all; do
        # shellcheck disable=SC2086
        apptainer inspect $options apps.sif >theirs.txt
        # shellcheck disable=SC2086
        "$CYBELECTL" inspect $options apps.sif >ours.txt
        diff theirs.txt ours.txt
    done
}

@test "an image without the metadata object says the same in its files" {
    id=$(apptainer sif list theirs.sif | awk -F'|' '/JSON.Generic/ { print $1 + 0 }')
    cp theirs.sif without.sif
    apptainer sif del "$id" without.sif
    for options in --json '--json --environment --runscript --test' '--json --helpfile --startscript'; do
        # shellcheck disable=SC2086
        apptainer inspect $options without.sif 2>/dev/null >theirs.txt
        # shellcheck disable=SC2086
        "$CYBELECTL" inspect $options without.sif >ours.txt
        diff theirs.txt ours.txt
    done
}

@test "it lists the SBOM object that we put into an image" {
    copy_fixture
    run apptainer sif list hello-mpi.sif
    assert_success
    assert_line --partial 'SBOM'
    id=$("$CYBELECTL" sif list hello-mpi.sif --format json | jq '[.. | objects | select(.type? == "SBOM")][0].id')
    apptainer sif dump "$id" hello-mpi.sif >theirs.json
    "$CYBELECTL" inspect --sbom hello-mpi.sif | cmp - theirs.json
}
