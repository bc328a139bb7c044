# SPDX-License-Identifier: Apache-2.0
# What every verb owes its user: help with examples, clean streams, forms that programs read.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

@test "each verb has help with two examples, on standard output" {
    while read -r -a verb; do
        run --separate-stderr "$CYBELECTL" "${verb[@]}" --help
        assert_success
        assert_output --partial "cybelectl ${verb[*]}"
        assert_equal "$stderr" ""
        examples=$(sed -n '/^Examples:$/,$ s/^  [a-z]/&/p' <<<"$output" | wc -l)
        ((examples >= 2)) || fail "cybelectl ${verb[*]}: $examples examples"
    done < <("$CYBELECTL" help --list)
}

@test "the version is one line" {
    run "$CYBELECTL" --version
    assert_success
    assert_equal "${#lines[@]}" 1
}

@test "the version as json says how it was built and what it can do" {
    run --separate-stderr "$CYBELECTL" --version --format json
    assert_success
    jq -e '.format == 1 and (.version | test("^[0-9.]+$")) and .build.linking == "dynamic" and
           (.features.schedulers | index("slurm")) and (.templates | startswith("1-"))' <<<"$output"
}

@test "completions name the verbs, and their shells can read them" {
    "$CYBELECTL" completion bash >c.bash
    bash -n c.bash
    for shell in bash zsh fish; do
        run "$CYBELECTL" completion "$shell"
        assert_success
        for verb in submit verify; do
            assert_output --partial "$verb"
        done
    done
}

@test "bash completes a verb" {
    # shellcheck disable=SC2016
    run bash -c '. <("$1" completion bash); COMP_WORDS=(cybelectl ver); COMP_CWORD=1; COMP_LINE="cybelectl ver"; COMP_POINT=13
        f=$(complete -p cybelectl | sed "s/.*-F \([^ ]*\).*/\1/"); $f cybelectl ver cybelectl; printf "%s\n" "${COMPREPLY[@]}"' sh "$CYBELECTL"
    assert_success
    assert_line --regexp '^verify ?$'
}

# completed WORD…: what bash proposes for the last word.
completed() {
    # shellcheck disable=SC2016
    bash -c '. <("$1" completion bash); shift; COMP_WORDS=(cybelectl "$@"); COMP_CWORD=$#; _cybelectl
        printf "%s\n" "${COMPREPLY[@]}"' sh "$CYBELECTL" "$@"
}

@test "bash completes the words of options and arguments, and files where any file may stand" {
    touch sluice
    run completed submit --scheduler sl
    assert_output $'slurm\nslurm-torque'
    run completed submit --scheduler = sl
    assert_line slurm
    run completed job list --state fa
    assert_output failed
    run completed job list --format js
    assert_output json
    run completed completion ba
    assert_output bash
    run completed help jo
    assert_output job
    run completed explain exit-co
    assert_output exit-codes
    run completed submit slu
    assert_output sluice
    run completed job check --site sl
    assert_output sluice
    "$CYBELECTL" completion fish >c.fish
    grep -qE -- "-l scheduler .*-x -a '[^']*slurm" c.fish
}

@test "config show gives each value with its origin" {
    CYBELE_SCHEDULER=torque run "$CYBELECTL" config show
    assert_success
    assert_output --regexp 'scheduler.*torque.*CYBELE_SCHEDULER'
}

@test "doctor says what the machine can do, as text and as json" {
    run "$CYBELECTL" doctor
    assert_output --partial 'mmdebstrap'
    run --separate-stderr "$CYBELECTL" doctor --format json
    jq -e 'type == "object"' <<<"$output"
}

@test "a link of install-as is not taken for Apptainer: doctor, site probe, build --builder" {
    mkdir own
    "$CYBELECTL" install-as apptainer own
    PATH=$place/own:/usr/bin:/bin run "$CYBELECTL" doctor
    assert_line --regexp "apptainer.*$place/own/apptainer is a link to cybelectl"
    PATH=$place/own:/usr/bin:/bin run "$CYBELECTL" site probe
    refute_line --partial "$place/own/apptainer"
    printf 'Bootstrap: scratch\n' >a.def
    PATH=$place/own:/usr/bin:/bin refuses 5 "$CYBELECTL" build a.def --builder apptainer
    assert_line --partial "$place/own/apptainer is a link to cybelectl"
}

@test "a Site is tried: its mistakes at once; doctor and job check say what is wrong with it and its Policy" {
    "$CYBELECTL" key new centre.pem -q
    printf '%s\n' 'kind: Policy' 'keys: [centre.pub]' >policy.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: slurm, through: {ssh: head}}' \
        "verify: $place/policy.yaml" 'queues: [{name: a}]' >site.yaml
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >job.yaml
    export CYBELE_CONFIG_DIR=$place/config
    mkdir -m 700 config
    echo "site: $place/site.yaml" >config/config.yaml
    run "$CYBELECTL" doctor
    assert_line "ok      site              hall, $place/site.yaml, by $place/config/config.yaml:1"
    assert_line "ok      policy            $place/policy.yaml"
    refute_line --partial 'site check'
    run -0 "$CYBELECTL" site check site.yaml
    assert_line 'site.yaml: no errors, 1 warning'
    assert_line 'because: its batch system is reached by ssh'
    run -0 "$CYBELECTL" job check job.yaml --scheduler slurm
    refute_line --partial 'refused at this Site'

    echo 'pgp: [12]' >>policy.yaml
    sed -i 's/name: a/name: a, setup: "if"/' site.yaml
    refuses 3 "$CYBELECTL" site check site.yaml
    assert_line " --> $place/policy.yaml:3:7"
    assert_line ' --> site.yaml:5:27'
    assert_line 'error: this is not valid shell code'
    run "$CYBELECTL" doctor
    assert_line "note    site              $place/site.yaml:5: this is not valid shell code"
    assert_line "                          help: see all: \`cybelectl site check $place/site.yaml\`"
    run -0 "$CYBELECTL" job check job.yaml --scheduler slurm
    assert_line --partial 'warning: Jobs with an image are refused at this Site: '
    assert_line " --> $place/policy.yaml:3:7"

    rm site.yaml
    run -5 "$CYBELECTL" doctor
    assert_line --regexp "^missing site +$place/site.yaml, by $place/config/config.yaml:1: no such file"
    mv config/config.yaml config/config.yml
    run "$CYBELECTL" doctor
    assert_line 'ok      site              none: a Job without --site runs on this machine'
    assert_line --partial "warning: $place/config/config.yml is ignored (its name must end with .yaml)"
}

@test "doctor names what is missing and how to mend it" {
    mkdir tools
    ln -s -t tools /usr/sbin/* /usr/bin/* 2>/dev/null || true
    rm -f tools/mmdebstrap
    PATH=$place/tools run "$CYBELECTL" doctor
    assert_output --regexp 'apt(-get)? install [a-z ]*mmdebstrap'
}

@test "faults are objects with --format json" {
    printf 'kind: Job\nname: demo\nresources: {time: 30}\n' >j.yaml
    run --separate-stderr "$CYBELECTL" job check j.yaml --format json
    assert_failure 3
    jq -e '[.. | objects | select(has("message"))] | length >= 1' <<<"$output$stderr"
}

@test "no colour where the output is no terminal" {
    unset NO_COLOR
    run "$CYBELECTL" build none.yaml
    assert_failure 3
    refute_output --partial $'\e['
}

@test "a mistyped verb is told by name, with the one that was meant" {
    run "$CYBELECTL" exce a.sif
    assert_equal "$status" 2
    assert_line "error: unknown command 'exce'"
    assert_line "help: did you mean 'exec'?"
    run "$CYBELECTL" job rendr a.yaml
    assert_line "help: did you mean 'render'?"
}

# hints WORDS COMMANDS: of the words, where no such verb is, the help names these commands, each of which exists.
hints() {
    local command
    # shellcheck disable=SC2086
    refuses 2 "$CYBELECTL" $1
    assert_line "help: write ${2//|/\`}"
    while read -r command; do
        # shellcheck disable=SC2086
        run -0 "$CYBELECTL" $command --help
    done < <(grep -o '|cybelectl [a-z ]*' <<<"$2" | sed 's/|cybelectl //; s/ x$//')
}

@test "a verb that stands elsewhere, or that other programs call otherwise, is answered with the command to type" {
    hints 'cancel x' '|cybelectl job cancel x|'
    hints 'pull x --force' '|cybelectl image pull x --force|'
    hints 'results' 'one of |cybelectl job results|, |cybelectl job collect|'
    hints 'status' 'one of |cybelectl job status|, |cybelectl bridge status|'
    hints 'logs x' 'one of |cybelectl job logs x|, |cybelectl bridge logs x|'
    hints 'job submit x' '|cybelectl submit x|'
    hints 'recipe build x' '|cybelectl build x|'
    hints 'render x' 'one of |cybelectl recipe render x|, |cybelectl job render x|, |cybelectl kube render x|'
    while read -r words command; do
        hints "$words" "|cybelectl $command|"
    done <<'END'
ps job list
queue job list
squeue job list
qstat job list
jobs job list
sbatch submit
qsub submit
mpirun submit
start submit
scancel job cancel
qdel job cancel
kill job cancel
log job logs
tail job logs
retry job resubmit
create init
compile build
images image list
upload image push
download image pull
keygen key new
settings config show
clean cache prune
topics explain
END
    refuses 2 "$CYBELECTL" version
    assert_line 'help: write `cybelectl --version`'
    refuses 2 "$CYBELECTL" help cancel
    assert_line 'help: write `cybelectl job cancel --help`'
    refuses 2 "$CYBELECTL" cancel 'a b'
    assert_line "help: write \`cybelectl job cancel 'a b'\`"
}

@test "explain alone lists its topics, each of which it explains" {
    run -0 --separate-stderr "$CYBELECTL" explain
    assert_equal "$stderr" ''
    assert_line --regexp '^  job +Job: how a program runs$'
    assert_line --regexp '^  exit-codes +Exit codes$'
    assert_line 'rules of `kube check`:'
    local list=$output topic
    (($(wc -l <<<"$list") > 50))
    while read -r topic; do
        "$CYBELECTL" explain "$topic" >one || fail "$topic"
    done < <(sed -n 's/^  \([^ ]*\) .*/\1/p' <<<"$list")
    run -0 "$CYBELECTL" explain --schema
    assert_line --partial 'recipe, lock, job, site, project, policy, bridge'
    run -0 "$CYBELECTL" explain Bridge --schema
}

@test "explain tells each field of each document, and what a mistyped one should be" {
    run -0 "$CYBELECTL" explain job.resources.time
    assert_line --index 0 'job.resources.time: duration'
    assert_line 'more: cybelectl explain job'
    run -0 "$CYBELECTL" explain Job.launch
    assert_line --regexp '^job.launch: `serial`, .* or map launch$'
    assert_line 'default: serial'
    assert_line --regexp '^  guard +flag: .*N jobs of one rank$'
    run -0 "$CYBELECTL" explain site.queues.max-time # of a list of maps
    assert_line --index 0 'site.queues.max-time: duration'
    run -0 "$CYBELECTL" explain job.environment.ANY_NAME # of a map with free keys
    refuses 2 "$CYBELECTL" explain job.resources.tim
    assert_line "error: 'job.resources' has no field 'tim'"
    assert_line "help: did you mean 'time'?"
    refuses 2 "$CYBELECTL" explain job.name.first
    refuses 2 "$CYBELECTL" explain job..name
    run -0 "$CYBELECTL" explain "job.sh: prog: /lib64/libc.so.6: version \`GLIBC_2.34' not found" # of a log, not a field
    assert_line --partial 'GLIBC'
    local kind path
    for kind in recipe lock job site project policy bridge; do
        while read -r path; do
            "$CYBELECTL" explain "$kind.$path" >one || fail "$kind.$path"
            grep -q '^meaning: .' one || fail "$kind.$path has no meaning"
        done < <(jq -r '.properties | keys[] | select(. != "kind" and . != "format")' "$repo/docs/schemas/$kind.schema.json")
    done
}

@test "explain shows a link to a page as the command that prints it, and finds codes of jobs by their number" {
    run -0 "$CYBELECTL" explain no-subid-range
    assert_output --partial 'No subordinate ids (`cybelectl explain no-subordinate-ids`)'
    refute_output --partial '](' # no link that a terminal cannot follow
    run -0 "$CYBELECTL" explain exit-codes
    assert_output --partial '`cybelectl explain submit`, `cybelectl explain verify`'
    refute_output --partial '](submit.md)'
    local code
    for code in 137 139 143 124 125 126 127; do
        run -0 "$CYBELECTL" explain "$code"
        assert_line --index 0 --regexp "^### exit code .*$code"
    done
    run -0 "$CYBELECTL" explain 137
    assert_output --partial 'memory (`cybelectl explain out-of-memory`)' # a link within the page
}

@test "explain knows the functions of a script, and finds a message of a log" {
    run -0 "$CYBELECTL" explain check_ranks
    assert_line --index 0 'check_ranks: a function of batch scripts:'
    assert_line --index 2 'more: cybelectl explain scripts'
    run -0 "$CYBELECTL" explain list_needed
    assert_line --index 0 --partial 'one of `find_host_mpi`, `list_host_mpi`'
    run -0 "$CYBELECTL" explain 'FATAL: could not use fakeroot: no mapping entry found in /etc/subuid for bob'
    assert_line --index 0 '### could not use fakeroot: no mapping entry found in /etc/subuid'
    local name
    while IFS= read -r name; do # each function of each golden script
        run -0 "$CYBELECTL" explain "$name"
    done < <(sed -nE 's/^([a-z_]+)\(\) \{.*/\1/p' "$repo"/tests/golden/scripts/*.sh | grep -vx main | sort -u)
    refuses 2 "$CYBELECTL" explain no_such_function
    for name in payload idle ended; do
        run -0 "$CYBELECTL" explain "$name"
        assert_line --index 0 "$name: a variable of batch scripts:"
    done
}

@test "explain finds a line of a log alone, words of a failure, a field without its document, a command and a launch" {
    run -0 "$CYBELECTL" explain 'Hello from rank 0 of 1'
    assert_line --index 0 '### rank 0 of 1, several times: singleton ranks'
    run -0 "$CYBELECTL" explain 'rank 0 of 1'
    assert_line --index 0 '### rank 0 of 1, several times: singleton ranks'
    run -0 "$CYBELECTL" explain oom
    assert_output --partial 'out-of-memory'
    local words
    for words in Killed 'code 137' 'exit code 137'; do
        run -0 "$CYBELECTL" explain "$words"
        assert_line --index 0 '### exit code 137'
    done
    run -0 "$CYBELECTL" explain resources.memory-per-node
    local field=$output
    run -0 "$CYBELECTL" explain job.resources.memory-per-node
    assert_equal "$output" "$field"
    run -0 "$CYBELECTL" explain 'job convert'
    assert_line --regexp '^  cybelectl job convert: '
    run -0 "$CYBELECTL" explain torch
    assert_line --index 0 --partial 'Launches'
    run -0 "$CYBELECTL" explain spark
    assert_line --index 0 --partial 'Launches'
}

@test "a mistyped option or word of a choice is told with the one that was meant, a missing verb with those that there are" {
    refuses 2 "$CYBELECTL" submit job.yaml --wiat
    assert_line "error: cybelectl submit has no option '--wiat'"
    assert_line "help: did you mean '--wait'?"
    refuses 2 "$CYBELECTL" --versoin
    assert_line "help: did you mean '--version'?"
    refuses 2 "$CYBELECTL" job render --shceduler slurm # the Job is missing, too
    assert_line "help: did you mean '--scheduler'?"
    refuses 2 "$CYBELECTL" submit job.yaml --scheduler=slrum
    assert_line "error: --scheduler accepts local, pbspro, slurm, slurm-torque, torque, not 'slrum'"
    assert_line "help: did you mean 'slurm'?"
    refuses 2 "$CYBELECTL" site
    assert_line 'help: name one: probe, check'
}

@test "help groups the commands by task in 45 lines, and shows values, not types of a library" {
    (($("$CYBELECTL" --help | wc -l) <= 45)) # with the empty ones
    run -0 "$CYBELECTL" --help
    assert_line 'Run jobs:'
    while read -ra verb; do
        run -0 "$CYBELECTL" "${verb[@]}" --help
        refute_line --regexp '^ +-.*(TEXT:|[[:space:]]U?INT|FLOAT|Excludes|Needs|NONNEGATIVE|:\{)'
        # shellcheck disable=SC2016
        awk 'length > 100 && !/^  cybelectl /' <<<"$output" >long
        assert_equal "$(cat long)" ''
    done < <("$CYBELECTL" help --list)
    run -0 "$CYBELECTL" build --help
    assert_line --regexp '--compression zstd\|gzip '
    run -0 "$CYBELECTL" cache prune --help
    assert_line --regexp 'remove entries unused for DAYS days \(1 to 36500\)$'
}

@test "the first help pages have at most 60 commands, help --all has the rarely used ones" {
    "$CYBELECTL" help --all >all.txt
    assert_equal "$(head -n 1 all.txt)" 'Rarely used commands:'
    sed -nE 's/^  ([a-z-]+( [a-z]+)?)  +[A-Z].*/\1/p' all.txt | sort >advanced
    "$CYBELECTL" help --list >list
    # What has commands below it is a family, not a command.
    awk 'NF == 2 {family[$1] = 1} {line[NR] = $0} END {for (i = 1; i <= NR; i++) if (!(line[i] in family)) print line[i]}' list |
        sort >leaves
    assert_equal "$(comm -23 advanced leaves)" ''
    comm -13 advanced leaves >first
    (($(wc -l <first) <= 60))
    run -0 "$CYBELECTL" sif --help
    assert_line --regexp '^  list '
    refute_line --regexp '^  setprim '
    assert_line --regexp '^Rarely used: .*setprim.* \(cybelectl help --all\)$'
}

@test "commands of earlier versions are answered with the command to type" {
    while IFS='|' read -r words command; do
        # shellcheck disable=SC2086
        refuses 2 "$CYBELECTL" $words
        assert_line "error: the command \`cybelectl ${words% x}\` is not supported any more"
        assert_line "help: write \`cybelectl $command\`"
    done <<'END'
image gc|image prune
image show x|image list x
job show x|job status --details x
cache tree|cache list --tree
sif diff x|image diff x
END
    refuses 2 "$CYBELECTL" help image gc
    assert_line 'help: write `cybelectl image prune`'
}

@test "help VERB is VERB --help" {
    run "$CYBELECTL" help job render
    assert_success
    assert_output "$("$CYBELECTL" job render --help)"
}
