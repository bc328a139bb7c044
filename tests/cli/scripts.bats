# SPDX-License-Identifier: Apache-2.0
# Scripts for all schedulers at once, scripts of others explained and converted, Jobs that no scheduler takes.
load ../parts/suite.bash

setup() {
    work_place
    write_job demo 'command: [hello-mpi]' 'launch: mpi' \
        'resources: {nodes: 2, tasks-per-node: 2, time: 90 min}' 'queue: batch'
}
teardown() { leave_place; }

explain() { "$CYBELECTL" job explain "$@"; }
convert() { "$CYBELECTL" job convert "$@"; }

@test "each scheduler gets its script, the one that cannot run the job its reason" {
    run --separate-stderr "$CYBELECTL" job render demo.yaml --all-schedulers -o .
    assert_equal "$status" 3
    assert_equal "$("$CYBELECTL" job render demo.yaml --all-schedulers -o made/here 2>/dev/null | grep -c made/here)" 4
    for scheduler in slurm torque pbspro slurm-torque; do
        assert_line "$scheduler: ./demo.$scheduler.sh"
        "$CYBELECTL" job render demo.yaml --scheduler "$scheduler" 2>notes | cmp - "demo.$scheduler.sh"
    done
    assert_not_exist demo.local.sh
    [[ $output == *'local: refused: '* ]]
    [[ $stderr == *'demo.yaml:5:'* ]]
}

@test "the same as JSON" {
    run --separate-stderr "$CYBELECTL" job render demo.yaml --all-schedulers --format json
    assert_equal "$status" 3
    jq -e 'length == 5 and ([.[] | select(.file == null) | .scheduler] == ["local"])' <<<"$output"
}

@test "rendering leaves nothing but its output" {
    find . | sort >before
    "$CYBELECTL" job render demo.yaml --scheduler slurm 2>&1 >/dev/null | cat >/dev/null
    find . | sort | diff before - | grep -v before || true
    assert_equal "$(find . | sort | grep -vx ./before | diff - <(grep -vx ./before before))" ""
    "$CYBELECTL" job render demo.yaml --scheduler slurm -o demo.sh 2>/dev/null
    refute [ "$(find . | sort)" = "$(cat before)" ]
}

@test "a plain script starts the program with its variables, and ends with its code" {
    write_job plain 'command: [sh, -c, '"'"'echo "$LEVEL $OMP_NUM_THREADS $PWD"; exit 7'"'"']' 'launch: openmp' \
        'environment: {LEVEL: "a, b"}' 'resources: {cpus-per-task: 2}'
    sed -i '/^image:/d' plain.yaml
    "$CYBELECTL" job render plain.yaml --plain -o plain.sh
    run bash plain.sh
    assert_equal "$status" 7
    assert_output "a, b 2 $PWD"
    assert_not_exist .cybelectl
    "$CYBELECTL" job render demo.yaml --all-schedulers --plain -o plain 2>notes || true
    for scheduler in slurm torque pbspro slurm-torque; do
        bash -n "plain/demo.$scheduler.sh"
        assert [ "$(wc -l <"plain/demo.$scheduler.sh")" -le 25 ]
        assert_file_contains "plain/demo.$scheduler.sh" 'no record of the end'
    done
}

@test "what a plain script cannot do is refused, all at once" {
    write_job much 'command: [app]' 'launch: spark' 'teardown: [{run: rm -f lock}]' 'signal: {before: 2 min}' \
        'resources: {cpus-per-task: 2, memory-per-node: 8 GiB, time: 1 h}'
    run --separate-stderr "$CYBELECTL" job render much.yaml --scheduler slurm --plain
    assert_equal "$status" 3
    assert_equal "$output" ''
    for reason in 'cannot run Spark' 'passes no signal on' 'has no teardown'; do
        [[ $stderr == *"$reason"* ]]
    done
}

@test "a rendered script breaks no rule that can be checked by reading" {
    for scheduler in slurm torque pbspro; do
        "$CYBELECTL" job render demo.yaml --scheduler "$scheduler" -o demo.sh 2>notes
        run explain demo.sh --scheduler "$scheduler" --strict
        assert_success
        assert_line 'breaks no rule that can be checked by reading'
    done
}

@test "a script of somebody else is explained with lines and rules" {
    cp "$repo/tests/golden/outside/mpi.torque.in" old.pbs
    run explain old.pbs --strict
    assert_equal "$status" 3
    assert_line --regexp 'D7 an mpirun without tm starts all ranks on the first node'
    run explain old.pbs --format json
    assert_success
    jq -e '.format == 1 and .reads == "torque" and ([.breaks[] | select(.invariant == "D6")][0].line == 14)' <<<"$output"
}

@test "the image is relative to the Job's file, whatever its workdir is; variables of the submission name a bind" {
    mkdir -p here/sub/data
    cp "$(fixture)/hello-mpi.sif" here/base.sif
    printf 'no image\n' >here/sub/base.sif
    printf '%s\n' 'kind: Job' 'name: beside' 'image: base.sif' 'workdir: sub' 'command: [sh, -c, "ls /data; pwd"]' \
        'binds: [{expand: "$SCR/data:/data"}]' 'resources: {time: 5 min}' >here/beside.yaml
    touch here/sub/data/file
    SCR=$PWD/here/sub run -0 "$CYBELECTL" submit here/beside.yaml --scheduler local --wait
    assert_equal "$(cat here/sub/beside-*.out)" "file
$PWD/here/sub"
    mkdir there
    cp here/beside.yaml there/ && sed -i "s|workdir: sub|workdir: $PWD/here/sub|" there/beside.yaml
    cp here/base.sif there/base.sif
    SCR=$PWD/here/sub run -0 "$CYBELECTL" submit there/beside.yaml --scheduler local --wait
}

@test "a proxy of the job reaches the container; the Job's environment names another one, or none" {
    ln -sf "$(fixture)/hello-mpi.sif" .
    export https_proxy=http://proxy.example:3128 NO_PROXY=.example http_proxy=http://login.example:1
    local script='script: echo "${https_proxy:-none} ${http_proxy:-none} ${NO_PROXY:-none}"'
    write_job given "$script"
    "$CYBELECTL" submit given.yaml --scheduler local --wait
    assert_equal "$(cat given-*.out)" 'http://proxy.example:3128 http://login.example:1 .example'
    write_job named "$script" 'environment: {https_proxy: "http://nodes.example:2", http_proxy: ""}'
    run -0 "$CYBELECTL" submit named.yaml --scheduler local --wait
    assert_equal "$(cat named-*.out)" 'http://nodes.example:2 none .example'
}

@test "a log is explained; one without a symptom says so" {
    printf '%s\n' 'start' 'Read -1, expected 65536, errno = 1' >job.out
    run explain --log job.out
    assert_success
    assert_line 'job.out:2: cma-forbidden'
    assert_line --regexp 'help: set OMPI_MCA_btl_vader_single_copy_mechanism'
    run explain --log job.out --strict
    assert_equal "$status" 3
    printf 'fine\n' >fine.out
    run explain --log fine.out --strict
    assert_success
    run explain --log job.out --format json
    jq -e '.symptoms[0].symptom == "cma-forbidden"' <<<"$output"
}

@test "explain wants a script or a log" {
    refuses 2 explain
    refuses 2 explain a.sh --log b.out
    refuses 2 explain --log --strict b.out
    assert_line --partial 'error: --log needs FILE'
    refuses 3 explain --log 42
    assert_line 'help: write `cybelectl job explain --log <(cybelectl job logs 42)`'
    run explain none.sh
    assert_failure
}

@test "a converted script is a Job that renders, and each line that is not in it is told" {
    cp "$repo/tests/golden/outside/mpi.torque.in" old.pbs
    run --separate-stderr convert old.pbs -o job.yaml
    assert_success
    run "$CYBELECTL" job render job.yaml --scheduler torque
    assert_success
    assert_line '#PBS -l nodes=2:ppn=8:ib'
    assert_line '#PBS -l mem=64gb'
    cp "$repo/tests/golden/outside/hybrid.slurm.in" other.sh
    run --separate-stderr convert other.sh --strict
    assert_success
    assert_line 'reservation: "school"'
    [[ $stderr == *'cybelectl: options: 12 converted to fields, 0 copied unchanged, 0 changed'* ]]
    printf '%s\n' '#!/bin/bash' '#SBATCH --ntask-per-node=1' 'sbatch "$0"' >again.sh
    run --separate-stderr convert again.sh --strict
    assert_equal "$status" 3
    [[ $stderr == *'changed or left out: --ntask-per-node'*'again.sh:2:'*'did you mean'* ]]
    [[ $stderr == *'changed or left out: sbatch "$0"'*'again.sh:3:'* ]]
}

@test "of scripts of all kinds, none becomes another program silently" {
    run "$repo/tests/long/wild_jobs" --program "$CYBELECTL" --most-silent 0 --list silent "$repo/tests/cases/wild"
    echo "$output"
    assert_success
    assert_line --regexp '^files +9[0-9]$'
    assert_line --regexp '^crash +0 '
}

@test "converted scripts print what they printed before" {
    export XDG_STATE_HOME=$PWD/state
    local cases=(arguments array-table env-bash sh-shell here-document quotes blanks-and-tabs background-wait
        python-shebang perl-shebang block-module loop)
    printf '%s\n' '#!/bin/bash' '#SBATCH -n 1' 'for i in a b; do echo "$i"; false; done; echo "$nothing"' >loop.sh
    for name in ./md ./run ./left ./right ./a.out; do
        printf '#!/bin/sh\necho "%s: $*"\n' "$name" >"$name"
        chmod +x "$name"
    done
    printf '1 2\n' >table.txt
    touch input
    for name in "${cases[@]}"; do
        local file
        file=$(ls "$repo/tests/cases/wild/$name".* 2>/dev/null || ls "$name".sh)
        cp "$file" "./$name.script"
        chmod +x "./$name.script"
        SLURM_ARRAY_TASK_ID=1 "./$name.script" 'x y' z >expected </dev/null || :
        convert "$name.script" -o "$name.yaml" 2>/dev/null
        sed -i '/^array:/d' "$name.yaml" # an element of its own needs no queue
        local arguments=(-- 'x y' z)
        grep -q '^launch: batch' "$name.yaml" || arguments=() # a typed launch is of a script that reads none
        SLURM_ARRAY_TASK_ID=1 "$CYBELECTL" submit "$name.yaml" --wait --stdout got --stderr got-errors "${arguments[@]}" || :
        sort expected >expected.sorted
        sort got >got.sorted
        diff expected.sorted got.sorted
    done
}

@test "a script with one launch becomes a typed launch that prints and ends as the script did" {
    export XDG_STATE_HOME=$PWD/state
    mkdir sub
    printf '%s\n' '#!/bin/sh' 'printf "<%s>" "$@" "$LEVEL" "$PLACE" "${OMP_NUM_THREADS-none}"; exit "${CODE:-0}"' >show
    chmod +x show
    printf '%s\n' '#!/bin/bash' '#SBATCH -n 1' 'where=/data; level="a  b"' 'FILES="x y"' 'export LEVEL="$FILES" PLACE=$PWD' \
        './show "$FILES" z' >words.sh
    printf '%s\n' '#!/bin/bash' '#SBATCH -c 1' 'if [ -d sub ]; then export PLACE=here; fi' 'export CODE=3' \
        'export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK' './show' >code.sh
    printf '%s\n' '#!/bin/bash' '#SBATCH -n 1' 'word="b c"' 'cd sub' 'CODE=2 ../show "${word/b/d}" $PWD >log' \
        'echo "ended with $?"' 'cat log # and that is all' >body.sh
    local name expected
    for name in words code body; do
        expected=0
        SLURM_CPUS_PER_TASK=1 bash "$name.sh" >expected || expected=$?
        convert "$name.sh" -o "$name.yaml"
        run grep '^launch:' "$name.yaml"
        assert_output --partial serial
        run "$CYBELECTL" submit "$name.yaml" --scheduler local --wait --stdout got --stderr errors
        assert_equal "$status" "$expected"
        diff expected got
    done
    run cat words.yaml
    assert_line 'command: ["./show", "x y", "z"]'
    run cat body.yaml
    assert_line "  cat log # and that is all"
}

@test "what is no script is not converted" {
    printf 'hello\n' >text
    refuses 3 convert text
    printf '#!/bin/bash\n#SBATCH -n 2\n' >empty.sh
    refuses 3 convert empty.sh
}

@test "a script of 2 MB is converted and runs; one with binary parts or of another encoding is refused by name" {
    export XDG_STATE_HOME=$PWD/state
    {
        printf '%s\n' '#!/bin/bash' '#SBATCH -n 1' 'false'
        seq -f 'echo line %.0f of a long script that a program wrote >/dev/null' 40000
        echo 'echo the end'
    } >big.sh
    [[ $(stat -c %s big.sh) -gt 2000000 ]]
    convert big.sh -o big.yaml
    "$CYBELECTL" submit big.yaml --scheduler local --wait --stdout got
    assert_equal "$(cat got)" 'the end'
    printf '#!/bin/bash\n#SBATCH -n 1\necho a\n' >half.sh
    printf 'echo b\n' | iconv -t UTF-16LE >>half.sh
    refuses 3 convert half.sh
    assert_output --partial "'half.sh' is not a script"
    printf '#!/bin/bash\n#SBATCH -n 1\necho gr\374n\n' >latin.sh
    refuses 3 convert latin.sh
    assert_output --partial 'submit it unchanged: `cybelectl submit --script latin.sh`'
    { printf '#!/bin/bash\n#SBATCH -n 1\n' && cat /bin/true; } >binary.sh
    refuses 3 convert binary.sh
    assert_output --partial "'binary.sh' is not UTF-8"
}

@test "a line for a burst buffer does not get lost in the text without a word" {
    run --separate-stderr convert "$repo/tests/cases/wild/burst-buffer.sh" --strict
    assert_equal "$status" 3
    [[ $stderr == *'#DW jobdw'*'submit it unchanged'* ]]
}

# wrong SCHEDULER PART LINE…: the Job with these lines is refused with the part, at its place.
wrong() {
    local scheduler=$1 part=$2
    shift 2
    printf '%s\n' 'kind: Job' 'name: bad' "$@" >bad.yaml
    run "$CYBELECTL" job check bad.yaml --scheduler "$scheduler"
    assert_equal "$status" 3
    assert_output --partial "$part"
    assert_output --regexp ' --> bad.yaml:[0-9]+:[0-9]+'
    assert_output --partial 'help: '
}

@test "a Job that a scheduler cannot run is refused at its line, before anything is submitted" {
    wrong pbspro "'1,3' cannot be expressed in pbspro" 'command: [a]' 'array: 1,3'
    wrong torque "'0-6:2' cannot be expressed in torque" 'command: [a]' 'array: 0-6:2'
    wrong torque "'12_3' cannot be expressed in torque" 'command: [a]' 'after: [{job: "12_3"}]'
    wrong slurm "'12.head' cannot be expressed in slurm" 'command: [a]' 'after: [{job: 12.head}]'
    wrong slurm 'are not a multiple of 3' 'command: [a]' 'launch: {kind: mpi, ranks-multiple-of: 3}' 'resources: {tasks-per-node: 4}'
    wrong slurm 'control characters' 'command: ["a\x01b"]'
    wrong slurm 'signers are required' 'image: a.sif' 'command: [a]' 'verify: {keys: [a.pub], require: 2}'
    wrong torque '`qos` cannot be expressed' 'command: [a]' 'qos: high'
}

@test "more than the queue has is refused, and a version that lacks a word" {
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: torque, version: 4.2.10}' \
        'queues: [{name: batch, nodes: 2, cores-per-node: 8, max-time: 1 h}]' >hall.yaml
    printf '%s\n' 'kind: Job' 'name: bad' 'command: [a]' 'launch: mpi' \
        'resources: {nodes: 3, tasks-per-node: 9, time: 2 h, exclusive: true}' >bad.yaml
    run "$CYBELECTL" job check bad.yaml --site hall.yaml
    assert_equal "$status" 3
    for part in '3 nodes are requested' '9 cores per node are requested' '2 h of time are requested' \
        '`exclusive` cannot be expressed in torque before 6'; do
        assert_output --partial "$part"
    done
}

@test "check tells what a submission would miss on this machine, all at once; of a cluster's Job it is a note" {
    printf '%s\n' 'kind: Job' 'name: bad' 'image: a.sif' 'command: [a]' 'workdir: none' 'verify: {keys: [no.pub, ~/no.pub]}' >bad.yaml
    for verb in 'job check' submit; do
        # shellcheck disable=SC2086 # two words
        refuses 3 "$CYBELECTL" $verb bad.yaml --scheduler local
        for part in 'error: the working directory does not exist' "error: 'no.pub' is not there" "error: '~/no.pub' is not there"; do
            assert_line "$part"
        done
    done
    run "$CYBELECTL" job check bad.yaml --scheduler slurm
    assert_success
    assert_line 'warning: the working directory does not exist'
    assert_line "warning: 'no.pub' is not there"
    assert_line 'bad.yaml: no errors, 4 warnings'
    run "$CYBELECTL" job check bad.yaml --scheduler slurm --strict
    assert_equal "$status" 3
    printf '%s\n' 'kind: Job' 'name: bad' 'command: [a]' 'output: {stdout: logs/%j.out, stderr: logs/%j.err}' >bad.yaml
    refuses 3 "$CYBELECTL" job check bad.yaml --scheduler local
    assert_line 'error: the folder of this output does not exist'
    mkdir logs
    "$CYBELECTL" job check bad.yaml --scheduler local
}

@test "results are below the working directory" {
    printf '%s\n' 'kind: Job' 'name: bad' 'command: [a]' 'output: {results: [good.csv, ../up, /etc/passwd, ./x]}' >bad.yaml
    refuses 3 "$CYBELECTL" job check bad.yaml
    for column in 30 37 50; do
        assert_line " --> bad.yaml:4:$column"
    done
}

@test "a word of the command line is told by its option, not by a line of the Job" {
    printf '%s\n' 'kind: Job' 'name: good' 'command: [a]' >good.yaml
    refuses 2 "$CYBELECTL" job check good.yaml -J 'two words'
    assert_line "error: -J: invalid job name 'two words'"
    refuses 2 "$CYBELECTL" job check good.yaml -N 4000000000 --ntasks-per-node 2
    assert_line 'error: 8000000000 tasks are asked for'
    refuses 3 "$CYBELECTL" job check good.yaml --scheduler local -c 100000
    assert_line --regexp '^error: the job needs 100000 cores, and this machine has [0-9]+ \(-c\)$'
    refute_line --partial ' --> '
}

@test "options of sbatch on the command line replace the fields of a Job" {
    printf '%s\n' 'kind: Job' 'name: good' 'command: [a]' 'resources: {gpus-per-node: 4}' 'comment: old' >good.yaml
    run -0 --separate-stderr "$CYBELECTL" job render good.yaml --scheduler slurm -G a100:2 --mem-per-gpu 4G \
        --reservation school -w m -x n3 --threads-per-core 1 -L 'matlab:2,x' --gres lscratch:9 --no-requeue \
        --open-mode append -b 2031-02-03T04:05 --comment new
    for line in --gpus=a100:2 --mem-per-gpu=4096M --reservation=school --nodelist=m --exclude=n3 \
        --threads-per-core=1 --licenses=matlab:2,x:1 --gres=lscratch:9 --no-requeue --open-mode=append \
        --begin=2031-02-03T04:05:00 --comment=new; do
        assert_line "#SBATCH $line"
    done
    refute_line --partial gpus-per-node
    assert_line --partial '# With the options --gpus a100:2 '
    run -0 --separate-stderr "$CYBELECTL" job render good.yaml --scheduler slurm --comment "it's new" -c 2 --no-requeue
    assert_line "# With the options -c 2 --no-requeue --comment 'it'\\''s new'"
    refuses 2 "$CYBELECTL" job check good.yaml --begin tomorrow
    assert_line "error: --begin: invalid value 'tomorrow'"
    refuses 3 "$CYBELECTL" job check good.yaml --scheduler torque --exclude n3
    assert_line 'error: `exclude` cannot be expressed in torque (--exclude)'
    printf '#!/bin/sh\ntrue\n' >own.sh
    refuses 2 "$CYBELECTL" submit --script own.sh --scheduler local --gpus 2
    assert_line --partial '--gpus changes a Job'
}

@test "ranks of the command line are a multiple too, where that is asked" {
    printf '%s\n' 'kind: Job' 'name: bad' 'command: [a]' 'launch: {kind: mpi, ranks-multiple-of: 2}' \
        'resources: {tasks-per-node: 4}' >bad.yaml
    refuses 3 "$CYBELECTL" job check bad.yaml --scheduler slurm -n 3
    assert_output --partial '3 tasks are not a multiple of 2'
}

@test "an image is verified before it is submitted and again in the job" {
    copy_fixture
    write_job good 'command: [hello-mpi]' 'verify: {keys: [demo.pub]}'
    run --separate-stderr "$CYBELECTL" submit good.yaml --scheduler local --wait
    assert_equal "$status" 0
    "$CYBELECTL" key new other.pem >/dev/null
    write_job bad 'command: [hello-mpi]' 'verify: {keys: [demo.pub, other.pub], require: all}'
    run "$CYBELECTL" submit bad.yaml --scheduler local --wait
    assert_equal "$status" 255
    assert_output --partial 'is not verified, and the job requires it'
    "$CYBELECTL" job render bad.yaml --scheduler local -o bad.sh 2>notes
    PATH=$(dirname "$CYBELECTL"):$PATH run bash bad.sh
    assert_failure
    assert_output --partial 'hello-mpi.sif is not verified'
    assert_output --partial "the signature of $PWD/other.pub is missing"
}

@test "a second job of one submit ends; a job that is started again runs, also if its id was not written" {
    write_job once 'command: [echo, it ran]'
    sed -i '/^image:/d' once.yaml
    "$CYBELECTL" job render once.yaml --scheduler slurm -o once.sh 2>notes
    export CYBELE_JOB=0a-1 CYBELE_JOB_DIR=$PWD/record SLURM_JOB_ID=7
    local id=record/started/id
    mkdir -p "${id%/*}"
    unwritten() { rm -f "$id" && : >"$id"; } # the disk was full
    unreadable() { rm -f "$id" && ln -s nowhere "$id"; }
    same() { rm -f "$id" && echo 7 >"$id"; }
    for before in unwritten unreadable same; do
        "$before"
        run bash once.sh
        assert_success
        assert_line 'it ran'
        assert_file_contains record/exit.json '"state":"done","code":0'
        rm record/exit.json
    done
    echo 8 >"$id"
    run bash once.sh
    assert_success
    assert_output 'cybelectl: job 0a-1 was submitted two times; this second one ends'
    assert_not_exist record/exit.json
    rm "$id"
    run bash once.sh
    assert_line 'it ran'
    assert_equal "$(<"$id")" 7
}

@test "a job that is cancelled while its script begins is never recorded as done" {
    write_job early 'command: [sleep, "9"]' 'signal: {name: USR1, before: 60 s}' 'resources: {time: 5 min}'
    write_job early-batch 'launch: batch' 'script: sleep 9'
    sed -i '/^image:/d' early.yaml early-batch.yaml
    local name first last line
    export CYBELE_JOB=0a-1 CYBELE_JOB_DIR=$PWD/record SLURM_JOB_ID=7
    for name in early early-batch; do
        "$CYBELECTL" job render "$name.yaml" --scheduler slurm -o "$name.sh" 2>notes
        first=$(grep -n '^name=' "$name.sh" | cut -d: -f1)
        last=$(wc -l <"$name.sh")
        ((last - first >= 6))
        for ((line = first; line < last; line++)); do
            rm -rf record
            sed "${line}a kill -TERM \$\$" "$name.sh" >cancelled.sh
            run -143 bash cancelled.sh
            [[ ! -e record/exit.json ]] || assert_file_contains record/exit.json '"state":"cancelled","code":143'
        done
        assert_exist record/exit.json # after the last of these lines
    done
}

# bash 5.2 may leave CHLD blocked after a `read` with a time limit, and then hears of no end.
@test "a script whose bash hears of no end of a process ends with its program, and so do packed rows" {
    cat >deaf.bash <<'END'
exec {nothing}<> <(:)
for ((try = 0; try < 20000; try++)); do
    read -r -t 0.00001 -u "$nothing" || :
    while read -r name mask && [[ $name != SigBlk: ]]; do :; done </proc/$$/status
    [ $((16#$mask & 0x10000)) -eq 0 ] || break
done
END
    printf '%s\n' 'kind: Job' 'name: deaf' 'command: [sh, -c, exit 7]' >deaf.yaml
    "$CYBELECTL" job render deaf.yaml --scheduler local -o deaf.sh
    BASH_ENV=$PWD/deaf.bash CYBELE_JOB=ab CYBELE_JOB_DIR=$PWD/deaf run -7 timeout 60 bash deaf.sh
    assert_equal "$(jq -r '"\(.state) \(.code)"' deaf/exit.json)" 'failed 7'
    printf '%s\n' 'kind: Job' 'name: rows' 'sweep: {n: 0-4, pack: all, at-once: 2}' \
        "command: [sh, -c, 'case \$1 in 1) exit 9 ;; 2) kill -9 \$PPID ;; esac', sh, '@{n}']" >rows.yaml
    "$CYBELECTL" job render rows.yaml --scheduler local -o rows.sh
    BASH_ENV=$PWD/deaf.bash CYBELE_JOB=ab CYBELE_JOB_DIR=$PWD/rows run -1 timeout 60 bash rows.sh
    assert_output --partial 'error: 2 of the rows 0 to 4 failed'
    assert_equal "$(cat rows/[0-4]/exit.json | jq -r .code | paste -sd' ')" '0 9 0 0'
    assert_equal "$(ls -A rows)" $'0\n1\n2\n3\n4\nexit.json'
}

@test "job convert names the line and the word that keep a script a batch launch, once, also as JSON" {
    printf '%s\n' '#!/bin/bash' '#SBATCH -N 1 -n 4' 'srun ./a' 'echo done' >late.sh
    run -0 --separate-stderr convert late.sh
    assert_line 'launch: batch'
    [[ $stderr == *'because of: echo done'*'late.sh:4:'* ]]
    assert_equal "$(grep -c 'because of' <<<"$stderr")" 1
    run -0 --separate-stderr convert late.sh -o late.yaml --format json
    sed '/^cybelectl: /d' <<<"$stderr" >faults.json # the summary follows them
    assert_equal "$(jq -s '[.. | objects | select(.id? == "script-stays-batch")] | length' faults.json)" 1
    assert_equal "$(jq -r '.faults[0] | "\(.file):\(.line):\(.column)"' faults.json)" late.sh:4:1
    [[ $stderr == *'echo done'* ]]
    convert late.sh --strict >/dev/null # it is no loss
    sed -i '$d' late.sh
    run -0 --separate-stderr convert late.sh
    refute_line 'launch: batch'
    [[ $stderr != *'because of'* ]]
}

@test "job explain says once that a Job has no field for an option" {
    printf '%s\n' '#!/bin/bash' '#SBATCH -n 4 --hint=nomultithread' 'srun ./a' >hint.sh
    run explain hint.sh
    assert_equal "$(grep -c 'a Job has no field for' <<<"$output")" 1
    assert_output --partial 'threads-per-core: 1'
}
