# SPDX-License-Identifier: Apache-2.0
# Batch scripts of the user's own, submitted unchanged to the local scheduler; scripts that are refused. Seconds.
# shellcheck disable=SC2016 # variables of scripts
load ../parts/suite.bash
load ../parts/own_scripts.bash

setup() { work_place; }
teardown() { leave_place; }

# script NAME LINE…
write_script() {
    local name=$1
    shift
    printf '%s\n' "$@" >"$name"
}
submit() { "$CYBELECTL" submit --scheduler local --script "$@"; }

@test "a Slurm script runs with its own shell, directives, variables and arguments; its code and output are the job's" {
    write_script old.sh '#!/bin/bash' '#SBATCH --job-name=wheat' '#SBATCH -n 1' '#SBATCH -t 5' \
        'set -- "$@"' 'words=("$@")' \
        'echo "$SLURM_JOB_NAME $SLURM_JOB_ID $SLURM_NTASKS in $SLURM_SUBMIT_DIR: ${#words[@]} <$1> <$2>"' 'echo trouble >&2' 'exit 7'
    cp old.sh before.sh
    run --separate-stderr submit old.sh --wait -- 'two words' '-n'
    assert_equal "$status" 7
    id=$output
    assert_equal "$(cat "slurm-$id.out")" "wheat $id 1 in $PWD: 2 <two words> <-n>"$'\n'trouble
    assert_regex "$stderr" "slurm-$id\.out"
    cmp old.sh before.sh
    run "$CYBELECTL" job logs "$id"
    assert_line trouble
    run "$CYBELECTL" job list --all
    assert_output --regexp "$id +wheat +local +failed"
    run "$CYBELECTL" job status --details "$id"
    assert_output --partial "$PWD/old.sh"
    run "$CYBELECTL" job collect "$id" --results 'slurm-*.out' --to kept
    assert_success
    cmp old.sh kept/wheat-"$id".job.sh
}

@test "a PBS script has its variables, its file of nodes, and both of its default outputs" {
    write_script old.pbs '#!/bin/sh' '#PBS -N rice' '#PBS -l nodes=1:ppn=2,walltime=00:01:00' \
        'cd "$PBS_O_WORKDIR" && echo "$PBS_JOBID $(wc -l <"$PBS_NODEFILE") $PBS_NP"' 'echo trouble >&2'
    run --separate-stderr submit old.pbs --wait
    assert_success
    assert_equal "$(cat "rice.o$output")" "$output 2 2"
    assert_equal "$(cat "rice.e$output")" trouble
    sed -i 's/^#PBS -N.*/&\n#PBS -j oe/' old.pbs
    run --separate-stderr submit old.pbs --wait
    assert_equal "$(cat "rice.o$output")" "$output 2 2"$'\n'trouble
    assert_file_not_exist "rice.e$output"
}

@test "a csh script is run by csh, one without directives by what it names" {
    mkdir bin
    write_script bin/csh '#!/bin/bash' 'echo "csh $1 ${2##*/} $3"'
    chmod +x bin/csh
    write_script c.csh "#! $PWD/bin/csh -f" '#SBATCH -J seas' 'setenv A 1'
    run --separate-stderr submit c.csh --wait -- word
    assert_success
    assert_equal "$(cat "slurm-$output.out")" 'csh -f job.sh word'
    write_script p.py "#!$(command -v python3)" 'import sys' 'print(sys.argv[1:])'
    run --separate-stderr submit p.py --wait -- '' b
    assert_success
    assert_equal "$(cat "p.py-$output.out")" "['', 'b']"
}

@test "an array's elements have their index and an output each; an element that fails is the job's code" {
    write_script many.sh '#!/bin/sh' '#SBATCH --array=1-3%2' 'echo "part $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID"' '[ "$SLURM_ARRAY_TASK_ID" != 2 ] || exit 5'
    run --separate-stderr submit many.sh --wait
    assert_equal "$status" 5
    id=$output
    for index in 1 2 3; do
        assert_equal "$(cat "slurm-${id}_$index.out")" "part $index of $id"
        run "$CYBELECTL" job logs "${id}_$index"
        assert_output "part $index of $id"
    done
}

@test "the outputs that a script names are found, by %x, %j and --chdir" {
    mkdir run logs
    write_script named.sh '#!/bin/sh' '#SBATCH -D run' "#SBATCH -o ../logs/%x-%j.txt" "#SBATCH -e $PWD/logs/errors" 'pwd' 'echo trouble >&2'
    run --separate-stderr submit named.sh --follow
    assert_success
    assert_output "$PWD/run"
    assert_regex "$stderr" trouble
    assert_equal "$(cat logs/errors)" trouble
    assert_file_exist "logs/named.sh-$(grep -oE '^[0-9]+' <<<"$stderr" | head -n 1).txt"
}

@test "patterns that a script of Slurm may have in its outputs are expanded as Slurm does" {
    write_script all.sh '#!/bin/sh' '#SBATCH -o %x.%A.%J.%a.%N.%n.%t.%s.%u.out' 'echo here'
    run --separate-stderr submit all.sh --wait
    assert_success
    assert_equal "$(cat "all.sh.$output.$output.4294967294.$(hostname -s).0.0.batch.${USER:-unknown}.out")" here
    run "$CYBELECTL" job logs "$output"
    assert_output here
}

@test "directives without effect on this machine are said once, by name" {
    write_script much.sh '#!/bin/sh' '#SBATCH -p long' '#SBATCH --account=wheat' '#SBATCH --mail-type=END' '#SBATCH -p short' 'true'
    run submit much.sh --wait
    assert_success
    assert_line --partial 'much.sh:2:1'
    assert_equal "$(grep -c 'without effect on the local scheduler' <<<"$output")" 1
    assert_line --partial '--partition, --account, --mail-type'
}

@test "a script is cancelled, waited for and ends at its time limit" {
    write_script long.sh '#!/bin/sh' 'sleep 60'
    id=$(submit long.sh)
    "$CYBELECTL" job cancel "$id"
    run "$CYBELECTL" job wait "$id"
    assert_equal "$status" 143
    write_script limited.sh '#!/bin/sh' '#PBS -l walltime=1' 'sleep 60'
    run submit limited.sh --wait
    assert_equal "$status" 124
}

@test "what asks for more than this machine has is refused at its line" {
    write_script big.sh '#!/bin/sh' '#SBATCH -N 2' 'true'
    refuses 3 submit big.sh
    assert_line --partial 'big.sh:2:1'
    write_script big.sh '#!/bin/sh' '#SBATCH --ntasks=90000' 'true'
    refuses 3 submit big.sh
    assert_line --partial 'the job needs 90000 cores'
    write_script big.sh '#!/bin/sh' '#SBATCH -o %4j.out' 'true'
    refuses 3 submit big.sh
    assert_equal "$(grep -c 'cannot name this output' <<<"$output")" 1
    write_script big.sh '#!/opt/none/csh' 'true'
    refuses 3 submit big.sh
    assert_line 'error: there is no /opt/none/csh on this machine'
    write_script big.sh '#!/bin/sh' '#SBATCH --array=0-' 'true'
    refuses 3 submit big.sh
    assert_line --partial "'0-' is not an array"
}

@test "directives of another batch system are refused with the remedy; a script of both families is read by its own" {
    write_script slurm.sh '#!/bin/sh' '#SBATCH -n 2' 'true'
    write_script torque.pbs '#!/bin/sh' '#PBS -l nodes=1:ppn=2' 'true'
    write_script open.pbs '#!/bin/sh' '#PBS -l select=1:ncpus=2' 'true'
    for pair in slurm.sh:torque:slurm slurm.sh:pbspro:slurm torque.pbs:slurm:torque open.pbs:torque:pbspro open.pbs:slurm:pbspro; do
        IFS=: read -r file scheduler other <<<"$pair"
        refuses 3 "$CYBELECTL" submit --scheduler "$scheduler" --script "$file"
        assert_line --partial "$file:2:1"
        assert_line --partial "--scheduler $other"
    done
    write_script both.sh '#!/bin/sh' '#PBS -N p' '#SBATCH -J s' 'true'
    write_script none.sh '#!/bin/sh' 'true'
    for scheduler in slurm torque pbspro; do
        for file in both.sh none.sh; do
            run "$CYBELECTL" submit --scheduler "$scheduler" --script "$file" --dry-run
            assert_success
            assert_equal "$output" "$(cat "$file")"
        done
    done
    refuses 2 "$CYBELECTL" submit --scheduler slurm-torque --script none.sh
    assert_line --partial '--scheduler slurm'
}

@test "arguments: TORQUE has words for plain ones, OpenPBS none" {
    write_script none.sh '#!/bin/sh' 'true'
    refuses 2 "$CYBELECTL" submit --scheduler pbspro --script none.sh -- a
    assert_line --partial 'OpenPBS passes no arguments'
    refuses 2 "$CYBELECTL" submit --scheduler torque --script none.sh -- 'a b'
    assert_line --partial "TORQUE cannot pass the argument 'a b'"
    run "$CYBELECTL" submit --scheduler torque --script none.sh --dry-run -- --level=3 a.txt
    assert_success
}

@test "no script: a directory, nothing, an empty file, a pipe, a Job, no shell, carriage returns, NUL" {
    mkdir folder
    : >empty.sh
    mkfifo pipe
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >job.yaml
    write_script plain.sh '#SBATCH -n 1' 'true'
    printf '#!/bin/sh\r\ntrue\r\n' >windows.sh
    printf '#!/bin/sh\n\0\n' >nul.sh
    for row in 'folder:is a directory' 'missing.sh:missing.sh' 'empty.sh:it is empty' 'pipe:not a regular file' \
        'job.yaml:leave out --script' 'plain.sh:names no shell' 'windows.sh:carriage return' 'nul.sh:NUL'; do
        refuses 3 timeout 10 "$CYBELECTL" submit --scheduler local --script "${row%%:*}"
        assert_output --partial "${row#*:}"
        assert_line --regexp '^help: '
    done
    write_script pbs.sh '#PBS -S /bin/sh' 'echo by "$0"'
    run submit pbs.sh --wait
    assert_success
    assert_dir_not_exist .cybelectl/none
}

@test "without --script the option is named; a Job has no further words and a script no options of a Job" {
    write_script old.sh '#!/bin/sh' 'true'
    refuses 3 "$CYBELECTL" submit old.sh
    assert_line --partial 'cybelectl submit --script old.sh'
    refuses 3 "$CYBELECTL" job check old.sh
    assert_line --partial 'is a batch script, not a Job'
    printf '%s\n' 'kind: Job' 'name: j' 'command: ["true"]' >job.yaml
    refuses 2 "$CYBELECTL" submit job.yaml more
    assert_line --partial "'more' is one word too many"
    mv job.yaml job.txt # the one Job of a folder is submitted without its name
    refuses 2 "$CYBELECTL" submit
    assert_line --partial 'no Job is named'
    mv job.txt job.yaml
    refuses 2 "$CYBELECTL" submit --script old.sh -n 4
    assert_line --partial '-n changes a Job'
    refuses 2 "$CYBELECTL" submit job.yaml --workdir /
}

@test "behind a login the directory there must be given" {
    write_script old.sh '#!/bin/sh' 'true'
    refuses 2 "$CYBELECTL" submit --scheduler slurm --host login --script old.sh
    assert_line --partial 'add --workdir /PATH'
    refuses 2 "$CYBELECTL" submit --scheduler slurm --host slurmrestd+https://h --script old.sh
    assert_line --partial 'does not read the directives'
}

@test "job convert reads a script by the rules of the batch system that is named" {
    printf '%s\n' '#!/bin/bash' '#PBS -l nodes=1:ppn=2' './a' >either.pbs
    run --separate-stderr -0 "$CYBELECTL" job convert either.pbs
    assert_line '  cpus-per-task: 2'
    run --separate-stderr -0 "$CYBELECTL" job convert either.pbs --scheduler pbspro
    assert_line '  pbspro:'
    assert_line '    - "-l nodes=1:ppn=2"'
    printf '%s\n' 'apiVersion: v1' 'kind: Pod' >pod.yaml
    run -2 "$CYBELECTL" job convert pod.yaml --scheduler slurm
}

@test "job convert keeps the shell of a script, and removes carriage returns with a warning" {
    for shell in csh tcsh zsh fish; do
        write_script other.pbs "#!/usr/bin/$shell" '#PBS -l nodes=1' 'setenv A 1'
        run --separate-stderr "$CYBELECTL" job convert other.pbs
        assert_success
        assert_line "shell: \"/usr/bin/$shell\""
        assert_line '  setenv A 1'
    done
    write_script pbs.pbs '#PBS -S /bin/csh' '#PBS -l nodes=1' 'setenv A 1'
    run --separate-stderr "$CYBELECTL" job convert pbs.pbs
    assert_line 'shell: "/bin/csh"'
    printf '#!/bin/sh\n#SBATCH -n 1\r\n./a.out\r\n' >windows.sh
    run --separate-stderr "$CYBELECTL" job convert windows.sh
    assert_success
    refute_output --partial 'x0d'
    assert_output --partial './a.out'
    assert_regex "$stderr" 'windows.sh:2:1'
    assert_regex "$stderr" 'removed the carriage return at the end of 2 lines'
}

@test "an output whose name only Slurm knows is said before the job is submitted" {
    for row in 'out-%j.txt:1' 'out-%A_%a.txt:0' 'out-%A-%N.txt:1' 'out-%4a.txt:1'; do
        write_script known.sh '#!/bin/sh' '#SBATCH -a 1-2' "#SBATCH -o ${row%:*}" 'true'
        run "$CYBELECTL" submit --scheduler slurm --script known.sh --dry-run
        assert_success
        assert_equal "$(grep -c 'job logs. will not find this output' <<<"$output")" "${row#*:}"
    done
}

@test "ten kinds of scripts of other people, each for Slurm, TORQUE and OpenPBS, run unchanged" {
    for system in slurm torque openpbs; do
        own_submitted "$system" local
        own_ended "$system"
    done
}

@test "generate names the outputs of a batch launch as job render and submit do" {
    mkdir -p project/jobs project/sites
    printf '%s\n' 'kind: Job' 'name: own' 'launch: batch' 'script: hostname' 'output: {stdout: "/tmp/%x-%j"}' >project/jobs/own.yaml
    local dialect
    for dialect in torque pbspro slurm; do
        printf '%s\n' 'kind: Site' 'name: hall' "scheduler: $dialect" >project/sites/hall.yaml
        "$CYBELECTL" generate project -q
        "$CYBELECTL" job render project/jobs/own.yaml --site project/sites/hall.yaml >rendered.sh
        grep -v -e '^# Generated by ' -e '^# from ' project/generated/own.hall.sh >generated.sh
        diff rendered.sh generated.sh
    done
}
