# SPDX-License-Identifier: Apache-2.0
# Mistakes as people make them, one per row of tests/cases/mistakes/*.tsv: each ends with its exit code and its place, changes no file, and
# names a remedy; the remedy is applied word by word, and the command then succeeds.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    cp -r "$repo/tests/cases/mistakes/place" place
    ln -s "$(fixture)/hello-mpi.sif" place/hello.sif
    cp "$(fixture)/demo.pem" "$(fixture)/demo.pub" place
    cp "$repo/tests/unit/images/data/one-group-signed-dsse.sif" place/small.sif
    chmod u+w place/small.sif
    "$CYBELECTL" sif del 3 place/small.sif
    cp place/small.sif place/signed.sif
    "$CYBELECTL" sign place/signed.sif --key place/demo.pem
    mkdir tries
    PLACE=$place/place TRIES=$place/tries PATH=$(dirname "$CYBELECTL"):$PATH
    export PLACE TRIES PATH
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# tries TABLE: every row of a table; its counts are printed among the results.
tries() {
    run "$parts_dir/try-mistakes" --names "$place/names" "$repo/tests/cases/mistakes/$1.tsv"
    echo "# $1: ${lines[-1]}" >&3
    assert_success
}

@test "mistakes in Jobs, Recipes, Sites and Policies" {
    tries documents
}

@test "files that are not what a command reads, and outputs that cannot be written" {
    tries files
}

@test "words of a command line that are mistyped, missing or too many" {
    tries commands
}

@test "with -v an error says what was being done, which JSON has as its context" {
    run "$CYBELECTL" -v exec none.sif true
    assert_line "while: starting a container of 'none.sif'"
    run "$CYBELECTL" -v job check none.yaml
    assert_line 'while: reading the Job'
    run "$CYBELECTL" -v build none.def
    assert_failure
    run "$CYBELECTL" sif list small.txt
    refute_line --partial 'while: '
    run --separate-stderr "$CYBELECTL" sif list place/policy.yaml --format json
    assert_equal "$(jq -r '.faults[0].context[-1]' <<<"$stderr")" "opening the image 'place/policy.yaml'"
}

@test "of each third mistake that is no usage error, the error says what was being done" {
    run "$parts_dir/try-contexts" --every 3 "$repo"/tests/cases/mistakes/{documents,files,others,places}.tsv
    echo "# contexts: ${lines[-1]}" >&3
    assert_success
    [[ ${lines[-1]} =~ ^errors:\ ([0-9]+), ]]
    ((BASH_REMATCH[1] >= 100))
}

# while_doing CONTEXT COMMAND…: the command fails, and one of its contexts is this.
while_doing() {
    run "${@:2}"
    assert_failure
    assert_line "while: $1"
}

@test "an error of a step, a batch system, a registry or a file that cannot be read says what was being done" {
    mkdir -p faults/bin
    cd faults || return
    printf 'Bootstrap: localimage\nFrom: ../place/hello.sif\n%%post\n    exit 7\n' >step.def
    while_doing 'building step %post' "$CYBELECTL" -v build -o step.sif step.def
    printf '#!/bin/sh\necho "sbatch: error: no such account" >&2\nexit 1\n' >bin/sbatch
    chmod +x bin/sbatch
    printf 'kind: Job\nname: a\ncommand: [/bin/true]\n' >a.yaml
    PATH=$PWD/bin:$PATH while_doing 'handing the job over to slurm' "$CYBELECTL" -v submit a.yaml --scheduler slurm
    while_doing 'asking 127.0.0.1:1 for x/y' "$CYBELECTL" -v image pull oras://127.0.0.1:1/x/y:1
    mkdir read.yaml
    while_doing "reading the Site" "$CYBELECTL" -v job check a.yaml --site read.yaml
    while_doing "reading the Policy" "$CYBELECTL" -v verify ../place/hello.sif --policy read.yaml
    cd ..
}

@test "errors made at other places of the source" {
    tries places
}

@test "wrong types and units, tabs, CRLF, BOM, keys twice, wrong and swapped files, what is unreadable, gone or full, no HOME" {
    run "$parts_dir/try-mistakes" --kinds --names "$place/names" "$repo/tests/cases/mistakes/others.tsv"
    echo "# others: ${lines[-1]}" >&3
    echo "# others, ${lines[-2]}" >&3
    assert_success
}

@test "mistakes of somebody who meets the program for the first time, by kind, in places that no other table has" {
    run "$parts_dir/try-mistakes" --kinds --names "$place/names" "$repo/tests/cases/mistakes/strangers.tsv"
    echo "# strangers: ${lines[-1]}" >&3
    echo "# strangers, ${lines[-2]}" >&3
    assert_success
    [[ ${lines[-1]} =~ ^mistakes:\ ([0-9]+), ]]
    ((BASH_REMATCH[1] >= 100))
}

@test "a missing Site is reported with what named it: the option, the variable, a file of settings" {
    mkdir -p named/settings
    cd named || return
    cp ../place/job.yaml .
    refuses 3 "$CYBELECTL" job render job.yaml --site gone.yaml
    assert_line 'because: --site names it as the Site'
    CYBELE_SITE=gone.yaml refuses 3 "$CYBELECTL" submit job.yaml
    assert_line 'because: the variable CYBELE_SITE names it as the Site'
    printf 'scheduler: slurm\nsite: gone.yaml\n' >settings/config.yaml
    CYBELE_CONFIG_DIR=$PWD/settings refuses 3 "$CYBELECTL" submit --script ../place/batch.sh
    assert_line "error: no such file: $PWD/settings/gone.yaml"
    assert_line --partial "settings/config.yaml:2:7"
    assert_line 'because: this file of settings names it as the Site'
    assert_line 'help: correct the path there, or name another Site: --site FILE'
}

@test "what submit refuses for its signature is said by job render and --dry-run, with the key that is required and where" {
    mkdir signatures
    cd signatures || return
    cp ../place/signed.sif ../place/small.sif .
    "$CYBELECTL" key new other.pem >/dev/null
    printf '%s\n' 'kind: Job' 'name: a' 'image: signed.sif' 'command: ["true"]' >job.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'runtime: apptainer' "verify: {keys: [$PWD/other.pub]}" >hall.yaml
    local because=".*; hall.yaml:5 requires a signature by $PWD/other.pub" verb
    for verb in 'job render' 'submit --dry-run'; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr "$CYBELECTL" $verb job.yaml --site hall.yaml
        assert_line --index 0 '#!/bin/bash'
        output=$stderr
        assert_output --partial 'warning: `cybelectl submit` refuses this Job: signed.sif is not verified, and the site hall requires it'
        assert_output --regexp "because: $because"
    done
    refuses 4 "$CYBELECTL" job check job.yaml --site hall.yaml
    assert_output --regexp "because: $because"
    assert_line 'help: sign it with a key that is named there: `cybelectl sign signed.sif --key KEY`, or name the public key of its signer there'
    sed -i s/signed.sif/small.sif/ job.yaml
    refuses 4 "$CYBELECTL" job check job.yaml --site hall.yaml
    assert_line "because: the image is not signed; hall.yaml:5 requires a signature by $PWD/other.pub"
    sed -i 's/^verify.*//' hall.yaml
    run -0 --separate-stderr "$CYBELECTL" submit --dry-run job.yaml --site hall.yaml
    refute [ -n "$stderr" ]
}

@test "a variable in a bind that nothing expands is reported, of the Job and of the Site; the form of the help is accepted" {
    mkdir binds
    cd binds || return
    cp ../place/small.sif .
    printf '%s\n' 'kind: Job' 'name: a' 'image: small.sif' 'command: ["true"]' 'binds: ["/data/$USER:/data"]' >job.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'binds: ["~/x:/x", "/scratch/${USER}"]' >hall.yaml
    run -0 "$CYBELECTL" job check job.yaml --site hall.yaml
    assert_line "warning: the \`\$\` in this bind is not expanded: '/data/\$USER:/data'"
    assert_line ' --> job.yaml:5:9'
    assert_line 'help: write `{expand: "/data/$USER:/data"}`'
    assert_line ' --> hall.yaml:4:19'
    sed -i 's|"/data/$USER:/data"|{expand: "/data/$USER:/data"}|' job.yaml
    sed -i 's|"/scratch/${USER}"|{expand: "/scratch/${USER}"}|' hall.yaml
    run -0 "$CYBELECTL" job check job.yaml --site hall.yaml
    refute_output --partial 'not expanded'
    printf '%s\n' 'kind: Job' 'name: a' 'command: ["true"]' 'workdir: $SCRATCH/run' >there.yaml
    refuses 3 "$CYBELECTL" job render there.yaml --scheduler slurm
    assert_line 'help: write `{expand: "$SCRATCH/run"}`'
    refuses 3 "$CYBELECTL" submit there.yaml --scheduler local
    assert_line 'help: write `{expand: "$SCRATCH/run"}`'
    printf '%s\n' 'kind: Job' 'name: a' 'image: small.sif' 'command: ["true"]' 'binds: ["$HOME:/x"]' >home.yaml
    refuses 3 "$CYBELECTL" submit home.yaml --scheduler local
    assert_line 'help: write `{expand: "$HOME:/x"}`'
    printf '%s\n' 'kind: Recipe' 'name: a' 'base: debian:12' 'files: [{src: a, dest: /b}]' >files.yaml
    run "$CYBELECTL" recipe check files.yaml
    assert_failure 3
    assert_line 'help: did you mean `from`?'
    assert_line 'help: did you mean `to`?'
    printf '%s\n' 'kind: Job' 'name: a' 'image: $HOME/none.sif' 'command: ["true"]' >image.yaml
    refuses 3 "$CYBELECTL" submit image.yaml --scheduler local
    assert_line 'help: write `{expand: "$HOME/none.sif"}`'
}

@test "options of sbatch that are fields of a Job are answered with the field" {
    refuses 2 "$CYBELECTL" submit place/job.yaml --mem 4G
    assert_line 'help: write `memory-per-node: SIZE` under `resources` of the Job'
    refuses 2 "$CYBELECTL" job render place/job.yaml --mail-type=END
    assert_line 'help: write `mail: {to: ADDRESS, on: [end, fail]}` in the Job'
    refuses 2 "$CYBELECTL" submit place/job.yaml --output x.log
    assert_line 'help: write --stdout FILE'
}

@test "options of qsub and short options of sbatch are answered with what they are here" {
    refuses 2 "$CYBELECTL" submit place/job.yaml --ppn=4
    assert_line 'help: write --ntasks-per-node N'
    refuses 2 "$CYBELECTL" submit place/job.yaml -l nodes=2:ppn=4
    assert_line 'help: write -N NODES --ntasks-per-node N -t TIME; memory is `memory-per-node` of the Job'
    refuses 2 "$CYBELECTL" job check place/job.yaml -C haswell
    assert_line 'help: write `constraint: FEATURE` under `resources` of the Job'
}

@test "job check of a Job whose image is not there says that it was not checked; submit refuses it" {
    printf '%s\n' 'kind: Job' 'name: a' 'image: absent.sif' 'command: ["true"]' >absent.yaml
    local where
    for where in '' '--scheduler slurm'; do
        # shellcheck disable=SC2086 # no word, or two
        run -0 "$CYBELECTL" job check absent.yaml $where
        assert_line 'warning: the image absent.sif is not there, so it was not checked'
        assert_line ' --> absent.yaml:3:8'
        assert_line 'help: build it first: cybelectl build RECIPE -o ./absent.sif'
        assert_line 'absent.yaml: no errors, 1 warning'
        assert_line 'verdict: not checked'
    done
    run -3 "$CYBELECTL" job check absent.yaml --scheduler slurm --strict
    refuses 3 "$CYBELECTL" job check absent.yaml --scheduler local
    assert_line 'error: the image absent.sif is not there'
    refuses 3 "$CYBELECTL" submit absent.yaml --scheduler local
    assert_line 'error: the image absent.sif is not there'
    # It is on the other machine.
    sed -i 's|absent.sif|/images/absent.sif|' absent.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: slurm, through: {ssh: login1}}' >absent-site.yaml
    run -0 "$CYBELECTL" job check absent.yaml --site absent-site.yaml
    refute_output --partial 'is not there'
}

@test "a variable in the environment that nothing expands is reported, of the Job and of the Site" {
    printf '%s\n' 'kind: Job' 'name: a' 'command: ["true"]' 'environment: {OUT: "/data/$USER"}' >variable.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'environment: {OUT: $HOME, TMP: "/scratch/$USER"}' >variable-site.yaml
    run -0 "$CYBELECTL" job check variable.yaml --site variable-site.yaml
    assert_line "warning: the \`\$\` in this value is not expanded: '/data/\$USER'"
    assert_line ' --> variable.yaml:4:20'
    assert_line "warning: the \`\$\` in this value is not expanded: '/scratch/\$USER'"
    assert_line ' --> variable-site.yaml:4:32'
    assert_line 'help: write `{expand: "/scratch/$USER"}`'
    refute_output --partial "expanded: '\$HOME'" # the Job has its own value
    sed -i 's|"/data/$USER"|{expand: "/data/$USER"}|' variable.yaml
    sed -i 's|"/scratch/$USER"|{expand: "/scratch/$USER"}|' variable-site.yaml
    run -0 "$CYBELECTL" job check variable.yaml --site variable-site.yaml
    assert_line 'variable.yaml: no problems found'
}

@test "a Recipe where a Job is expected is answered with the command that writes its Job" {
    "$CYBELECTL" recipe new tool -q
    refuses 3 "$CYBELECTL" submit tool.yaml
    assert_line 'help: write a Job for it: `cybelectl job new --recipe tool.yaml -o tool-job.yaml`'
    run -0 "$CYBELECTL" job new --recipe tool.yaml -o tool-job.yaml
    run -0 "$CYBELECTL" job render tool-job.yaml --scheduler slurm -q
}

@test "job check says that the files of another machine were not looked at" {
    printf '%s\n' 'kind: Job' 'name: a' 'command: ["true"]' 'workdir: /work/a' >there.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: slurm, through: {ssh: login1}}' >there-site.yaml
    run -0 "$CYBELECTL" job check there.yaml --site there-site.yaml
    assert_line 'there.yaml: no problems found; the files on login1 were not checked'
    run -0 "$CYBELECTL" job check there.yaml --scheduler slurm
    refute_output --partial 'login1'
}

@test "a CA file without a certificate is refused before anything is connected" {
    "$CYBELECTL" key new ca.key >/dev/null
    local file
    for file in ca.key place/job.yaml; do
        refuses 3 "$CYBELECTL" image pull oras://127.0.0.1:1/a:1 -o a.sif --ca-file $file
        assert_line "error: $file has no certificate"
        assert_line 'help: give the file with the certificate of the server'"'"'s authority'
    done
    openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out ca.pem -days 2 -subj /CN=wheat 2>/dev/null
    openssl x509 -in ca.pem -outform der -out ca.der
    refuses 3 "$CYBELECTL" build place/app.def -o a.sif --ca-file ca.der
    assert_line 'help: convert it: `openssl x509 -inform der -in ca.der -out ca.pem`'
    refuses 5 "$CYBELECTL" image pull oras://127.0.0.1:1/a:1 -o a.sif --ca-file ca.pem
    refute_output --partial 'has no certificate'
}

@test "explain finds fields, terms and commands by one word, and proposes one for a mistyped word" {
    run -0 "$CYBELECTL" explain cpus-per-task
    assert_line --partial '  job.resources.cpus-per-task: '
    run -0 "$CYBELECTL" explain partition
    assert_line --partial 'partition: Slurm'
    assert_line --partial '`partition` is `queue` here'
    run -0 "$CYBELECTL" explain SBOM
    assert_line --partial 'SBOM: the list of what is inside'
    run -0 "$CYBELECTL" explain Job
    assert_line --index 0 '# Job: how a program runs'
    run -0 "$CYBELECTL" explain resubmit
    assert_line --partial '  cybelectl job resubmit: '
    run -0 "$CYBELECTL" explain squeue
    assert_line --partial '  cybelectl job list: '
    local row
    for row in 'cpus-per-tsk cpus-per-task' 'resubmitt resubmit' 'runscrpt runscript'; do
        refuses 2 "$CYBELECTL" explain "${row% *}"
        assert_line "help: did you mean '${row#* }'?"
    done
}

@test "errors of the fields of a Job, a Site and a Recipe, a document for each: the help is applied, or asks a person" {
    cp -r "$("$parts_dir/job-cells")/errors" .
    run "$parts_dir/try-cells" --names "$place/names" errors "$repo/tests/cases/mistakes/person.tsv"
    echo "# documents of the pairs test: ${lines[-1]}" >&3
    assert_success
}

@test "the errors of these tables are made at no fewer than 300 places of the source" {
    local different applied
    different=$(cut -d ' ' -f 1 names | sort -u | wc -l)
    applied=$(grep ' applied$' names | sort -u | wc -l)
    echo "# errors of different names: $different; the help applied, the error gone and no new one: $applied" >&3
    ((different >= 300))
}

# row NAME CODE PLACE SAYS THEN CHANGE COMMAND: a table of one row, tried.
row() {
    local IFS=$'\t'
    printf '%s\n' "$*" >one.tsv
    run "$parts_dir/try-mistakes" one.tsv
}

@test "a row fails where the code, the place, the words, the files or the help are not as it says" {
    local edit="sub job.yaml '40 min' '40 minutes'" check='cybelectl job check job.yaml' at=job.yaml:11:9
    row right 3 "$at" duration 'auto: time: 40 min' "$edit" "$check"
    assert_success
    assert_output 'mistakes: 1, different errors: 1, of different names: 1, helps applied: 1, by a person: 0, need a person: 0, failed: 0'
    row code 5 "$at" duration auto "$edit" "$check"
    assert_line --partial 'exit code 3, not 5'
    row place 3 job.yaml:11:3 duration auto "$edit" "$check"
    assert_line --partial "the place is $at, not job.yaml:11:3"
    row words 3 "$at" 'a size' auto "$edit" "$check"
    assert_line --partial 'it does not say: a size'
    row value 3 "$at" duration 'auto: time: 40 h' "$edit" "$check"
    assert_line --partial 'neither a file nor the command has: time: 40 h'
    row files 3 "$at" duration auto "$edit" "touch left; $check"
    assert_line --partial 'it left or changed files'
    row no-mistake 3 "$at" duration auto : "$check"
    assert_line --partial 'exit code 0, not 3'
    row remains 3 "$at" duration 'person: :' "$edit" "$check"
    assert_line --partial 'after the help, `cybelectl job check job.yaml` ends with 3'
    row unclear 3 "$at" duration auto "$edit" "$check 2>&1 | sed 's/^help: .*/help: think again/' >&2; exit 3"
    assert_line --partial 'the help cannot be applied: think again'
    row change 3 "$at" duration auto "sub job.yaml nowhere here" "$check"
    assert_line --partial 'the change of the row failed'
    assert_failure
}
