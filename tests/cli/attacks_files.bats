# SPDX-License-Identifier: Apache-2.0
# Files of somebody else, at each place where this program reads some: settings, trust lists, caches, stores, journals, records. Needs
# root, to be two users. One minute.
load ../parts/suite.bash

setup() {
    work_place
    export CYBELE_CONFIG_DIR=$place/config CYBELE_STORE=$place/store CYBELE_CACHE_DIR=$place/cache
    mkdir config scratch/bin
    cp "$CYBELECTL" scratch/bin/cybelectl
}
teardown() { leave_place; }

victim=2101
attacker=2102
# as_uid UID COMMAND…: as another user, with no group of this one.
as_uid() { setpriv --reuid "$1" --regid "$1" --clear-groups env HOME="$place/home-$1" "${@:2}"; }

# setting NAME: its value.
setting() { "$CYBELECTL" config show --format json | jq -r --arg name "$1" '.settings[] | select(.name == $name) | .value'; }

@test "C-F2: a settings file of a parent folder decides nothing that needs trust, and one line says so" {
    mkdir -p project/deep
    printf '%s\n' "verify-key: $place/evil.pub" "site: $place/evil.yaml" 'builder: apptainer' "cache-dir: $place/evil-cache" \
        "store: $place/evil-store" "ca-file: $place/evil.pem" 'mirror: http://evil.invalid' 'library: evil.invalid' \
        "sign-key: $place/evil.key" "tmpdir: $place/evil-tmp" 'scheduler: torque' >project/.cybelectl.yaml
    cd project/deep
    run --separate-stderr "$CYBELECTL" config show
    assert_success
    refute_output --partial evil
    assert_line --regexp '^builder +embedded +default'
    assert_line --regexp '^scheduler +torque +.*/project/.cybelectl.yaml:11$'
    assert_equal "$(wc -l <<<"$stderr")" 1
    # shellcheck disable=SC2154
    assert_regex "$stderr" "project/.cybelectl.yaml is ignored \(.*verify-key.*\); to use it, run: cybelectl config trust $place/project"
    # Of a command that reads the settings several times, one line.
    run --separate-stderr "$CYBELECTL" submit nothing.yaml
    assert_equal "$(grep -c 'is ignored' <<<"$stderr")" 1

    "$CYBELECTL" config trust "$place/project"
    run --separate-stderr "$CYBELECTL" config show -v
    assert_line --regexp "^verify-key +$place/evil.pub +$place/project/.cybelectl.yaml:1$"
    assert_equal "$stderr" "settings: $place/project/.cybelectl.yaml"
    run -0 "$CYBELECTL" config trust
    assert_output "$place/project"
    assert_equal "$("$CYBELECTL" config trust --format json | jq -r '.folders[0]')" "$place/project"
    "$CYBELECTL" config trust "$place/project" --remove
    assert_equal "$(setting verify-key)" ''
    refuses 3 "$CYBELECTL" config trust "$place/project" --remove
    refuses 3 "$CYBELECTL" config trust "$place/none"
    refuses 2 "$CYBELECTL" config trust --remove
}

@test "C-F2: an image that another one's key signed is not verified by a settings file above it" {
    mkdir shared
    "$CYBELECTL" key new shared/evil.pem >/dev/null
    "$CYBELECTL" sif new shared/app.sif
    head -c 1000 /dev/zero >data
    "$CYBELECTL" sif add shared/app.sif data --datatype 7 --groupid 1
    "$CYBELECTL" sign shared/app.sif --key shared/evil.pem
    printf 'verify-key: %s\n' "$place/shared/evil.pub" >shared/.cybelectl.yaml
    cd shared
    run "$CYBELECTL" verify app.sif
    assert_failure
    refute_output --partial 'valid'
}

@test "C-F2: a Site of a settings file above runs no command at submit" {
    mkdir shared
    printf '%s\n' 'kind: Site' 'name: evil' 'scheduler: slurm' \
        "through: {slurmrestd: 'http://127.0.0.1:1', token-command: 'touch $place/command-ran'}" >shared/site.yaml
    printf 'site: %s\n' "$place/shared/site.yaml" >shared/.cybelectl.yaml
    cd shared
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    run "$CYBELECTL" submit j.yaml --scheduler local --wait
    run "$CYBELECTL" submit j.yaml --wait
    assert_success # by the local scheduler
    assert_file_not_exist "$place/command-ran"
}

@test "C-F2: a Site behind ssh of a settings file is called only where the folder is trusted" {
    mkdir shared bin
    printf '%s\n' '#!/bin/sh' "echo \"\$@\" >>$place/called" 'exit 255' >bin/ssh
    chmod +x bin/ssh
    export PATH=$place/bin:$PATH CYBELE_STATE_DIR=$place/state
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: slurm, through: {ssh: login.hall.example}}' >shared/site.yaml
    printf 'site: %s\n' "$place/shared/site.yaml" >shared/.cybelectl.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' "workdir: $place/shared" >shared/j.yaml
    cd shared
    run "$CYBELECTL" submit j.yaml --wait
    assert_success # by the local scheduler
    assert_output --partial 'the folder is not trusted'
    assert_file_not_exist "$place/called"
    "$CYBELECTL" config trust .
    run "$CYBELECTL" submit j.yaml
    assert_failure
    grep -q login.hall.example "$place/called"
    rm "$place/called"
    chmod o+w site.yaml               # others can name a login of theirs
    run -5 "$CYBELECTL" submit j.yaml # which the settings name
    assert_line --partial "$place/shared/site.yaml is not trusted"
    assert_line --regexp '^because: .*mode 0646'
    assert_file_not_exist "$place/called"
    run -5 "$CYBELECTL" submit j.yaml --site "$place/shared/site.yaml"
    assert_line "error: the \`ssh\` of $place/shared/site.yaml is not used"
    assert_line --regexp '^because: .*mode 0646'
    assert_line 'help: give it yourself (--host), or copy the Site into a folder of your own'
    assert_file_not_exist "$place/called"
    run "$CYBELECTL" submit j.yaml --site "$place/shared/site.yaml" --host login.hall.example # as the help says
    assert_failure
    grep -q login.hall.example "$place/called"
}

# closed_etc COMMAND…: as the victim, on a machine whose /etc/cybelectl only root may enter.
closed_etc() {
    cp -a /etc "$place/etc"
    mkdir -p "$place/etc/cybelectl"
    printf 'verify-key: /etc/cybelectl/centre.pub\n' >"$place/etc/cybelectl/config.yaml"
    chmod 700 "$place/etc/cybelectl"
    # shellcheck disable=SC2016
    unshare --mount sh -c 'mount --bind "$0/etc" /etc && exec setpriv --reuid "$1" --regid "$1" --clear-groups env "HOME=$0/home" "$0/scratch/bin/cybelectl" config show' \
        "$place" $victim
}

@test "settings of the machine or the user that cannot be looked for are an error, not an absence" {
    chmod 711 "$place"
    chmod -R a+rX scratch
    printf 'verify-key: centre.pub\n' >config/config.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    run -0 as_uid $victim scratch/bin/cybelectl config show
    assert_line --regexp "^verify-key +$place/config/centre.pub"
    for mode in 700 750; do
        chmod $mode config
        for verb in 'config show' doctor 'job check j.yaml' 'submit j.yaml'; do
            # shellcheck disable=SC2086
            run -5 as_uid $victim scratch/bin/cybelectl $verb
            assert_line "error: cannot look into $place/config"
            assert_line 'because: Permission denied; your settings may be there'
        done
    done
    chown $victim config
    chmod 0 config
    run -5 as_uid $victim scratch/bin/cybelectl config show
    assert_line "help: allow yourself to enter it: chmod u+rx $place/config"
    as_uid $victim chmod u+rx config
    as_uid $victim scratch/bin/cybelectl config show

    export CYBELE_CONFIG_DIR=/nonexistent
    run -5 closed_etc
    assert_line 'error: cannot look into /etc/cybelectl'
    assert_line 'because: Permission denied; the settings of this machine may be there'
    assert_line 'help: ask the administrator: chmod 755 /etc/cybelectl'
}

@test "a key of a Site in a folder that may not be entered is not called missing" {
    chmod 711 "$place"
    chmod -R a+rX scratch
    mkdir -p site/keys
    "$CYBELECTL" key new site/keys/centre.pem >/dev/null
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'verify: {keys: [keys/centre.pub]}' >site/site.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'image: app.sif' 'command: ["true"]' >site/j.yaml
    chmod 700 site/keys
    cd site
    run as_uid $victim "$place/scratch/bin/cybelectl" job check j.yaml --site site.yaml
    assert_failure
    assert_output --partial "cannot look for 'keys/centre.pub'"
    assert_output --partial "because: Permission denied: it would be in $place/site/keys"
    refute_output --partial "centre.pub' is not there"
}

@test "a Site of the settings, its Policy and its keys decide nothing where others can write them" {
    mkdir -p site/keys
    "$CYBELECTL" key new site/keys/centre.pem >/dev/null
    printf '%s\n' 'kind: Policy' 'keys: [keys/centre.pub]' >site/policy.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' 'verify: policy.yaml' >site/site.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    printf 'site: %s\n' "$place/site/site.yaml" >config/config.yaml
    run "$CYBELECTL" job check j.yaml
    refute_output --partial 'is not trusted'
    for file in site.yaml policy.yaml keys/centre.pub keys; do
        chmod o+w "site/$file"
        run -5 "$CYBELECTL" job check j.yaml
        assert_line --regexp "^error: $place/site/$file.* is not trusted"
        assert_line --regexp '^because: other users can write .*mode 0'
        assert_line "help: remove that permission: chmod go-w $place/site/$file"
        run "$CYBELECTL" submit j.yaml
        assert_failure 5
        run "$CYBELECTL" site check site/site.yaml
        assert_output --partial 'warning: '
        assert_output --partial "other users can write $place/site/$file"
        chmod o-w "site/$file"
    done
}

@test "a Site by --site that others can write sets up no job and names no signer" {
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    for field in 'setup: touch here' 'teardown: [{run: touch here}]' 'verify: {keys: [a.pub]}' 'binds: [/scratch]'; do
        printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' "$field" >site.yaml
        chmod 646 site.yaml
        run -5 "$CYBELECTL" submit j.yaml --site site.yaml
        assert_line "error: the \`${field%%:*}\` of site.yaml is not used"
        assert_line 'help: copy the Site into a folder of your own'
    done
}

@test "C-F2: of another user, or open to others, a file counts for nothing, also where the folder is allowed" {
    mkdir project
    printf 'mirror: http://evil.invalid\nstall-limit: 7 s\n' >project/.cybelectl.yaml
    "$CYBELECTL" config trust project
    cd project
    assert_equal "$(setting mirror)" http://evil.invalid
    chown $attacker .cybelectl.yaml
    run --separate-stderr "$CYBELECTL" config show
    refute_output --partial evil
    refute_output --partial '7 s'
    assert_regex "$stderr" 'is ignored \(.*belongs to user 2102 \(mode 0644\)\)'
    chown 0 .cybelectl.yaml
    chmod 666 .cybelectl.yaml
    assert_equal "$(setting mirror)" ''
    chmod 644 .cybelectl.yaml
    chmod 777 .
    assert_equal "$(setting mirror)" ''
    chmod 1777 . # as /tmp: what is ours in it stays ours
    assert_equal "$(setting mirror)" http://evil.invalid
    chmod 755 .
    chown $attacker .
    assert_equal "$(setting mirror)" ''
    chown 0 .
    assert_equal "$(setting mirror)" http://evil.invalid
    # A link of another user, to a file that is ours.
    mv .cybelectl.yaml real.yaml
    ln -s real.yaml .cybelectl.yaml
    assert_equal "$(setting mirror)" http://evil.invalid
    chown -h $attacker .cybelectl.yaml
    assert_equal "$(setting mirror)" ''
    # Neither a pipe nor what is no yaml stops the command.
    rm .cybelectl.yaml
    mkfifo .cybelectl.yaml
    run -0 timeout 20 "$CYBELECTL" config show
    assert_output --partial 'is not a regular file'
}

@test "C-F2: settings and the trust list of the user are refused where others can write them" {
    printf 'mirror: http://evil.invalid\n' >config/config.yaml
    assert_equal "$(setting mirror)" http://evil.invalid
    chmod 666 config/config.yaml
    refuses 5 "$CYBELECTL" config show
    assert_line --partial "other users can write $place/config/config.yaml (owner 0, mode 0666)"
    assert_line "help: remove that permission: chmod go-w $place/config/config.yaml"
    chmod 644 config/config.yaml
    "$CYBELECTL" config trust .
    chown $attacker config/trusted-folders
    refuses 5 "$CYBELECTL" config show
    chown 0 config/trusted-folders
    chmod 777 config
    refuses 5 "$CYBELECTL" config show
}

@test "C-F3: a record folder that another user made, or opened, or linked elsewhere, is refused" {
    mkdir -m 1777 work
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >work/j.yaml
    for how in 'mkdir -m 777 .cybelectl' 'ln -s /tmp .cybelectl' 'mkdir -m 755 .cybelectl' 'touch .cybelectl'; do
        # shellcheck disable=SC2086
        (cd work && as_uid $attacker $how)
        refuses 255 "$CYBELECTL" submit work/j.yaml --scheduler local --wait
        assert_output --partial 'the record of a job cannot be stored in'
        rm -rf work/.cybelectl
    done
    mkdir work/.cybelectl
    chmod 775 work/.cybelectl
    refuses 255 "$CYBELECTL" submit work/j.yaml --scheduler local --wait
    assert_line --partial '(owner 0, mode 0775)'
    chmod 755 work/.cybelectl
    run -0 "$CYBELECTL" submit work/j.yaml --scheduler local --wait
}

@test "C-F3: script and environment of a job that waits are not in the folder that others share" {
    mkdir -m 777 work
    printf '%s\n' 'kind: Job' 'name: first' "script: 'while [ ! -e $place/go ]; do sleep 0.1; done'" 'resources: {exclusive: true}' >work/first.yaml
    printf '%s\n' 'kind: Job' 'name: second' "script: 'touch $place/right'" 'resources: {exclusive: true}' >work/second.yaml
    first=$("$CYBELECTL" submit work/first.yaml --scheduler local)
    second=$("$CYBELECTL" submit work/second.yaml --scheduler local)
    # In a folder that all may write, `.cybelectl` can be exchanged, whoever owns it.
    as_uid $attacker sh -c "cd $place/work && mv .cybelectl was && cp -r was .cybelectl 2>/dev/null; mkdir -p .cybelectl" || true
    for uuid in work/was/*; do
        uuid=${uuid##*/}
        as_uid $attacker sh -c "cd $place/work && mkdir -p .cybelectl/$uuid && printf 'touch $place/wrong' >.cybelectl/$uuid/job.sh && printf 'PATH=/evil\0' >.cybelectl/$uuid/environment" || true
    done
    assert_file_not_exist work/was/*/environment
    touch go
    run "$CYBELECTL" job wait "$first" "$second"
    assert_file_not_exist wrong
    assert_equal "$(find "$CYBELE_STATE_DIR/local" -mindepth 1)" '' # nothing is left of what they were started with
}

@test "C-F3: a scheduler gets the script that was written, whoever exchanges the record before it is read" {
    mkdir -m 777 work
    chown $attacker work
    mkdir bin
    cat >bin/sbatch <<'END'
#!/bin/bash
uuid=$(ls "$PWD/.cybelectl")
setpriv --reuid 2102 --regid 2102 --clear-groups sh -c "mv .cybelectl was; mkdir -p '.cybelectl/$uuid'; echo evil >'.cybelectl/$uuid/job.sh'" >&2
cat "${@: -1}" >"$SUBMITTED"
echo 7
END
    chmod +x bin/sbatch
    cp bin/sbatch bin/qsub
    printf '%s\n' 'kind: Job' 'name: j' 'script: echo good' >work/j.yaml
    for scheduler in slurm torque pbspro; do
        rm -rf work/.cybelectl work/was
        run env PATH="$place/bin:$PATH" SUBMITTED="$place/submitted" "$CYBELECTL" submit work/j.yaml --scheduler $scheduler
        assert_dir_exist work/was # exchanged in time
        grep -q 'echo good' submitted
        run ! grep -q evil submitted
        rm submitted
    done
    assert_equal "$(find "$CYBELE_STATE_DIR/submit" -mindepth 1)" ''
    # What a killed submission left is removed by the next one, unless one is at work.
    mkdir "$CYBELE_STATE_DIR/submit/job.left"
    touch "$CYBELE_STATE_DIR/submit/job.left/job.sh"
    rm -rf work/.cybelectl work/was
    flock -s "$CYBELE_STATE_DIR/submit" env PATH="$place/bin:$PATH" SUBMITTED="$place/submitted" "$CYBELECTL" submit work/j.yaml --scheduler slurm || true
    assert_file_exist "$CYBELE_STATE_DIR/submit/job.left/job.sh"
    rm -rf work/.cybelectl work/was
    run env PATH="$place/bin:$PATH" SUBMITTED="$place/submitted" "$CYBELECTL" submit work/j.yaml --scheduler slurm
    assert_equal "$(find "$CYBELE_STATE_DIR/submit" -mindepth 1)" ''
}

@test "C-F3: a script that was changed while the job waited does not start" {
    printf '%s\n' 'kind: Job' 'name: first' "script: 'while [ ! -e $place/go ]; do sleep 0.1; done'" 'resources: {exclusive: true}' >first.yaml
    printf '%s\n' 'kind: Job' 'name: second' "script: 'touch $place/right'" 'resources: {exclusive: true}' >second.yaml
    first=$("$CYBELECTL" submit first.yaml --scheduler local)
    second=$("$CYBELECTL" submit second.yaml --scheduler local)
    for script in "$CYBELE_STATE_DIR"/local/*/job.sh; do
        assert_equal "$(stat -c '%U %a' "$script")" 'root 700'
        ! grep -q right "$script" || echo "touch $place/wrong" >>"$script"
    done
    touch go
    "$CYBELECTL" job wait "$first"
    run "$CYBELECTL" job wait "$second"
    assert_equal "$status" 4
    assert_file_not_exist wrong
    assert_file_not_exist right
    run -0 "$CYBELECTL" job status --details "$second"
    assert_output --partial 'is not the one that was submitted'
}

# job_with LINE…: a Job that has ended, its id in $id, its record in $record.
job_with() {
    printf '%s\n' 'kind: Job' 'name: demo' 'script: |' '  mkdir -p tiles; echo 1 >tiles/a.csv; echo secret >key' "$@" >demo.yaml
    id=$("$CYBELECTL" submit demo.yaml --scheduler local)
    "$CYBELECTL" job wait "$id" --quiet
    record=$(echo .cybelectl/*)
}

@test "C-F4: job collect takes patterns and destination from the journal, whatever the record says" {
    job_with 'output: {results: ["tiles/*.csv"]}'
    mkdir home
    jq --arg to "$place/home/.ssh" '.to = $to | .results = ["key"]' "$record/job.json" >changed
    cp changed "$record/job.json"
    echo 'touch evil' >"$record/job.sh"
    run -0 --separate-stderr "$CYBELECTL" job collect "$id"
    assert_output tiles/a.csv
    assert_file_exist results/tiles/a.csv
    assert_dir_not_exist home/.ssh
    assert_file_not_exist "results/demo-$id.job.sh"
    assert_regex "$stderr" 'is not what was submitted'
}

@test "C-F4: a record of wrong types is refused in a sentence, and nothing is written" {
    job_with 'output: {results: ["tiles/*.csv"]}'
    cp "$record/job.json" good.json
    for change in '.to = 5' '.results = "key"' '.job = {}' '.image = []' '.resources = 1' '[1]'; do
        jq "$change" good.json >"$record/job.json"
        refuses 3 "$CYBELECTL" job collect "$id"
        assert_output --partial 'job.json is damaged'
        assert_dir_not_exist results
    done
    echo '{' >"$record/job.json"
    refuses 3 "$CYBELECTL" job collect "$id"
    rm "$record/job.json"
    run -0 "$CYBELECTL" job collect "$id"
}

@test "C-F4: a Job's own results go nowhere but below its folder, by a path or by a link" {
    for to in "$place/home/.ssh" ../elsewhere sub/../../elsewhere; do
        rm -rf .cybelectl
        job_with "output: {results: ['tiles/*.csv'], to: $to}"
        refuses 3 "$CYBELECTL" job collect "$id"
        assert_line --partial '--to'
        assert_dir_not_exist "$to"
        run -0 "$CYBELECTL" job collect "$id" --to mine
        rm -rf mine
    done
    rm -rf .cybelectl
    job_with "output: {results: ['tiles/*.csv']}"
    mkdir results elsewhere
    ln -s ../elsewhere results/tiles
    refuses 3 "$CYBELECTL" job collect "$id"
    assert_equal "$(ls elsewhere)" ''
}

@test "C-F4: a link of another user leads neither to a secret nor to a file elsewhere, in a folder that users share" {
    chmod 711 "$place"
    mkdir -m 700 "home-$victim"
    mkdir -m 777 work
    chown $victim "home-$victim"
    # shellcheck disable=SC2317
    victim_runs() { as_uid $victim env -u CYBELE_CONFIG_DIR CYBELE_STATE_DIR="$place/home-$victim/state" "$@"; }
    victim_runs sh -c 'umask 077; echo secret >~/key; echo before >~/profile'
    cd work
    printf '%s\n' 'kind: Job' 'name: demo' 'script: |' '  mkdir -p tiles; echo 1 >tiles/a.csv' 'output: {results: ["tiles/*.csv"]}' >demo.yaml
    program=$place/scratch/bin/cybelectl
    chmod -R a+rX "$place/scratch"
    id=$(victim_runs "$program" submit demo.yaml --scheduler local)
    victim_runs "$program" job wait "$id" --quiet

    # A result that is a link.
    as_uid $attacker sh -c "mv tiles was; mkdir tiles; cp was/a.csv tiles; ln -s $place/home-$victim/key tiles/b.csv"
    refuses 5 victim_runs "$program" job collect "$id"
    assert_output --partial "tiles/b.csv belongs to user $attacker"
    assert_equal "$(grep -rls secret results)" ''
    as_uid $attacker rm tiles/b.csv

    # The folder of the results, or one above the result, is a link.
    for link in results work2; do
        rm -rf results
        as_uid $attacker ln -s "$place/home-$victim" $link
        refuses 3 victim_runs "$program" job collect "$id" --to "$([[ $link == results ]] && echo results || echo work2/results)"
        assert_output --partial "$link belongs to user $attacker"
        rm $link
    done
    assert_equal "$(victim_runs sh -c 'ls ~')" $'key\nprofile\nstate'

    # The names that are written.
    for name in tiles/a.csv.part tiles/a.csv "demo-$id.job.json" "demo-$id.job.json.part" "demo-$id.job.sh" "demo-$id.job.sh.part"; do
        rm -rf results
        as_uid $attacker sh -c "mkdir -m 777 results results/tiles; chmod 777 results/tiles; ln -s $place/home-$victim/profile results/$name"
        victim_runs "$program" job collect "$id" || true
        assert_equal "$(cat "$place/home-$victim/profile")" before
    done
    rm -rf results
    as_uid $attacker sh -c 'mkdir -m 777 results results/tiles; chmod 777 results/tiles; mkfifo -m 666 results/tiles/a.csv.part'
    run victim_runs timeout 20 "$program" job collect "$id"
    assert_equal "$status" 5

    # The user's own links are followed.
    rm -rf results
    victim_runs sh -c 'mkdir ~/far; ln -s ~/far results'
    run -0 victim_runs "$program" job collect "$id"
    assert_file_exist "$place/home-$victim/far/tiles/a.csv"
}

@test "C-F4: job attach takes no name, UUID or folder from a record that leads elsewhere" {
    job_with
    cp "$record/job.json" good.json
    export CYBELE_STATE_DIR=$place/other-state
    for change in '.name = "../../evil"' '.uuid = "../../evil"' '.uuid = "--help"'; do
        jq "$change" good.json >"$record/job.json"
        refuses 3 "$CYBELECTL" job attach "$record"
        assert_output --partial 'is not the record of a job in this folder'
    done
    mkdir elsewhere
    jq --arg folder "$place/elsewhere" '.folder = $folder' good.json >"$record/job.json"
    run "$CYBELECTL" job attach "$record"
    run -0 "$CYBELECTL" job collect "${record##*/}" --results 'tiles/*.csv'
    assert_equal "$(ls elsewhere)" ''
    assert_file_exist results/tiles/a.csv
}

@test "small: JSON of an image or of a job that is nested a million times is refused, and ends no command by a signal" {
    job_with 'output: {results: ["tiles/*.csv"]}'
    mkdir -p root/.singularity.d
    python3 -c 'print("{\"x\":" + "[" * 1000000 + "]" * 1000000 + "}")' >root/.singularity.d/labels.json
    refuses 3 "$CYBELECTL" inspect -l root
    python3 -c 'print("{\"resources\":" + "{\"a\":" * 1000000 + "1" + "}" * 1000001)' >"$record/job.json"
    refuses 3 "$CYBELECTL" job collect "$id"
    assert_output --partial 'job.json is damaged'
}

@test "C-F4: job attach believes a record where it lies, and one that others cannot write" {
    job_with
    export CYBELE_STATE_DIR=$place/other-state
    cp -r "$record" copy
    refuses 3 "$CYBELECTL" job attach copy
    cp "$record/job.json" good.json
    jq '.workdir = "/etc" | .folder = "/etc"' good.json >"$record/job.json"
    refuses 3 "$CYBELECTL" job attach "$record"
    jq '.document = 5 | .array = {}' good.json >"$record/job.json"
    chmod 777 "$record"
    refuses 5 "$CYBELECTL" job attach "$record"
    chmod 700 "$record"
    chown $attacker "$record/job.json"
    refuses 5 "$CYBELECTL" job attach "$record"
}

@test "C-F11: a cache of another user, or open to others, is refused with owner, mode and remedy" {
    echo text >data
    printf 'Bootstrap: scratch\n%%files\n  data /data\n' >a.def
    mkdir cache
    chown $attacker cache
    chmod 755 cache
    refuses 5 "$CYBELECTL" build a.def -o a.sif
    assert_line --partial 'belongs to user 2102 (mode 0755)'
    assert_line --partial 'CYBELE_CACHE_DIR=DIR'
    refuses 5 "$CYBELECTL" cache list
    chown 0 cache
    chmod 777 cache
    refuses 5 "$CYBELECTL" cache list
    assert_line --partial '(owner 0, mode 0777)'
    assert_line --partial "chmod go-w $place/cache"
    chmod 700 cache
    mkdir -m 777 open
    mv cache open/cache
    CYBELE_CACHE_DIR=$place/open/cache refuses 5 "$CYBELECTL" cache list
}

@test "C-F11: a store of another user is refused until the user allows it; what it makes is never open to all" {
    "$CYBELECTL" sif new app.sif
    "$CYBELECTL" image add app.sif app:1
    chown $attacker store
    for verb in list 'list app:1' 'add app.sif b:1' prune; do
        # shellcheck disable=SC2086
        refuses 5 "$CYBELECTL" image $verb
        assert_line --partial 'belongs to user 2102 (mode 0700)'
        assert_line --partial "cybelectl config trust $place/store"
    done
    refuses 255 "$CYBELECTL" exec store:app:1 true
    "$CYBELECTL" config trust store 2>/dev/null
    run -0 "$CYBELECTL" image list
    assert_output --partial app:1
    chown 0 store
    chmod 777 store
    refuses 5 "$CYBELECTL" image list
    chmod 2775 store
    umask 0
    "$CYBELECTL" image add app.sif shared:1
    assert_equal "$(find store cache -perm /o=w ! -type l 2>/dev/null)" ''
}

@test "small: a folder in /tmp that another user made is not used, and this is said" {
    folder=/tmp/cybelectl-$victim
    rm -rf "$folder"
    mkdir -p root/bin
    cp /bin/busybox root/bin/busybox
    chmod -R a+rX root scratch
    rank() {
        as_uid $victim env -u XDG_RUNTIME_DIR PMIX_RANK=0 PMIX_NAMESPACE=one scratch/bin/cybelectl exec root /bin/busybox true
    }
    run -0 rank
    assert_output ''
    for how in 'mkdir -m 777' 'ln -s /var/tmp'; do
        # shellcheck disable=SC2086
        as_uid $attacker $how "$folder"
        run -0 rank
        rm -rf "$folder"
        assert_output --partial 'in a container of its own'
        assert_output --partial 'is not private'
    done
}

@test "small: an empty journal is not taken for a new one" {
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    "$CYBELECTL" submit j.yaml --scheduler local --wait
    cp state/jobs.sqlite good.sqlite
    : >state/jobs.sqlite
    for verb in 'job list' 'submit j.yaml --scheduler local'; do
        # shellcheck disable=SC2086
        refuses 5 "$CYBELECTL" $verb
        assert_line --regexp 'is empty$'
        assert_line --partial '(owner 0, mode 0644)'
    done
    assert_equal "$(stat -c %s state/jobs.sqlite)" 0
    cp good.sqlite state/jobs.sqlite
    run -0 "$CYBELECTL" job list --all
    assert_output --partial 'done'
    rm state/jobs.sqlite
    sqlite3 state/jobs.sqlite 'CREATE TABLE foreign_table(a)'
    refuses 5 "$CYBELECTL" job list
    assert_line --regexp 'is not a journal of jobs$'
    chown $attacker state/jobs.sqlite
    refuses 5 "$CYBELECTL" job list
    assert_line --partial 'belongs to user 2102'
    rm state/jobs.sqlite
    run -0 "$CYBELECTL" job list
}

@test "small: the end of a job is readable by its user alone, whatever the umask" {
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >j.yaml
    (umask 0 && "$CYBELECTL" submit j.yaml --scheduler local --wait)
    (umask 0 && "$CYBELECTL" job render j.yaml --scheduler local >j.sh && mkdir -m 700 r && CYBELE_JOB=0a1b CYBELE_JOB_DIR=$PWD/r bash j.sh)
    assert_file_exist r/exit.json
    for file in .cybelectl/*/exit.json r/exit.json; do
        assert_equal "$(stat -c %a "$file")" 600
    done
    assert_equal "$(find .cybelectl state -perm /o=w ! -type l)" ''
}

@test "small: what a killed process left of the list of known files is removed" {
    mkdir -m 700 cache
    touch cache/known-files.new.abcdef cache/known-files.new.123456
    head -c 100000 /dev/urandom >data
    printf 'Bootstrap: scratch\n%%files\n  data /data\n' >a.def
    touch -d '1 hour ago' data
    "$CYBELECTL" build a.def -o a.sif
    assert_file_exist cache/known-files
    assert_equal "$(find cache -name 'known-files.new*')" ''
}

@test "small: a loop of links is not a matter of the network" {
    ln -s loop loop
    for words in 'verify loop' 'inspect loop' 'image add loop a:1' 'image push loop oras://127.0.0.1:1/a:1 --plain-http' 'build loop -o x.sif' \
        'image pull oras://127.0.0.1:1/a:1 -o loop --plain-http' 'exec loop true' 'submit loop'; do
        # shellcheck disable=SC2086
        run "$CYBELECTL" $words
        assert_failure
        refute_output --partial 'no-network'
        refute_output --partial 'a fault of cybelectl'
    done
}

@test "small: inspect writes no control character of an image into a pipe" {
    mkdir -p root/.singularity.d/env
    printf 'export A="\033]0;evil\007"\n' >root/.singularity.d/env/90-environment.sh
    printf '#!/bin/sh\n# \033[2J\n' >root/.singularity.d/runscript
    printf '\033[31mhelp\n' >root/.singularity.d/runscript.help
    for option in -e -r -H; do
        run -0 "$CYBELECTL" inspect $option root
        refute_output --regexp $'[\033\007]'
    done
    run -0 "$CYBELECTL" inspect -e root
    assert_output --partial '\x1b]0;evil'
}

@test "a relative HOME or XDG folder makes no file of the current folder the user's own" {
    mkdir -p rel/cybelectl rel/.config/cybelectl
    printf 'verify-key: %s/evil.pub\nsite: evil.yaml\n' "$place" | tee rel/cybelectl/config.yaml >rel/.config/cybelectl/config.yaml
    unset CYBELE_CONFIG_DIR CYBELE_STORE CYBELE_CACHE_DIR CYBELE_STATE_DIR
    local name
    for name in HOME XDG_CONFIG_HOME; do
        run --separate-stderr env "$name=rel" "$CYBELECTL" config show
        assert_success
        refute_output --partial evil
        # shellcheck disable=SC2154
        assert_regex "$stderr" "$name is ignored \(it is a relative path\)"
        assert_equal "$(wc -l <<<"$stderr")" 1
        run --separate-stderr env "$name=$place/rel" "$CYBELECTL" config show
        assert_output --partial evil
        assert_equal "$stderr" ''
    done
    find rel | sort >before
    mkdir own
    "$CYBELECTL" sif new app.sif
    for name in HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR; do
        env HOME="$place/own" "$name=rel" "$CYBELECTL" image list >/dev/null
        env HOME="$place/own" "$name=rel" "$CYBELECTL" cache list >/dev/null
        env HOME="$place/own" "$name=rel" "$CYBELECTL" job list >/dev/null
    done
    find rel | sort | diff before -
    # Logins, too.
    mkdir -p rel/containers
    echo no json >rel/containers/auth.json
    XDG_RUNTIME_DIR=rel HOME=$place/own run "$CYBELECTL" image tags oras://127.0.0.1:1/a --plain-http
    refute_output --partial rel/containers
}

@test "a setting with control characters reaches no terminal" {
    mkdir project
    cd project
    printf 'scheduler: "a\\e]0;evil\\a\\nbuilder embedded"\n' >.cybelectl.yaml
    run -0 "$CYBELECTL" config show
    assert_line --partial 'a\x1b]0;evil\x07\nbuilder embedded'
    [[ $output != *$'\e'* ]]
    assert_equal "$("$CYBELECTL" config show --format json | jq -r '.settings[0].value')" $'a\e]0;evil\a\nbuilder embedded'
}

@test "a pipe in the place of a settings file, a trust list or a journal is refused, and not waited for" {
    local file
    mkdir -p project
    mkfifo project/.cybelectl.yaml
    cd project
    run -0 timeout 20 "$CYBELECTL" config show
    assert_output --partial 'is ignored (it is not a regular file)'
    rm .cybelectl.yaml
    for file in "$CYBELE_CONFIG_DIR/config.yaml" "$CYBELE_CONFIG_DIR/trusted-folders"; do
        mkfifo "$file"
        refuses 5 timeout 20 "$CYBELECTL" config show
        assert_output --partial 'is not a regular file'
        rm "$file"
    done
    export CYBELE_STATE_DIR=$place/state
    mkdir -m 700 "$CYBELE_STATE_DIR"
    mkfifo "$CYBELE_STATE_DIR/jobs.sqlite"
    refuses 5 timeout 20 "$CYBELECTL" job list
    assert_output --partial 'is not a regular file'
    run bash -c "echo nothing | '$CYBELECTL' recipe check /dev/stdin"
    refute_output --partial 'not a regular file'
}
