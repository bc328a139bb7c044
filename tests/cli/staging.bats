# SPDX-License-Identifier: Apache-2.0
# What a Job names under `stage-in` is where it runs before it starts, and is copied once. Half a minute.
load ../parts/suite.bash

setup() {
    work_place
    mkdir -p data/deep work
    echo one >data/one.txt
    echo two >"data/deep/it's two \\ and \$more"
    : >data/empty
    mkdir data/nothing
    printf '%s\n' '#!/bin/sh' 'echo ran' >tool
    chmod 755 tool
    head -c 1000000 /dev/urandom >big
}
teardown() { leave_place; }

# job LINE…: job.yaml, whose program is the host's, and which runs in `work`.
job() { printf '%s\n' 'kind: Job' 'name: staged' 'workdir: work' "$@" >job.yaml; }
submit() { "$CYBELECTL" submit job.yaml --scheduler local --wait; }

@test "files and folders are there before the job starts; what is there is not copied again" {
    job 'script: cd in && sh ../bin/tool >../said && cat one.txt deep/* >>../said && ls >>../said' \
        'stage-in: [{from: data, to: in}, {from: tool, to: bin/}, {from: big, to: ./big}]'
    run --separate-stderr submit
    assert_success
    assert_regex "$stderr" 'inputs: 5 files, 5 sent \(10000[0-9]+ bytes\)'
    assert_equal "$(cat work/said)" $'ran\none\ntwo\ndeep\nempty\nnothing\none.txt'
    assert [ -x work/bin/tool ]
    diff -r data work/in
    before=$(stat -c '%i %z' work/in/* work/big)
    run --separate-stderr submit
    assert_regex "$stderr" 'inputs: 5 files, 0 sent \(0 bytes\)'
    assert_equal "$(stat -c '%i %z' work/in/* work/big)" "$before"
    echo three >data/one.txt
    run --separate-stderr submit
    assert_regex "$stderr" 'inputs: 5 files, 1 sent \(6 bytes\)'
    assert_equal "$(cat work/in/one.txt)" three
}

@test "what an interrupted copy left is gone on with, where its bytes are right" {
    job 'command: [cmp, big, ../big]' 'stage-in: [{from: big, to: big}]'
    head -c 400000 big >work/big.part
    run --separate-stderr submit
    assert_success
    assert_regex "$stderr" '1 sent \(600000 bytes, after 400000 that had arrived\)'
    rm work/big
    head -c 400000 /dev/zero >work/big.part
    run --separate-stderr submit
    assert_success
    assert_regex "$stderr" '1 sent \(1000000 bytes\)'
    assert_not_exist work/big.part
}

@test "a copy that is killed leaves no file under its name, and the next one ends it" {
    local victim
    head -c 300000000 /dev/zero >big
    job 'command: [cmp, big, ../big]' 'stage-in: [{from: big, to: big}]'
    submit >/dev/null 2>&1 3>&- &
    victim=$!
    wait_for 20 test -s work/big.part
    kill -KILL "$victim"
    wait_for 10 is_gone "$victim"
    assert_not_exist work/big
    run submit
    assert_success
}

@test "every fault of the inputs at once, at its place, and nothing is submitted" {
    mkfifo pipe
    job 'command: ["true"]' 'stage-in:' '  - {from: nowhere, to: a}' '  - {from: tool, to: ../b}' '  - {from: tool, to: /c}' \
        '  - {from: tool, to: .cybelectl/d}' '  - {from: pipe, to: e}' '  - {from: tool, to: f}' '  - {from: big, to: f}' \
        '  - {from: big, to: f/g}'
    run "$CYBELECTL" submit job.yaml --scheduler local
    assert_equal "$status" 3
    assert_line 'error: there is no nowhere'
    assert_line --partial 'job.yaml:6:12'
    assert_line --partial 'error: ../b is not below the workdir'
    assert_line --partial 'error: /c is not below the workdir'
    assert_line --partial 'job.yaml:8:22'
    assert_line --partial 'error: .cybelectl/d is where jobs keep their records'
    assert_line 'error: pipe is neither a file nor a folder'
    assert_equal "$(grep -c 'error: two inputs are to be f' <<<"$output")" 2
    assert_equal "$(ls -A work)" ''
    run "$CYBELECTL" job list --all
    refute_output --partial staged
}

@test "a folder where a file is to be, no permission, no space: one sentence each" {
    job 'command: ["true"]' 'stage-in: [{from: big, to: in}]'
    mkdir work/in
    refuses 3 "$CYBELECTL" submit job.yaml --scheduler local
    assert_line --partial 'there is a folder named in'
    rmdir work/in
    chmod 644 big
    refuses 5 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
        env CYBELE_STATE_DIR=/nonexistent "$CYBELECTL" submit job.yaml --scheduler local
    assert_line --partial "cannot write $place/work"
    refuses 5 unshare --mount sh -c 'mount -t tmpfs -o size=512k none work && exec "$@"' sh \
        "$CYBELECTL" submit job.yaml --scheduler local
    assert_line --partial 'what the job needs does not fit where it runs'
    refuses 3 "$CYBELECTL" submit job.yaml --scheduler local --host login.example
    assert_line --partial 'the local scheduler runs jobs on this machine'
}

@test "a script alone brings nothing, and says so; a bridge carries no files" {
    job 'command: ["true"]' 'stage-in: [{from: big, to: in}]'
    run --separate-stderr "$CYBELECTL" job render job.yaml --scheduler slurm
    assert_success
    assert_regex "$stderr" 'the script does not bring the inputs'
    run -0 "$CYBELECTL" job check job.yaml --scheduler slurm
    mv big elsewhere
    refuses 3 "$CYBELECTL" job check job.yaml --scheduler slurm
    assert_line --regexp '^error: there is no .*big$'
    mv elsewhere big
    for kind in TorqueJob SlurmJob MirrorJob Pod; do
        run "$CYBELECTL" kube render job.yaml --kind "$kind"
        assert_equal "$status" 3
        assert_line --partial "\`stage-in\` cannot be expressed in a $kind"
    done
}
