# SPDX-License-Identifier: Apache-2.0
# The embedded local scheduler with programs of the host: codes, output, signals, limits.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

host_job() {
    printf '%s\n' 'kind: Job' 'name: demo' "$@" >demo.yaml
}

@test "submit --wait gives the program's exit code" {
    host_job 'script: exit 42'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 42
}

@test "output and errors land in the files that the Job names" {
    host_job 'script: |' '  echo to-out' '  echo to-err >&2' 'output: {stdout: o.txt, stderr: e.txt}'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 0
    assert_equal "$(cat o.txt)" to-out
    assert_equal "$(grep -v '^cybelectl: job ' e.txt)" to-err
}

@test "a job whose output cannot be opened is refused before, or ends and says why" {
    host_job 'command: ["true"]' 'output: {stdout: none/%j.out, stderr: /none/%x.err}'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 255
    assert_line --partial 'demo.yaml:4:18'
    assert_line --partial 'demo.yaml:4:39'
    assert_line 'help: make it: `mkdir -p /none`'
    assert_dir_not_exists .cybelectl
    mkdir taken
    host_job 'command: ["true"]' 'output: {stdout: taken}'
    run timeout -k 1 30 "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 3
    assert_output --partial "cannot write the job's output"
    run -0 "$CYBELECTL" job list --state failed
    assert_output --partial 'Is a directory'
}

@test "the time limit ends the job with 124" {
    host_job 'command: [sleep, "30"]' 'resources: {time: 1 s}'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 124
    assert_equal "$(pgrep -f "$place" || true)" ""
}

@test "a record is kept below .cybelectl, the end in exit.json" {
    host_job 'command: ["true"]'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 0
    jq -e '.uuid and .state == "done" and .code == 0' .cybelectl/*/exit.json
    jq -e '.uuid' .cybelectl/*/job.json
}

@test "a refusal of submit --wait is 255" {
    host_job 'command: ["true"]' 'nonsense: 1'
    refuses 255 "$CYBELECTL" submit demo.yaml --scheduler local --wait
}

@test "a program that is missing gives 127" {
    host_job 'command: [no-such-program-here]'
    run -127 "$CYBELECTL" submit demo.yaml --scheduler local --wait
}

@test "a job's life: submitted, listed, followed, its end told, its output shown" {
    host_job 'script: |' '  echo out' '  echo bad >&2' '  exit 9'
    run --separate-stderr "$CYBELECTL" submit demo.yaml --scheduler local
    assert_success
    assert_output --regexp '^[0-9]+$'
    id=$output
    run "$CYBELECTL" job wait "$id"
    assert_equal "$status" 9
    run "$CYBELECTL" job status "$id"
    assert_output "$id failed 9"
    run "$CYBELECTL" job logs "$id"
    assert_output out
    run "$CYBELECTL" job logs "$id" --stderr
    assert_output --partial bad
    run "$CYBELECTL" job list
    refute_output --partial "$id"
    run "$CYBELECTL" job list --all --state failed --format json
    assert_equal "$(jq -r '.jobs[0] | "\(.id) \(.code) \(.scheduler)"' <<<"$output")" "$id 9 local"
    run "$CYBELECTL" job status --details "$id"
    assert_line --regexp '^exit code +9$'
}

@test "submit --wait, job wait, job list and job collect end with a line: what ran, where its output is, what failed" {
    host_job 'script: |' '  echo bad >&2' '  touch part' '  exit 9' 'output: {results: [part]}'
    run --separate-stderr "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$status" 9
    id=$output
    local end="job $id (demo) failed: exit code 9; output in $PWD/demo-$id.out, errors in $PWD/demo-$id.err; known causes: cybelectl job explain --log $PWD/demo-$id.err"
    assert_equal "$stderr" "$end"
    run --separate-stderr "$CYBELECTL" job wait "$id"
    assert_equal "$stderr" "$end"
    host_job 'command: ["true"]'
    run --separate-stderr "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$stderr" "job $output (demo) done: exit code 0; output in $PWD/demo-$output.out"
    run --separate-stderr "$CYBELECTL" job wait "$id" "$output"
    local list="2 jobs: 1 done, 1 failed; errors of job $id (demo) in $PWD/demo-$id.err"
    assert_equal "${stderr##*$'\n'}" "$list"
    run --separate-stderr "$CYBELECTL" job list --all
    assert_equal "$stderr" "$list"
    run --separate-stderr "$CYBELECTL" job list
    assert_equal "$stderr" 'no job is queued or running; `cybelectl job list --all` lists ended ones too'
    run --separate-stderr "$CYBELECTL" job collect "$id"
    assert_equal "$output" part
    assert_equal "$stderr" "job $id (demo) failed: exit code 9; 1 file (0 B) and a record in $PWD/results"
    for verb in 'job list --all' "job collect $id" "job wait $id"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$CYBELECTL" $verb --quiet
        assert_equal "$stderr" ''
        # shellcheck disable=SC2086
        run --separate-stderr "$CYBELECTL" $verb --format json
        assert_equal "$stderr" ''
        jq -e .format <<<"$output"
    done
}

@test "a job whose id cannot be written runs: the code and standard error say so" {
    host_job 'command: ["true"]'
    local format
    for format in text json; do
        run -5 sh -c '"$1" submit demo.yaml --scheduler local --format "$2" >/dev/full' - "$CYBELECTL" "$format"
        assert_output --partial 'cannot write standard output'
        assert_output --regexp 'No space left on device; job [0-9]+ is submitted and still runs'
        assert_output --regexp 'do not submit it again: cybelectl job status [0-9]+'
        run -5 sh -c '"$1" submit demo.yaml --scheduler local --format "$2" >&-' - "$CYBELECTL" "$format"
        assert_output --regexp 'job [0-9]+ is submitted and still runs'
        # shellcheck disable=SC2016
        run -5 bash -c 'exec {gone}> >(true); wait "$!"; "$1" submit demo.yaml --scheduler local --format "$2" >&"$gone"' - \
            "$CYBELECTL" "$format"
        assert_output --regexp 'job [0-9]+ is submitted and still runs'
    done
    run -0 sh -c '"$1" submit demo.yaml --scheduler local --wait >/dev/full' - "$CYBELECTL"
    assert_line --partial 'warning: cannot write standard output'
    assert_line --partial 'done: exit code 0'
    "$CYBELECTL" job list --all --format json | jq -e '.jobs | length == 7'
}

@test "--help says what Ctrl-C does, and how to leave without cancelling" {
    for verb in submit 'job resubmit' 'job attach'; do
        # shellcheck disable=SC2086
        run -0 "$CYBELECTL" $verb --help
        assert_output --regexp 'Ctrl-C cancels[[:space:]]+the[[:space:]]+job,[[:space:]]+a[[:space:]]+hangup'
    done
    run -0 "$CYBELECTL" submit --help
    assert_output --regexp 'job[[:space:]]+logs[[:space:]]+--follow'
    # A reader that is interrupted leaves the job alone.
    host_job 'script: |' '  echo begun' '  while [ ! -e go ]; do sleep 0.1; done'
    id=$("$CYBELECTL" submit demo.yaml --scheduler local)
    wait_for 30 grep -qs begun "demo-$id.out"
    env --default-signal=INT "$CYBELECTL" job logs --follow "$id" >seen &
    wait_for 30 grep -qs begun seen
    kill -INT "$!"
    wait "$!" || assert_equal "$?" 130
    run "$CYBELECTL" job status "$id"
    assert_output "$id running"
    touch go
    run -0 "$CYBELECTL" job wait "$id"
}

@test "submit --follow: the output is the job's, line by line, the id on standard error" {
    host_job 'script: |' '  echo one' '  sleep 0.3' '  printf two'
    run --separate-stderr "$CYBELECTL" submit demo.yaml --scheduler local --follow
    assert_success
    assert_output $'one\ntwo'
    assert_regex "$stderr" '^[0-9]+'
}

@test "job logs --stderr --follow shows standard error alone" {
    host_job 'script: |' '  echo result; echo problem >&2' '  while [ ! -e go ]; do sleep 0.1; done' '  echo last >&2'
    id=$("$CYBELECTL" submit demo.yaml --scheduler local)
    "$CYBELECTL" job logs --stderr --follow "$id" >seen 2>said 3>&- &
    wait_for 30 grep -qs problem seen
    touch go
    wait "$!"
    run -0 cat seen
    assert_output --partial $'problem\nlast'
    refute_output --partial result
    run -1 grep -E 'result|problem|last' said
}

@test "the client killed, the job goes on and keeps its end" {
    host_job 'script: |' '  while [ ! -e go ]; do sleep 0.1; done' '  exit 5'
    "$CYBELECTL" submit demo.yaml --scheduler local --wait >id 2>said 3>&- &
    wait_for 10 test -s id
    kill -KILL $!
    wait $! || true
    touch go
    run "$CYBELECTL" job wait "$(cat id)"
    assert_equal "$status" 5
}

@test "job cancel ends it with everything that it started" {
    host_job 'script: |' "  sleep 322.$unique &" "  setsid sleep 323.$unique &" '  touch there' '  wait'
    id=$("$CYBELECTL" submit demo.yaml --scheduler local)
    wait_for 10 test -e there
    run "$CYBELECTL" job cancel "$id"
    assert_success
    run pgrep -f "^sleep 32[23].$unique"
    assert_failure
    run "$CYBELECTL" job wait "$id"
    assert_equal "$status" 143
}

@test "job collect copies what the patterns name, and what is enough to run it again" {
    host_job 'script: |' '  mkdir -p tiles/deep' '  echo 1 >tiles/a.csv; echo 2 >tiles/b.csv; echo 3 >tiles/deep/c.csv; echo x >other.txt' \
        'output: {results: ["tiles/*.csv", "tiles/deep"]}'
    id=$("$CYBELECTL" submit demo.yaml --scheduler local)
    "$CYBELECTL" job wait "$id" --quiet
    run --separate-stderr "$CYBELECTL" job collect "$id"
    assert_success
    assert_equal "$stderr" "job $id (demo) done: exit code 0; 3 files (6 B) and a record in $PWD/results"
    assert_output $'tiles/a.csv\ntiles/b.csv\ntiles/deep/c.csv'
    assert_equal "$(cat results/tiles/deep/c.csv)" 3
    assert_equal "$(find results -name '*.part' -o -name other.txt)" ''
    assert_equal "$(jq -r '.results[1].digest' "results/demo-$id.job.json")" "sha256:$(sha256sum <tiles/b.csv | cut -d' ' -f1)"
    bash -n "results/demo-$id.job.sh"
    refuses 3 "$CYBELECTL" job collect "$id" --results '*.none'
    assert_output --partial "no result matches '*.none'"
}

@test "a journal of another version, a folder that cannot be one, an unknown job: a sentence each" {
    host_job 'command: ["true"]'
    "$CYBELECTL" submit demo.yaml --scheduler local --wait
    refuses 3 "$CYBELECTL" job status nothing
    refuses 3 "$CYBELECTL" job status 99999999
    refuses 255 "$CYBELECTL" job wait 99999999
    python3 -c "import sqlite3; c = sqlite3.connect('$CYBELE_STATE_DIR/jobs.sqlite'); c.execute('PRAGMA user_version=9')"
    refuses 5 "$CYBELECTL" job list
    assert_output --partial 'is of version 9'
    refuses 5 "$CYBELECTL" submit demo.yaml --scheduler local
    touch file
    CYBELE_STATE_DIR=$PWD/file/state refuses 5 "$CYBELECTL" submit demo.yaml --scheduler local
    assert_equal "$(find .cybelectl -mindepth 1 -maxdepth 1 | wc -l)" 1
}

@test "a home behind a symbolic link, as centres have them, keeps the journal" {
    mkdir real
    ln -s real home
    printf '%s\n' 'kind: Job' 'name: linked' 'command: ["true"]' >linked.yaml
    run env -u CYBELE_STATE_DIR -u XDG_STATE_HOME HOME="$place/home" "$CYBELECTL" submit linked.yaml --wait
    assert_success
    assert [ -s real/.local/state/cybelectl/jobs.sqlite ]
}

@test "schedulers whose commands are not here: nothing is submitted" {
    host_job 'command: ["true"]' 'queue: batch'
    for scheduler in slurm torque pbspro; do
        PATH=/nonexistent refuses 5 "$CYBELECTL" submit demo.yaml --scheduler "$scheduler"
        assert_output --partial 'cannot be reached; nothing was submitted'
    done
    run --separate-stderr "$CYBELECTL" job list
    assert_equal "${#lines[@]}" 1
}

@test "--watch wants a terminal" {
    refuses 2 "$CYBELECTL" job list --watch 1
}

@test "a Job for a cluster runs here: its queue, account, mail and features have no effect, which is said once" {
    host_job 'script: echo ran' 'queue: long' 'account: wheat' 'qos: high' 'mail: {to: a@b.example}' \
        'resources: {constraint: [ib], time: 1 min, memory-per-cpu: 10 MiB}' 'output: {stdout: o.txt}'
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_success
    assert_equal "$(cat o.txt)" ran
    assert_equal "$(grep -c 'without effect in local: `constraint`, `queue`, `account`, `qos`, `mail`' <<<"$output")" 1
    run "$CYBELECTL" job check demo.yaml --scheduler local
    assert_success
    assert_line --partial 'demo.yaml:8:25'
}

@test "what a local job would refuse when it runs is refused by check and submit: no mpirun, root, no spark-submit" {
    mkdir bare fake
    for program in sh id uname env bash; do
        ln -s "$(command -v "$program")" bare/
    done
    printf '#!/bin/sh\n' >fake/mpirun
    chmod +x fake/mpirun
    host_job 'command: ["true"]' 'launch: {kind: mpi, guard: false, allow-root: true}'
    for verb in 'job check' submit; do
        # shellcheck disable=SC2086
        PATH=$place/bare refuses 3 "$CYBELECTL" $verb demo.yaml --scheduler local
        assert_line --partial 'demo.yaml:4:'
        assert_line 'error: there is no mpirun on this machine'
        assert_dir_not_exist .cybelectl
    done
    PATH=$place/fake:$PATH run "$CYBELECTL" job check demo.yaml --scheduler local
    assert_success
    [[ $(id -u) != 0 ]] || {
        host_job 'command: ["true"]' 'launch: {kind: mpi, guard: false}'
        for verb in 'job check' submit; do
            # shellcheck disable=SC2086
            PATH=$place/fake:$PATH refuses 3 "$CYBELECTL" $verb demo.yaml --scheduler local
            assert_line 'error: mpirun does not start programs as root'
        done
        PATH=$place/fake:$PATH run "$CYBELECTL" job check demo.yaml --scheduler local --allow-root
        assert_success
    }
    host_job 'command: [app.py]' 'launch: spark' 'resources: {cpus-per-task: 2, memory-per-node: 4 GiB}'
    PATH=$place/bare refuses 3 "$CYBELECTL" job check demo.yaml --scheduler local
    assert_line --partial 'there is no spark-submit on this machine'
}

@test "what a local job would refuse when it starts is refused by check and submit, at its place" {
    mkdir fake there
    printf '#!/bin/sh\nexit 1\n' >fake/ompi_info
    cp fake/ompi_info fake/mpicc
    cp fake/ompi_info fake/ldconfig
    chmod +x fake/*
    refused() { # PLACE LINE: nothing was submitted, and check says the same
        for verb in 'job check' submit; do
            # shellcheck disable=SC2086
            refuses 3 "$CYBELECTL" $verb demo.yaml --scheduler local --allow-root
            assert_line "error: $2"
            assert_line --partial "demo.yaml:$1"
        done
        assert_dir_not_exist .cybelectl
    }
    mkdir root # as an unpacked image
    host_job 'image: ./root' 'command: ["true"]' 'binds: [there:/in, none/data:/data, ~/nothing]'
    HOME=$place refused 5:20 "there is no 'none/data' to bind into the container"
    HOME=$place refused 5:37 "there is no '~/nothing' to bind into the container"
    host_job 'command: ["true"]' 'environment: {TOKEN: "@file:none/token"}'
    refused 4:22 "cannot read 'none/token' for TOKEN"
    host_job 'image: ./root' 'command: ["true"]' 'launch: {kind: mpi-bind, host-mpi: /opt/none}'
    refused 5:9 "the MPI of the host is not on this machine below '/opt/none'"
    # What the set-up or the inputs bring may be missing now.
    for line in 'setup: mkdir none' 'stage-in: [{from: there, to: none}]'; do
        host_job 'command: ["true"]' 'environment: {TOKEN: "@file:none/token"}' "$line"
        run "$CYBELECTL" job check demo.yaml --scheduler local
        assert_success
    done
}

@test "~ is the home of the user in workdir, output, image and image.recipe" {
    export HOME=$place/home
    mkdir -p home/work home/images
    host_job 'script: pwd && echo bad >&2' 'workdir: ~/work' 'output: {stdout: ~/o.txt, stderr: ~/work/e.txt}'
    run -0 "$CYBELECTL" job check demo.yaml --scheduler local
    run -0 "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_equal "$(cat home/o.txt)" "$place/home/work"
    assert_equal "$(tail -n 1 home/work/e.txt)" bad
    run -0 "$CYBELECTL" job logs 1
    assert_output --partial "$place/home/work"
    mkdir -p home/images/app/bin
    host_job 'image: ~/images/app' 'command: ["true"]'
    run -0 "$CYBELECTL" job check demo.yaml --scheduler local
    refute_output --partial 'is not there'
    host_job 'image: ~/images/none.sif' 'command: ["true"]'
    refuses 3 "$CYBELECTL" job check demo.yaml --scheduler local
    assert_line "because: it would be $place/home/images/none.sif"
    host_job 'image: {recipe: ~/none.yaml}' 'command: ["true"]'
    refuses 3 "$CYBELECTL" job check demo.yaml
    assert_output --partial "$place/home/none.yaml"
    host_job 'command: ["true"]' 'output: {stdout: ~/o.txt}'
    refuses 3 "$CYBELECTL" job render demo.yaml --scheduler slurm
    assert_line 'help: write the absolute path'
}

@test "an image of OCI is refused by job check as by submit" {
    host_job 'image: docker://python:3.11' 'command: ["true"]'
    refuses 3 "$CYBELECTL" job check demo.yaml --scheduler local
    assert_line 'error: a job cannot start an OCI image'
    run -0 "$CYBELECTL" job check demo.yaml --scheduler slurm # whose script apptainer may run, submitted by hand
    assert_line 'warning: `cybelectl submit` refuses this Job: a job cannot start an OCI image'
}

@test "root, a runtime and a python3 that are not there: refused before any scheduler is asked" {
    mkdir fake bare root # the last as an unpacked image
    printf '#!/bin/sh\necho asked >>"%s"\n' "$place/asked" | tee fake/qsub >fake/sbatch
    chmod +x fake/*
    for program in sh id uname env bash; do
        ln -s "$(command -v "$program")" bare/
    done
    [[ $(id -u) != 0 ]] || for dialect in torque pbspro slurm; do
        host_job 'command: ["true"]' 'launch: {kind: mpi, guard: false, launcher: mpirun}'
        PATH=$place/fake:$PATH refuses 3 "$CYBELECTL" submit demo.yaml --scheduler "$dialect"
        assert_line 'error: mpirun does not start programs as root'
        assert_line --partial 'demo.yaml:4:'
        PATH=$place/fake:$PATH run "$CYBELECTL" job check demo.yaml --scheduler "$dialect"
        assert_success
        assert_line 'warning: mpirun does not start programs as root'
    done
    host_job 'image: ./root' 'command: ["true"]'
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: local' 'runtime: {program: apptainer, path: /none/apptainer}' >site.yaml
    for verb in 'job check' submit; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb demo.yaml --site site.yaml
        assert_line 'error: there is no /none/apptainer on this machine'
        assert_line --partial 'demo.yaml:3:'
    done
    host_job 'command: [train.py]' 'launch: torch'
    for verb in 'job check' submit; do
        # shellcheck disable=SC2086
        PATH=$place/bare refuses 3 "$CYBELECTL" $verb demo.yaml --scheduler local
        assert_line 'error: there is no python3 on this machine'
        assert_line --partial 'demo.yaml:4:'
    done
    assert_file_not_exist asked
    assert_dir_not_exist .cybelectl
}

@test "a program of the host that lacks a library is refused before it is submitted, with what to install" {
    printf 'int part(void) { return 0; }\n' >part.c
    printf 'int part(void);\nint main(void) { return part(); }\n' >main.c
    gcc -shared -fPIC -Wl,-soname,libpart.so.7 part.c -o libpart.so.7
    gcc main.c libpart.so.7 -o prog
    host_job 'command: [./prog]'
    for verb in 'job check' submit; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb demo.yaml --scheduler local
        assert_line 'error: ./prog cannot start here: libpart.so.7 is missing'
        assert_line --partial 'demo.yaml:3:'
    done
    assert_dir_not_exist .cybelectl
    LD_LIBRARY_PATH=$PWD run "$CYBELECTL" submit demo.yaml --scheduler local --wait # as the help says
    assert_success
    host_job 'setup: export LD_LIBRARY_PATH=$PWD' 'command: [./prog]' # what a set-up brings is not known before
    run "$CYBELECTL" submit demo.yaml --scheduler local --wait
    assert_success
}
