# SPDX-License-Identifier: Apache-2.0
# What somebody meets first: `init --from` on a folder of source, `job new`, and the wrong file given to a command. Half a minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup() { work_place; }
teardown() {
    end_servers
    leave_place
}

# project NAME FILE TEXT [FILE TEXT]…: a folder with those files.
project() {
    local name=$1
    shift
    mkdir -p "$name"
    while (($#)); do
        mkdir -p "$(dirname "$name/$1")"
        printf '%b' "$2" >"$name/$1"
        shift 2
    done
}

# init NAME: makes both documents, which the check verbs accept as they are.
init() {
    run -0 "$CYBELECTL" init --from "$1" "${@:2}"
    made=$output
    [[ ! -e $1/$1.yaml ]] || run -0 "$CYBELECTL" recipe check "$1/$1.yaml"
    run -0 "$CYBELECTL" job check "$1/job.yaml"
}

# has FILE PATTERN: a line of it has the pattern.
has() {
    grep -q -e "$2" "$1" || { echo "$1 has no line with: $2" && cat "$1" && return 1; }
}

# recipe NAME LINE…: lines that the Recipe has; job NAME LINE…: that the Job has.
recipe() {
    local line
    for line in "${@:2}"; do has "$1/$1.yaml" "$line"; done
}
job() {
    local line
    for line in "${@:2}"; do has "$1/job.yaml" "$line"; done
}

mpi_program='#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n'

@test "Python with mpi4py gets an MPI, and Debian's packages where their versions fit" {
    project sums run.py 'from mpi4py import MPI\nimport numpy as np\n' requirements.txt 'mpi4py\nnumpy>=1.20,<2\ntqdm~=4.60\n'
    init sums
    [[ $made == *'saw      run.py:1: import mpi4py: uses MPI'* ]]
    [[ $made == *'assumed  numpy>=1.20,<2: Debian 12'* ]]
    [[ $made == *'next: cybelectl build sums && cybelectl submit sums --follow'* ]]
    recipe sums '^mpi: openmpi$' '- python3-mpi4py$' '- python3-numpy$' '- python3-tqdm$' '- /opt/sums/run.py$'
    job sums 'kind: mpi' 'image: {recipe: sums.yaml}'
}

@test "a version that Debian does not have comes from PyPI, after recipe lock" {
    project new main.py 'import numpy\n' requirements.txt 'numpy==2.1.0\n'
    run -0 "$CYBELECTL" init --from new
    assert_line --partial 'assumed  numpy==2.1.0 (requirements.txt): from PyPI, since Debian 12 has 1.24.2'
    assert_line 'next: cybelectl recipe lock new/new.yaml && cybelectl build new && cybelectl submit new --follow'
    recipe new '    - numpy==2.1.0$'
    run -0 "$CYBELECTL" recipe check new/new.yaml --unlocked
    run -0 "$CYBELECTL" job check new
}

@test "pyproject.toml and environment.yml name packages" {
    project pack src/pack/__init__.py '' src/pack/core.py 'x = 1\n' main.py 'import pack.core\n' \
        pyproject.toml '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "pack"\ndependencies = [\n  "scipy>=1.5", # numbers\n  '"'"'pandas'"'"',\n]\n[tool.x]\ndependencies = ["no"]\n'
    init pack
    recipe pack '- python3-scipy$' '- python3-pandas$' 'prepend: /opt/pack/src$'
    run ! grep -E 'setuptools|- no$' pack/pack.yaml
    project env main.py 'print(1)\n' environment.yml 'name: env\ndependencies:\n  - python=3.11\n  - h5py\n  - pip:\n    - pyyaml\n'
    init env
    recipe env '- python3-h5py$' '- python3-yaml$'
}

@test "torch and Spark start as their launch kinds" {
    project net train.py 'import torch\n'
    init net
    recipe net '- python3-torch$'
    job net 'kind: torch' 'command: \[/opt/net/train.py\]'
    project table app.py 'from pyspark.sql import SparkSession\n'
    run -0 "$CYBELECTL" init --from table
    recipe table '- pyspark$' '- java-headless$'
    job table 'launch: spark' 'command: \[/opt/table/app.py\]'
    run -0 "$CYBELECTL" job check table
}

@test "CMake: the program's name by its variable, libraries by find_package, OpenMP's at run time" {
    project heat CMakeLists.txt 'cmake_minimum_required(VERSION 3.18)\nproject(stove CXX)\nfind_package( OpenMP REQUIRED)\nFIND_PACKAGE(HDF5)\n# find_package(MPI)\nadd_executable(\n  ${PROJECT_NAME} src/main.cpp)\n' src/main.cpp 'int main() {}\n'
    init heat
    recipe heat '- /opt/heat/bin/stove$' '- libgomp1$' '- hdf5$' '- cmake$' 'to: /src/src$'
    run ! grep '^mpi:' heat/heat.yaml
    job heat 'launch: openmp' 'cpus-per-task: 2'
}

@test "make: the program's name by TARGET or the first rule, MPI by its compiler" {
    project wave Makefile 'CC ?= mpicc\nTARGET := ripple\nall: $(TARGET)\n$(TARGET): wave.c\n\t$(CC) -o $@ $<\n' wave.c "$mpi_program"
    init wave
    recipe wave '^mpi: openmpi$' '- /opt/wave/bin/ripple$' 'make -C /src'
    project first makefile '.PHONY: clean\nprog.x: a.o\n\tgfortran -o $@ $<\n' a.f90 'program a\nend program\n'
    init first
    recipe first '- /opt/first/bin/prog.x$' '- libgfortran5$' '- fortran$'
}

@test "sources without a build file are compiled alone" {
    project hello hello.c "$mpi_program" util.c 'int one;\n'
    init hello
    recipe hello 'mpicc -O2 -o /opt/hello/bin/hello /src/\*.c'
    project cpp a.cpp '#include <omp.h>\nint main() {}\n' b.cpp 'int main() {}\n'
    init cpp
    recipe cpp 'g++ -O2 -fopenmp -o /opt/cpp/bin/a /src/a.cpp'
    project waves waves.c '#include <fftw3.h>\n#include <gsl/gsl_math.h>\nint main() {}\n'
    init waves
    recipe waves '- fftw$' '- gsl$' 'gcc -O2 -o /opt/waves/bin/waves /src/\*.c -lfftw3 -lgsl -lgslcblas -lm'
}

@test "an old batch script becomes the Job, with the program where the image has it" {
    project ring ring.c "$mpi_program" old.sh '#!/bin/bash\n#SBATCH --job-name=Ring_1\n#SBATCH -N 1\n#SBATCH --ntasks-per-node=24\n#SBATCH --time=01:00:00\nmodule load openmpi\nsrun ./ring --fast\n'
    init ring
    [[ $made == *'assumed  old.sh: ./ring is /opt/ring/bin/ring in the image'* ]]
    job ring '^name: ring-1$' 'tasks-per-node: 24' '^launch: mpi$' '  - /opt/ring/bin/ring$' '  - "--fast"$' 'recipe: ring.yaml'
    [[ $made == *'assumed  old.sh: its modules (openmpi) are not loaded'* ]]
    run ! grep -q '^modules:' ring/job.yaml
    project pbs x.py 'import mpi4py\n' go.pbs '#!/bin/bash\n#PBS -l nodes=1:ppn=4\ncd $PBS_O_WORKDIR\nmpirun -np 4 python3 x.py in.dat\n'
    init pbs
    job pbs '  - python3$' '  - /opt/pbs/x.py$' '  - in.dat$'
}

@test "what a folder describes twice is used once, and the other is named" {
    project both CMakeLists.txt 'project(both C)\nadd_executable(both both.c)\n' both.c 'int main() {}\n' Makefile 'all: both\n' \
        a.sh '#!/bin/bash\n#SBATCH -n 1\n./both\n' b.sh '#!/bin/bash\n#SBATCH -n 2\n./both\n'
    init both
    [[ $made == *'assumed  Makefile is not used: CMakeLists.txt says how the program is compiled'* ]]
    [[ $made == *'assumed  the Job is that of a.sh; `cybelectl job convert FILE` makes one of b.sh'* ]]
}

@test "a folder with a list of packages alone is answered with the import of that list" {
    project list environment.yml 'dependencies: [numpy]\n'
    run -3 "$CYBELECTL" init --from list
    assert_line 'help: `cybelectl recipe import environment.yml -o list.yaml` makes an image of its packages'
    cd list
    run -0 "$CYBELECTL" recipe import environment.yml -o list.yaml
}

@test "a script for csh is named and not used, one with carriage returns is" {
    project csh hello.c "$mpi_program" run.csh '#!/bin/csh\n#SBATCH -n 4\nsetenv X 1\nsrun ./hello\n'
    init csh
    [[ $made == *'run.csh is not used: '* ]]
    job csh 'kind: mpi'
    project crlf hello.c "$mpi_program" run.sh '#!/bin/bash\r\n#SBATCH -n 4\r\nsrun ./hello\r\n'
    init crlf
    [[ $made == *'assumed  run.sh: 4 tasks run on one node'* ]]
    job crlf 'tasks-per-node: 4' '  - /opt/crlf/bin/hello$'
}

@test "a Dockerfile becomes the Recipe; mpi is added where the source uses it" {
    project dock Dockerfile 'FROM debian:12\nRUN apt-get update && apt-get install -y --no-install-recommends python3-mpi4py\nCOPY app.py /app/\nCMD ["python3", "/app/app.py"]\n' app.py 'from mpi4py import MPI\n'
    init dock
    recipe dock '^mpi: openmpi$' 'app.py'
    job dock 'kind: mpi'
    run -0 "$CYBELECTL" init --from dock -o other
    assert_line --partial 'assumed  Dockerfile is not used: its paths are relative to its folder'
    run -0 "$CYBELECTL" recipe check other/dock.yaml
}

@test "a definition file is built as it is; the Job names its image" {
    project def app.def 'Bootstrap: localimage\nFrom: x.sif\n%runscript\n  true\n'
    run -0 "$CYBELECTL" init --from def
    assert_line 'next: cybelectl build def/app.def -o def/def.sif && cybelectl submit def --follow'
    job def 'image: def.sif'
    assert_not_exist def/def.yaml
    run -0 "$CYBELECTL" job check def
}

@test "existing documents stay, and --force replaces them" {
    project keep main.py 'print(1)\n' keep.yaml 'mine\n' job.yaml 'mine too\n'
    refuses 3 "$CYBELECTL" init --from keep
    assert_line 'error: keep/keep.yaml exists already'
    assert_line 'error: keep/job.yaml exists already'
    assert_equal "$(cat keep/keep.yaml keep/job.yaml)" $'mine\nmine too'
    assert_not_exist keep/.schemas
    ln -sf /nonexistent/target keep/job.yaml
    rm keep/keep.yaml
    refuses 3 "$CYBELECTL" init --from keep
    assert_not_exist keep/keep.yaml
    refuses 3 "$CYBELECTL" init --from keep --force
    assert_not_exist keep/keep.yaml
    rm keep/job.yaml
    printf 'mine\n' >keep/keep.yaml
    run -0 "$CYBELECTL" init --from keep --force
    assert_line 'saved    keep/keep.yaml.old: what keep/keep.yaml was'
    assert_equal "$(cat keep/keep.yaml.old)" mine
    run -0 "$CYBELECTL" job check keep
}

@test "--force saves a copy of each document that somebody has changed, and of no other" {
    project kept main.py 'print(1)\n'
    init kept
    run -0 "$CYBELECTL" init --from kept --force
    refute_line --partial 'saved '
    assert_not_exist kept/job.yaml.old
    echo '# edited' >>kept/job.yaml
    cp kept/job.yaml edited
    run -0 "$CYBELECTL" init --from kept --force
    assert_line 'saved    kept/job.yaml.old: what kept/job.yaml was'
    run -0 cmp edited kept/job.yaml.old
    assert_not_exist kept/kept.yaml.old
    echo '# again' >>kept/job.yaml
    run -0 "$CYBELECTL" init --from kept --force --format json
    assert_equal "$(jq -c .saved <<<"$output")" '["kept/job.yaml.old-2"]'
    run -0 cmp edited kept/job.yaml.old
    assert_equal "$(tail -n 1 kept/job.yaml.old-2)" '# again'
}

@test "a step to look into needs its definition file, which is named where it is missing" {
    refuses 3 "$CYBELECTL" build nothere.def --shell
    assert_line 'error: no such file: nothere.def'
}

@test "the same folder gives the same bytes, whatever the directory's order, and paths from elsewhere" {
    project one b.py 'import numpy\n' a.py 'if __name__ == "__main__":\n    pass\n' sub/c.py 'import yaml\n'
    "$CYBELECTL" init --from one -o out -q
    mkdir two two/sub
    for file in sub/c.py a.py b.py; do cp "one/$file" "two/$file"; done
    mv one first && mv two one
    "$CYBELECTL" init --from one -o again -q
    run -0 diff -r out again
    has out/one.yaml 'from: ../one/a.py$'
    has out/one.yaml '- /opt/one/a.py$'
    run -0 "$CYBELECTL" recipe check out/one.yaml
}

@test "folders with nothing to run, that cannot be read, or that are files" {
    mkdir empty
    refuses 3 "$CYBELECTL" init --from empty
    assert_line --partial 'nothing in empty says how its program is built or started'
    refuses 3 "$CYBELECTL" init --from nowhere
    touch file.py
    refuses 3 "$CYBELECTL" init --from file.py
    assert_line 'error: file.py is not a folder'
    project text notes.txt 'hello\n'
    refuses 3 "$CYBELECTL" init --from text
    refuses 2 "$CYBELECTL" init
    run ! "$CYBELECTL" init name --from text
    run ! "$CYBELECTL" init name -o x
    nothing_left empty file.py text
}

@test "what an ordinary user cannot read is named, and the rest is used" {
    project part main.py 'print(1)\n' secret.py 'import torch\n' locked/x.py 'import torch\n'
    run -0 as_user bash -c 'chmod 0 part/secret.py part/locked && "$1" init --from part' - "$CYBELECTL"
    assert_line --partial 'assumed  locked: not read, it cannot be read'
    assert_line --partial 'secret.py: not read, it cannot be read'
    has part/job.yaml '^launch: serial'
}

@test "10,000 files, links out of the folder, binary files and pipes" {
    mkdir many
    (cd many && seq -f 'f%05g.py' 1 10000 | xargs touch)
    printf 'import numpy\n' >many/main.py
    run -0 timeout 20 "$CYBELECTL" init --from many
    has many/many.yaml '- python3-numpy$'
    has many/many.yaml 'from: \.$'
    run -0 "$CYBELECTL" recipe check many/many.yaml
    project odd main.py 'print(1)\n' outside/x ''
    mkdir elsewhere
    echo 'import torch' >elsewhere/t.py
    ln -s ../elsewhere odd/out
    ln -s ../elsewhere/t.py odd/link.py
    ln -s . odd/loop
    mkfifo odd/pipe.py
    head -c 3000 /dev/urandom >odd/binary.py
    printf 'caf\351 = 1  # Latin-1\n' >odd/latin.py
    run -0 timeout 20 "$CYBELECTL" init --from odd
    assert_line 'assumed  link.py: not read, links are not followed'
    assert_line 'assumed  pipe.py: not read, it is not a file'
    assert_line --partial 'assumed  binary.py: not read, it is a binary file'
    run ! grep torch odd/odd.yaml
    run -0 "$CYBELECTL" recipe check odd/odd.yaml
}

@test "odd names: the folder's becomes a name, a file's does not break the Recipe" {
    project 'My Code_2' 'a b.py' 'import numpy\n'
    run -0 "$CYBELECTL" init --from 'My Code_2'
    assert_line 'wrote    My Code_2/my-code-2.yaml'
    assert_line "next: cybelectl build 'My Code_2' && cybelectl submit 'My Code_2' --follow"
    run -0 "$CYBELECTL" recipe check 'My Code_2/my-code-2.yaml'
    mkdir tricks
    printf 'int main() {}\n' >"$(printf 'tricks/a\n@{x} $(touch pwned); "q".c')"
    run -0 "$CYBELECTL" init --from tricks
    run -0 "$CYBELECTL" recipe check tricks/tricks.yaml
    "$CYBELECTL" recipe render tricks/tricks.yaml | sed '/^%post/,/^%[^p]/!d; /^%/d' >tricks.sh
    [[ -s tricks.sh ]]
    run -0 bash -n tricks.sh
    assert_not_exist pwned
}

@test "--format json has the same account" {
    project j main.py 'import mpi4py\n'
    run -0 --separate-stderr "$CYBELECTL" init --from j --format json
    assert_equal "$(jq -r '.name, .files[], .next[0]' <<<"$output")" $'j\nj/j.yaml\nj/job.yaml\ncybelectl build j'
    assert_equal "$(jq '.saw | length > 1' <<<"$output")" true
}

@test "mpi4py of pip without mpi: recipe check says it, recipe import adds it" {
    printf 'mpi4py==3.1.4\n' >requirements.txt
    run -0 "$CYBELECTL" recipe import requirements.txt --name sums -o sums.yaml
    has sums.yaml '^mpi: openmpi$'
    run -0 "$CYBELECTL" recipe check sums.yaml --unlocked
    refute_line --partial 'the Recipe has no `mpi`'
    sed -i /^mpi:/d sums.yaml
    run -0 "$CYBELECTL" recipe check sums.yaml --unlocked
    assert_line 'warning: pip installs mpi4py, and the Recipe has no `mpi`'
    assert_line --partial 'help: add `mpi: openmpi`'
}

@test "job new: a Job for a Recipe or an image, with what is known of it" {
    run -0 "$CYBELECTL" recipe new solver
    mkdir jobs
    run -0 "$CYBELECTL" job new --recipe solver.yaml -o jobs/solver.yaml
    has jobs/solver.yaml 'image: {recipe: "../solver.yaml"}'
    has jobs/solver.yaml '^launch: serial'
    run -0 "$CYBELECTL" job check jobs/solver.yaml
    printf 'kind: Recipe\nname: ranks\nbase: debian:12\nmpi: mpich\nrun: [true]\n' >ranks.yaml
    run -0 "$CYBELECTL" job new --recipe ranks.yaml -o -
    assert_line '# The Recipe has `mpi: mpich`.'
    assert_line --partial 'launch: {kind: mpi'
    printf '%s\n' "$output" >ranks-job.yaml
    run -0 "$CYBELECTL" job check ranks-job.yaml
    run -0 "$CYBELECTL" job new --image oras://registry.example/lab/tool:1.2 -o -
    assert_line 'name: tool'
    assert_line 'image: "oras://registry.example/lab/tool:1.2"'
    refuses 3 "$CYBELECTL" job new --recipe solver.yaml -o jobs/solver.yaml
    assert_line 'error: jobs/solver.yaml exists already'
    refuses 3 "$CYBELECTL" job new --image nowhere.sif
    refuses 3 "$CYBELECTL" job new --image ranks.yaml
    assert_line --partial 'ranks.yaml is a Recipe, not an image'
    run ! "$CYBELECTL" job new --image a --recipe b
}

@test "a file given to the wrong command is named, with the command that uses it" {
    printf 'kind: Recipe\nname: x\nbase: debian:12\n' >x.yaml
    printf 'kind: Job\nname: x\n' >job.yaml
    printf 'FROM debian:12\n' >Dockerfile
    printf 'print(1)\n' >x.py
    printf 'from numpy import *\n' >y
    printf 'library(stats)\n' >z.R
    printf '[packages]\n' >Pipfile
    printf '#!/bin/bash\n#SBATCH -n 2\nsrun ./a\n' >old.sh
    printf 'cmake_minimum_required(VERSION 3.1)\n' >CMakeLists.txt
    while IFS='|' read -r code command what help; do
        # shellcheck disable=SC2086
        run "$CYBELECTL" $command
        assert_equal "$command $status" "$command $code"
        assert_line --partial "$what"
        assert_line --partial "help: "
        assert_line --partial "$help"
    done <<'ROWS'
255|run x.yaml|x.yaml is a Recipe, not an image|cybelectl build
255|exec x.yaml true|is a Recipe, not an image|cybelectl build
255|run job.yaml|is a Job, not an image|cybelectl submit
255|run x.py|is a program in Python, not an image|cybelectl init --from
3|build x.py|this is a program in Python|cybelectl init --from .
3|build y|this is a program in Python|cybelectl init --from .
3|build z.R|this is a program in R|cybelectl init --from .
3|build Pipfile|this is a list of packages for Pipenv|cybelectl recipe import
3|build CMakeLists.txt|this is a CMakeLists.txt|cybelectl init --from .
3|build old.sh|this is a script|cybelectl submit --script old.sh
3|submit old.sh|is a batch script, not a Job|cybelectl submit --script old.sh
3|submit x.py|this is a program in Python, not a Job|cybelectl init --from .
3|submit Dockerfile|this is a Dockerfile, not a Job|cybelectl recipe import Dockerfile
3|recipe check x.py|this is a program in Python, not a Recipe|cybelectl init --from .
3|job check x.py|this is a program in Python, not a Job|cybelectl init --from .
2|recipe import x.py|this is a program in Python|cybelectl init --from .
2|recipe import CMakeLists.txt|this is a CMakeLists.txt|cybelectl init --from .
ROWS
}

@test "what is typed first: job new of a Recipe, an output in a new folder, init among somebody's source" {
    "$CYBELECTL" recipe new tool -o recipes/tool.yaml -q
    "$CYBELECTL" job new recipes/tool.yaml -o jobs/tool.yaml
    run -0 grep -E '^image: .*recipes/tool.yaml' jobs/tool.yaml
    run -2 "$CYBELECTL" job new recipes/tool.yaml --recipe recipes/tool.yaml
    mkdir pi
    printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(pi CXX)' 'add_executable(pi pi.cpp)' >pi/CMakeLists.txt
    printf 'int main() {}\n' >pi/pi.cpp
    refuses 3 "$CYBELECTL" init pi
    assert_line 'help: write a Recipe and a Job for it: `cybelectl init --from pi`'
    assert_equal "$(find pi -type f | wc -l)" 2
}

@test "-q prints errors only: no warning, unless --strict makes it an error" {
    printf '%s\n' 'kind: Job' 'name: a' 'script: srun hostname' >srun.yaml
    run -0 --separate-stderr "$CYBELECTL" job check srun.yaml --scheduler torque
    [[ $stderr == warning:* ]]
    run -0 --separate-stderr "$CYBELECTL" job check srun.yaml --scheduler torque -q
    assert_equal "$output$stderr" ''
    run -3 --separate-stderr "$CYBELECTL" job check srun.yaml --scheduler torque -q --strict
    [[ $stderr == warning:* ]]
    printf 'mpi4py\n' >requirements.txt
    run -0 --separate-stderr "$CYBELECTL" recipe import requirements.txt -q -o m.yaml
    assert_equal "$output$stderr" ''
    printf '%s\n' 'Bootstrap: docker' 'From: debian' >base.def
    run -0 --separate-stderr "$CYBELECTL" def check base.def -q
    assert_equal "$output$stderr" ''
    run -3 --separate-stderr "$CYBELECTL" def check base.def -q --strict
    [[ $stderr == *'[CD301]'* ]]
    run -3 --separate-stderr "$CYBELECTL" job check missing.yaml -q
    [[ $stderr == error:* ]]
}

@test "a project is not an image, an image is not a Job, and half of an option's name is enough to find it" {
    mkdir pi made
    touch pi/job.yaml pi/pi.sif made/cybelectl.yaml
    { printf '%s\n\0SIF_MAGIC\0' '#!/usr/bin/env run-singularity' && head -c 70M /dev/zero; } >large.sif # as Apptainer's begin
    while IFS='|' read -r code command what help; do
        # shellcheck disable=SC2086
        run "$CYBELECTL" $command
        assert_equal "$command $status" "$command $code"
        assert_line --partial "$what"
        assert_line "help: $help"
    done <<'ROWS'
255|run pi|pi is a project, not an image|name its image: pi/pi.sif
255|exec pi true|pi is a project, not an image|name its image: pi/pi.sif
255|shell made|made is a project, not an image|build its image first: `cybelectl build made`
3|submit large.sif|this is an image, not a Job|give another file; this one is read by `cybelectl inspect large.sif`
2|init pi --from pi|init was given a new project and --from|write `cybelectl init --from pi`
255|exec --verify a.pub pi/pi.sif true|has no option '--verify'|did you mean '--verify-key'?
2|sign pi/pi.sif --sign-key a.pem|has no option '--sign-key'|did you mean '--key'?
3|generate pi --check|there is nothing to generate in 'pi'|name the project's folder, or write in its cybelectl.yaml where they are: `kind: Project`, `recipes: [NAME.yaml]`, `jobs: [job.yaml]`
ROWS
}

@test "a Job for a cluster that is checked without naming one: told, and no fault of the Job" {
    printf '%s\n' 'kind: Job' 'name: wide' 'command: ["true"]' 'launch: mpi' 'resources: {nodes: 4, tasks-per-node: 8}' >wide.yaml
    run -0 "$CYBELECTL" job check wide.yaml
    assert_line --partial 'warning: `cybelectl submit` without --scheduler would run it here: '
    assert_line 'help: name its cluster, for example `--scheduler slurm`'
    run -0 "$CYBELECTL" job check wide.yaml --scheduler slurm
    refute_line --partial 'would run it here'
    refuses 3 "$CYBELECTL" job check wide.yaml --scheduler local
}

@test "more threads than this machine has cores: job check and submit say it before anything runs" {
    local many=$(($(nproc) + 6))
    printf '%s\n' 'kind: Job' 'name: wide' 'command: ["true"]' 'launch: openmp' "resources: {cpus-per-task: $many}" >wide.yaml
    run -0 "$CYBELECTL" job check wide.yaml
    assert_line "warning: \`cybelectl submit\` without --scheduler would run it here: the job needs $many cores, and this machine has $(nproc)"
    assert_line 'wide.yaml: no errors, 1 warning'
    run -0 "$CYBELECTL" job check wide.yaml --strict # it is this machine's fault, not the Job's
    run -0 "$CYBELECTL" job check wide.yaml --scheduler slurm
    assert_line 'wide.yaml: no problems found'
    local verb
    for verb in 'job check --scheduler local' submit; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb wide.yaml
        assert_line "error: the job needs $many cores, and this machine has $(nproc)"
        assert_line "help: ask for at most $(nproc) (\`-c $(nproc)\`), or submit it to a cluster"
    done
    run -0 "$CYBELECTL" submit wide.yaml -c "$(nproc)" --wait
    # Threads of their own number: the remedy is another one, and works.
    sed -i "s/^launch:.*/launch: {kind: openmp, threads: $many}/" wide.yaml
    refuses 3 "$CYBELECTL" submit wide.yaml
    assert_line "help: let the $many threads share cores to try it here: \`oversubscribe: true\` under \`launch\` (or --oversubscribe), or submit it to a cluster"
    run -0 "$CYBELECTL" submit wide.yaml --oversubscribe --wait
    sed 's/^launch:.*/launch: serial/' wide.yaml >serial.yaml
    run -2 "$CYBELECTL" submit serial.yaml --oversubscribe
    assert_line 'because: only ranks of MPI and threads of OpenMP share cores'
    sed -i "s/threads: $many/&, oversubscribe: true/; s/^command:.*/command: [sh, -c, 'echo \$OMP_NUM_THREADS \$OMP_PROC_BIND']/" wide.yaml
    run -0 "$CYBELECTL" submit wide.yaml --wait
    assert_equal "$(cat wide-*.out | tail -n 1)" "$many false"
    run -0 "$CYBELECTL" job check wide.yaml --scheduler torque
    assert_line 'warning: threads may share cores in torque, too'
}

@test "job check takes several Jobs and folders; a Project's Jobs for each of its Sites" {
    mkdir -p jobs sites
    for name in one two; do printf '%s\n' 'kind: Job' "name: $name" 'command: [/bin/true]' >"jobs/$name.yaml"; done
    run -0 --separate-stderr "$CYBELECTL" job check jobs/one.yaml jobs/two.yaml
    assert_output $'jobs/one.yaml: no problems found\njobs/two.yaml: no problems found'
    run -0 --separate-stderr "$CYBELECTL" job check .
    assert_output $'./jobs/one.yaml: no problems found\n./jobs/two.yaml: no problems found'
    printf '%s\n' 'kind: Site' 'name: a' 'scheduler: torque' >sites/a.yaml
    printf '%s\n' 'kind: Site' 'name: b' 'scheduler: slurm' >sites/b.yaml
    run -0 --separate-stderr "$CYBELECTL" job check .
    assert_equal "${#lines[@]}" 4
    assert_line './jobs/two.yaml for ./sites/b.yaml: no problems found'
    run -0 --separate-stderr "$CYBELECTL" job check . --format json
    assert_equal "$(jq -c '[.format, (.jobs | length), .jobs[0].job, .jobs[0].verdict]' <<<"$output")" '[1,4,"./jobs/one.yaml","works"]'
    run -0 --separate-stderr "$CYBELECTL" job check . --site sites/a.yaml
    assert_equal "${#lines[@]}" 2
    sed -i 's/command/comand/' jobs/one.yaml
    printf 'bad: 1\n' >>jobs/two.yaml
    refuses 3 "$CYBELECTL" job check jobs
    assert_line "error: unknown field 'comand'"
    assert_line "error: unknown field 'bad'"
    mkdir empty
    refuses 3 "$CYBELECTL" job check empty
    assert_line --partial 'no job.yaml in empty'
    mkdir -p centre/recipes
    printf '%s\n' 'kind: Recipe' 'name: a' 'base: debian:12' >centre/recipes/a.yaml
    run -0 --separate-stderr "$CYBELECTL" job check centre
    assert_output 'centre: Recipes and no Jobs'
    run -0 --separate-stderr "$CYBELECTL" job check centre --format json
    assert_equal "$(jq -c . <<<"$output")" '{"format":1,"jobs":[]}'
}

@test "a signed image that submit would have to build again: job check and submit refuse it alike" {
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' "$PWD/busybox /bin/sh" "$PWD/busybox /bin/true" >base.def
    "$CYBELECTL" build base.def -q
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: base.sif}' >app.yaml
    printf '%s\n' 'kind: Job' 'name: app' 'image: {recipe: app.yaml}' 'command: [/bin/true]' >job.yaml
    "$CYBELECTL" key new k.pem -q
    "$CYBELECTL" build app.yaml --sign-key k.pem -q
    run -0 "$CYBELECTL" job check job.yaml
    assert_line 'verdict: works'
    echo 'environment: {A: b}' >>app.yaml
    local verb
    for verb in 'job check' submit; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb job.yaml
        assert_line 'error: app.sif is signed, and older than what it is built from'
        assert_line --partial 'help: build and sign it again: `cybelectl build '
        refute_line 'verdict: works'
    done
    "$CYBELECTL" build app.yaml --sign-key k.pem -q
    run -0 "$CYBELECTL" job check job.yaml
}

@test "build and submit without arguments take the one Recipe and the one Job here, or say which ones there are" {
    refuses 2 "$CYBELECTL" build
    assert_line 'error: no Recipe is named, and this folder does not have exactly one'
    refuses 2 "$CYBELECTL" submit
    assert_line 'error: no Job is named'
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' "$PWD/busybox /bin/sh" >base.def
    "$CYBELECTL" build base.def -q
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: base.sif}' >app.yaml
    printf '%s\n' 'kind: Job' 'name: first' 'script: echo it ran' >one.yaml
    run -0 "$CYBELECTL" build
    assert_line --partial 'built app.sif ('
    run -0 "$CYBELECTL" submit --wait
    assert_line 'cybelectl: submitting one.yaml, the one Job here'
    assert_equal "$(cat first-*.out)" 'it ran'
    cp app.yaml other.yaml
    cp one.yaml two.yaml
    refuses 2 "$CYBELECTL" build
    assert_line --partial 'app.yaml and ./other.yaml are two of them'
    refuses 2 "$CYBELECTL" submit
    assert_line 'because: this folder has 2: one.yaml, two.yaml'
    assert_line 'help: write `cybelectl submit one.yaml`, or name another'
}

@test "words of other programs and of neighbours point to the right ones" {
    printf '%s\n' 'kind: Job' 'name: a' 'script: true' >job.yaml
    touch k.pem a.sif
    "$CYBELECTL" sif new s.sif
    "$CYBELECTL" image add s.sif centre/jq:1.0 -q
    while IFS='|' read -r code command what help; do
        # shellcheck disable=SC2086
        run "$CYBELECTL" $command
        assert_equal "$command $status" "$command $code"
        assert_line "error: $what"
        assert_line "help: $help"
    done <<'ROWS'
2|submit -np 2 job.yaml|there is no option '-np'|write `-n 2`
2|job check job.yaml -np 2|there is no option '-np'|write `-n 2`
2|submit job.yaml --sign-key k.pem|cybelectl submit has no option '--sign-key'|build and sign the image first: `cybelectl build RECIPE --sign-key KEY`
2|recipe new recipes/jq|'recipes/jq' is a path, not the name of a Recipe|write `cybelectl recipe new jq -o recipes/jq.yaml`
2|recipe new recipes/jq.yaml|'recipes/jq.yaml' is a path, not the name of a Recipe|write `cybelectl recipe new jq -o recipes/jq.yaml`
255|exec store:jq:1.0 true|no image jq:1.0 in the store|did you mean 'centre/jq:1.0'?
255|exec store:jq true|no image jq:latest in the store|did you mean 'centre/jq:1.0'?
ROWS
    run -0 "$CYBELECTL" recipe new jq -o recipes/jq.yaml
}

@test "imports that no table explains are named; Python's own and the folder's are not" {
    project odd main.py '"""Words: from here import nothing\nimport fantasy\n"""\nimport os, sys\nimport helper\nfrom pack.part import x\nfrom . import y\nimport bs4.element as b, numpy\n' \
        helper.py 'def f():\n    from cv2 import imread\n' pack/part.py 'import json\nimport the data\n'
    init odd
    [[ $made == *'assumed  main.py:8: import bs4: not in the image, since its package is not known: add it to `packages.pip`'* ]]
    [[ $made == *'assumed  helper.py:2: import cv2: not in the image'* ]]
    run grep -c 'import [a-z0-9]*: not in the image' <<<"$made"
    assert_output 2
    project listed main.py 'import bs4\nimport tqdm\nimport yaml_tool\n' requirements.txt 'beautifulsoup4\ntqdm\nyaml-tool==1\n'
    run -0 "$CYBELECTL" init --from listed
    assert_line 'assumed  main.py:1: import bs4: no listed package has this name; if none brings it, add its package to `packages.pip`'
    refute_line --partial 'import yaml_tool:'
}

@test "generate works in a folder that init made, and reports a wrong Recipe once" {
    "$CYBELECTL" init demo -q
    run -0 "$CYBELECTL" generate demo
    assert_line 'generated/demo.def'
    assert_line 'generated/demo.sh'
    run -0 "$CYBELECTL" generate demo --check
    sed -i 's/^base:.*/base: debian:99/' demo/demo.yaml
    refuses 3 "$CYBELECTL" generate demo
    assert_line "error: no distribution 'debian:99'"
    refute_line --partial 'an image that is not a file'
}

@test "a private key that git would add is named when it is made; one that is ignored is not" {
    run -0 "$CYBELECTL" key new outside.pem
    refute_line --partial warning:
    git init -q tree
    mkdir -p tree/keys tree/own
    run -0 --separate-stderr "$CYBELECTL" key new tree/keys/centre.pem
    assert_output 'private key tree/keys/centre.pem (keep secret), public key tree/keys/centre.pub (share)'
    [[ $stderr == 'warning: the next `git add` may add the private key tree/keys/centre.pem'* ]]
    [[ $stderr == *'echo /keys/centre.pem >>'* ]]
    assert_not_exist tree/.gitignore
    # The help, word by word: git agrees, and so does the next key of this name.
    eval "$(sed -n 's/^help: .*`\(.*\)`$/\1/p' <<<"$stderr")"
    run -0 git -C tree check-ignore keys/centre.pem
    run -1 git -C tree check-ignore keys/centre.pub
    rm tree/keys/centre.*
    run -0 --separate-stderr "$CYBELECTL" key new tree/keys/centre.pem
    assert_equal "$stderr" ''
    run -0 --separate-stderr "$CYBELECTL" -q key new tree/quiet.pem
    assert_equal "$stderr" ''
}

@test "an image that git would add is named when it is built, with the line that leaves images out" {
    cp /bin/busybox .
    git init -q tree
    printf '%s\n' 'Bootstrap: scratch' '%files' "$PWD/busybox /bin/sh" >tree/a.def
    run -0 --separate-stderr "$CYBELECTL" build tree/a.def -o tree/a.sif
    [[ $stderr == 'warning: the next `git add` may add tree/a.sif; to leave images out of git: '* ]]
    eval "$(sed -n 's/^warning: .*`\(echo .*\)`$/\1/p' <<<"$stderr")"
    run -0 git -C tree check-ignore a.sif
    run -0 --separate-stderr "$CYBELECTL" build tree/a.def -o tree/b.sif
    assert_equal "$stderr" ''
}

@test "what a .gitignore keeps out is what git says it keeps out" {
    git init -q tree
    mkdir -p tree/a/b
    export HOME=$place XDG_CONFIG_HOME=$place/config
    local pattern differing=0 verdict told
    while read -r pattern; do
        printf '%b\n' "$pattern" >tree/.gitignore
        rm -f tree/a/b/k*.p*
        verdict=0
        git -C tree check-ignore -q a/b/k1.pem || verdict=1
        told=1
        "$CYBELECTL" key new tree/a/b/k1.pem 2>&1 | grep -q '^warning:' || told=0
        [[ $verdict == "$told" ]] || { echo "$pattern: git $verdict, told $told" && differing=1; }
    done <<'PATTERNS'
*.pem
/*.pem
a/
b/
/a/b
a/b/*.pem
a/*.pem
b/k1.pem
**/b
**/k?.pem
k[0-9].pem
k1.pem/
# *.pem
*.pem\n!k1.pem
!k1.pem\n*.pem
*.key
\x20
k1.pem  
*
PATTERNS
    ((!differing))
    : >tree/.gitignore
    echo '*.pem' >tree/a/.gitignore
    rm -f tree/a/b/k*.p*
    run -0 "$CYBELECTL" key new tree/a/b/k1.pem
    refute_line --partial warning:
    echo '!k1.pem' >tree/a/b/.gitignore
    rm -f tree/a/b/k*.p*
    run -0 "$CYBELECTL" key new tree/a/b/k1.pem
    assert_line --partial 'a line of a .gitignore that begins with `!` includes it'
    rm tree/a/.gitignore tree/a/b/.gitignore tree/a/b/k*
    echo k1.pem >tree/.git/info/exclude
    run -0 "$CYBELECTL" key new tree/a/b/k1.pem
    refute_line --partial warning:
}

@test "a project that init makes keeps images, outputs and keys out of git, and replaces no .gitignore" {
    "$CYBELECTL" init demo -q
    git init -q demo
    touch demo/demo.sif demo/demo-1.out demo/centre.pem
    run -0 git -C demo ls-files -o --exclude-standard
    assert_equal "$(grep -vx '.schemas/.*' <<<"$output")" $'.gitignore\nREADME.md\ndemo.yaml\njob.yaml\nsrc/hello.c'
    run -0 "$CYBELECTL" key new demo/other.pem
    refute_line --partial warning:
    git init -q mine
    echo mine >mine/.gitignore
    run -0 "$CYBELECTL" init mine --template serial
    assert_equal "$(cat mine/.gitignore)" mine
}

@test "what init says next is accepted for each template" {
    local template next
    for template in mpi mpi4py serial batch; do
        run -0 "$CYBELECTL" init "new-$template" --template "$template"
        next=${lines[-1]#*&& cybelectl }
        assert_regex "$next" "^submit new-$template.* --follow$"
        # shellcheck disable=SC2086 # a command line
        run -0 "$CYBELECTL" ${next% --follow} --dry-run
        assert_line --partial 'main "$@"'
        run -0 "$CYBELECTL" recipe check "new-$template/new-$template.yaml" --strict
    done
    refute grep -q 'launch: batch' new-serial/job.yaml
    run -0 "$CYBELECTL" job render new-batch
    assert_line --partial "\$CYBELE_CONTAINER /opt/bin/new-batch"
}

@test "a Recipe that is imported into another folder names its files from there" {
    project src Dockerfile 'FROM debian:12 AS make\nCOPY . /all\nFROM debian:12\nCOPY --from=make /all/run.sh /opt/\nCOPY run.sh /usr/local/bin/run\nCMD ["run"]\n' run.sh '#!/bin/sh\n'
    mkdir recipes
    run -0 "$CYBELECTL" recipe import src/Dockerfile --name tool -o recipes/tool.yaml
    has recipes/tool.yaml 'from: ../src/run.sh$'
    has recipes/tool.yaml 'from: ../src/\.$'
    has recipes/tool.yaml 'from: .*/all/run.sh$'
    run -0 "$CYBELECTL" recipe check recipes/tool.yaml --strict
    run -0 "$CYBELECTL" recipe import src/Dockerfile --name tool -o src/tool.yaml
    has src/tool.yaml 'from: run.sh$'
    echo '*.log' >src/.dockerignore
    run -0 "$CYBELECTL" recipe import src/Dockerfile --name tool -o recipes/tool.yaml --force
    assert_line --partial 'the .dockerignore of its folder is not used'
}

@test "init --from into a folder with other Recipes names the new one, also by what it says next" {
    project wave Makefile 'wave: wave.c\n\tcc -o $@ $<\n' wave.c 'int main() {}\n'
    project calm main.py 'print(1)\n'
    run -0 "$CYBELECTL" init --from wave -o recipes
    assert_line 'next: cybelectl build recipes && cybelectl submit recipes --follow'
    mv recipes/job.yaml wave.job.yaml
    run -0 "$CYBELECTL" init --from calm -o recipes
    assert_line 'next: cybelectl build recipes/calm.yaml && cybelectl submit recipes --follow'
}

@test "the command that job check proposes works where job check was called" {
    mkdir recipes jobs
    printf 'kind: Recipe\nname: ranks\nbase: debian:12\nmpi: mpich\nrun: [true]\n' >recipes/ranks.yaml
    printf 'kind: Job\nname: ranks\nimage: {recipe: ../recipes/ranks.yaml}\nlaunch: {kind: mpi, allow-root: true}\n' >jobs/ranks.yaml
    run -0 "$CYBELECTL" job check jobs/ranks.yaml
    [[ $output =~ \`cybelectl\ build\ ([^\`]*)\` ]]
    run -0 "$CYBELECTL" recipe check "${BASH_REMATCH[1]}"
}

@test "a step's last lines have no escapes for tabs; a certificate that is not known names --ca-file" {
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%post' "    printf '\\t1 - sieve (Failed)\\n'" '    exit 8' >tab.def
    refuses 6 "$CYBELECTL" build tab.def
    assert_line --partial '1 - sieve (Failed)'
    refute_line --regexp '^ +[\\]t1 - sieve'
    sed -i "s/^    printf.*/    echo 'SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED'/" tab.def
    refuses 6 "$CYBELECTL" build tab.def
    assert_line --regexp '^help: name the certificates that this network needs: `--ca-file .*`'
}

@test "words for a Job without command and script are the arguments of its image's runscript" {
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%runscript' 'for word; do echo "<$word>"; done' >a.def
    "$CYBELECTL" build a.def -q
    printf '%s\n' 'kind: Job' 'name: a' 'image: a.sif' >job.yaml
    run -0 "$CYBELECTL" submit job.yaml --wait -- 1000 'two words' '$HOME'
    assert_equal "$(cat a-*.out)" $'<1000>\n<two words>\n<$HOME>'
    run -0 --separate-stderr "$CYBELECTL" job render job.yaml --plain -- 1000 'two words'
    [[ $output == *"a.sif 1000 'two words'"* ]]
}

@test "words for a Job without a script are named as its command has them" {
    printf '%s\n' 'kind: Job' 'name: a' 'command: [sh, -c, "echo $0 $1"]' >job.yaml
    refuses 2 "$CYBELECTL" submit job.yaml -- 1000 'two words'
    local line="command: [sh, '-c', 'echo \$0 \$1', '1000', 'two words']"
    assert_line "help: write \`$line\` into the Job, and leave the words out"
    sed -i "s/^command:.*/$line/" job.yaml
    run -0 "$CYBELECTL" submit job.yaml --wait
    assert_equal "$(cat a-*.out)" '1000 two words'
}

@test "a module that is missing names the Recipe's two ways to get it" {
    echo "ModuleNotFoundError: No module named 'psutil'" >job.err
    run -0 "$CYBELECTL" job explain --log job.err
    assert_line --partial 'packages: {system: [python3-NAME]}'
    assert_line --partial 'cybelectl recipe lock'
}

@test "the image of a registry that speaks plain HTTP starts as its error says" {
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%runscript' 'echo it ran "$@"' >a.def
    "$CYBELECTL" build a.def -q
    export CYBELE_STORE=$place/store no_proxy='*'
    serve registry docker-registry open "$place/r"
    local image=oras://127.0.0.1:$registry/group/a:1
    "$CYBELECTL" image push a.sif "$image" --plain-http -q
    refuses 255 "$CYBELECTL" run "$image" --plain-http
    assert_line --partial 'help: add `--plain-http` before the image'
    run -0 "$CYBELECTL" run --plain-http "$image" --own
    assert_line 'it ran --own'
    run -0 "$CYBELECTL" exec --plain-http "$image" sh -c 'echo inside'
    assert_line inside
    refuses 255 "$CYBELECTL" run --ca-file none.pem "$image"
    assert_line 'error: no such file: none.pem'
    refuses 2 "$CYBELECTL" image pull a.sif "$image" --plain-http
    assert_line "help: write \`cybelectl image pull $image -o a.sif\`"
}

@test "build with source and image in either order is answered with the image after -o" {
    local words
    for words in 'colleague.def out.sif' 'out.sif colleague.def' 'colleague.def out' 'out colleague.def'; do
        # shellcheck disable=SC2086
        refuses 2 "$CYBELECTL" build $words
        assert_line --regexp '^help: write `cybelectl build colleague\.def -o out(\.sif)?`$'
    done
    refuses 2 "$CYBELECTL" build docker://debian:12 out.sif
    assert_line 'help: write `cybelectl build docker://debian:12 -o out.sif`'
    refuses 2 "$CYBELECTL" build out.sif docker://debian:12
    assert_line 'help: write `cybelectl build docker://debian:12 -o out.sif`'
    refuses 2 "$CYBELECTL" build a.yaml b.def
    assert_line 'help: call it for each of them, or for their folder: `cybelectl build DIR --all`'
}

@test "words of other programs are answered with the command or the option that they are here" {
    printf '%s\n' 'kind: Job' 'name: a' 'command: ["true"]' >job.yaml
    refuses 2 "$CYBELECTL" job delete 1
    assert_line 'help: write `cybelectl job cancel 1`'
    refuses 2 "$CYBELECTL" image rm a
    assert_line 'help: write `cybelectl image remove a`'
    refuses 2 "$CYBELECTL" job render slurm job.yaml
    assert_line 'help: write `cybelectl job render job.yaml --scheduler slurm`'
    refuses 2 "$CYBELECTL" submit -q gpu job.yaml
    assert_line 'because: -q is --quiet, and the queue is named by -p'
    assert_line 'help: write `-p gpu job.yaml`'
}

@test "options of other programs for lists and results are answered with ours" {
    refuses 2 "$CYBELECTL" job list --json
    assert_line 'help: write --format json'
    refuses 2 "$CYBELECTL" job list -u anna
    assert_line 'help: leave it out: your own jobs are listed'
    refuses 2 "$CYBELECTL" job collect 1 -o results
    assert_line 'help: write --to DIR'
    run "$CYBELECTL" job list --state FAILED
    assert_failure
    assert_line "help: did you mean 'failed'?"
    refuses 2 "$CYBELECTL" job results 1 --plot x=a,y=b -o plot.png
    assert_line 'help: write `-o plot.svg`'
}
