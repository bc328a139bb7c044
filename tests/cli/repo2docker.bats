# SPDX-License-Identifier: Apache-2.0
# `init --from` on folders that repo2docker reads: which files count, in which order, and what is named. Seconds; nothing is built.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

# project NAME FILE TEXT [FILE TEXT]…: a folder with those files, and its documents.
project() {
    local name=$1
    shift
    mkdir -p "$name"
    while (($#)); do
        mkdir -p "$(dirname "$name/$1")"
        printf '%b' "$2" >"$name/$1"
        shift 2
    done
    run -0 "$CYBELECTL" init --from "$name"
    made=$output
    run -0 "$CYBELECTL" recipe check --unlocked "$name/$name.yaml"
    run -0 "$CYBELECTL" job check "$name/job.yaml"
    output=$made
    mapfile -t lines <<<"$made"
}

# recipe NAME PATTERN…: lines that the Recipe has below its comments; lacks NAME PATTERN: that it does not have.
recipe() {
    local line
    for line in "${@:2}"; do
        grep -v '^#' "$1/$1.yaml" | grep -q -e "$line" || { echo "no line with: $line" && cat "$1/$1.yaml" && return 1; }
    done
}
lacks() {
    if grep -E "^[^#].*($2)" "$1/$1.yaml"; then return 1; fi
}

@test "the environment of conda comes before other lists, and lists of subfolders do not count" {
    project hub main.py 'print(1)\n' environment.yml 'name: env\ndependencies:\n  - h5py\n' requirements.txt 'tqdm\n' \
        Pipfile '[packages]\nsympy = "*"\n' docs/requirements.txt 'sphinx\n' apt.txt 'jq # for the data\n\n--force-yes\njq\n' \
        postBuild 'make\n' renv.lock '{}\n'
    assert_line 'assumed  requirements.txt is not used: the environment of conda comes first, as in repo2docker'
    assert_line 'assumed  Pipfile is not used: the environment of conda comes first, as in repo2docker'
    assert_line 'assumed  docs/requirements.txt is not used: only the lists at the top of the folder count, as in repo2docker'
    assert_line "assumed  apt.txt: '--force-yes' is left out: it is not the name of a package"
    assert_line 'assumed  postBuild: a step at the end of the build'
    assert_line --partial 'assumed  renv.lock is not used: the program is not in R; make a Recipe of it with `cybelectl recipe import'
    recipe hub '- python3-h5py$' '- jq$'
    lacks hub 'tqdm|sympy|sphinx|force'
    assert_equal "$(grep -c -- '- jq$' hub/hub.yaml)" 1
}

@test "packages of R in an environment of conda are those of Debian, never of PyPI" {
    project env main.py 'print(1)\n' requirements3.txt 'numpy\n' \
        environment.yml 'dependencies:\n  - r-base=4.2\n  - r-ggplot2\n  - bioconductor-deseq2\n  - r-nosuch\n  - r-jsonlite>=99\n'
    recipe env '- r-base-core$' '- r-cran-ggplot2$' '- r-bioc-deseq2$'
    assert_line 'assumed  r-nosuch (environment.yml) is not in the image, since Debian 12 does not have it; install it in a step'
    assert_line 'assumed  r-jsonlite>=99 (environment.yml) is not in the image, since Debian 12 has 1.8.4; install it in a step'
    assert_equal "$(grep -c '^assumed  requirements3.txt is not used' <<<"$made")" 1
    lacks env 'pip:|jsonlite|nosuch'
}

@test "binder/ or .binder/ counts alone, and both together are refused" {
    local folder
    for folder in binder .binder; do
        rm -rf hub
        project hub main.py 'print(1)\n' postBuild 'exit 1\n' "$folder/postBuild" '#!/bin/sh\ncat data.txt >made.txt\n' \
            "$folder/install.R" 'install.packages("R6")\n' data.txt '42\n' "$folder/runtime.txt" 'python-3.9\n' requirements.txt 'tqdm\n' \
            "$folder/start" 'exec "$@"\n' apt.txt 'jq\n' setup.py 'install_requires=["sympy"]\n' "$folder/requirements.txt" 'pyyaml\n'
        assert_line "assumed  $folder/install.R: a step at the end of the build"
        assert_line "assumed  $folder/postBuild: a step at the end of the build"
        assert_line "assumed  $folder/start is not used: write its commands into \`setup\` of the Job"
        assert_line --partial "assumed  $folder/runtime.txt is not used: the image has Python 3.11 "
        for file in apt.txt postBuild requirements.txt setup.py; do
            assert_line "assumed  $file is not used: $folder/ counts alone, as in repo2docker"
        done
        recipe hub '- python3-yaml$' '- r-base-core$' "Rscript $folder/install.R\$" "chmod [+]x $folder/postBuild && ./$folder/postBuild\$"
        lacks hub 'jq|tqdm|sympy'
        run -0 "$CYBELECTL" recipe render hub/hub.yaml
        assert_output --regexp "Rscript $folder/install.R.*$folder/postBuild"
    done
    mkdir hub/binder
    touch hub/binder/apt.txt
    refuses 3 "$CYBELECTL" init --from hub -F
    assert_line 'error: hub has files of repo2docker in binder/ and in .binder/'
}

@test "a folder binder/ without files of repo2docker hides nothing" {
    project dock main.py 'import tqdm\n' requirements.txt 'tqdm\n' binder/pocket.py 'x = 1\n'
    refute_line --partial 'counts alone'
    recipe dock '- python3-tqdm$'
}

@test "a Dockerfile in binder/ is the one that counts, and its paths begin at the top" {
    project dock main.py 'print(1)\n' Dockerfile 'FROM debian:11\n' binder/Dockerfile 'FROM debian:12\nCOPY main.py /opt/main.py\nENTRYPOINT ["python3", "/opt/main.py"]\n'
    assert_line 'saw      binder/Dockerfile: the Recipe is made from it'
    recipe dock '^base: debian:12$' 'from: main.py$'
}

@test "Pipfile: names and conditions; with its lock the versions and checksums, which need no recipe lock" {
    local sum
    sum=$(printf 'a%.0s' {1..64})
    project plain main.py 'import tqdm\n' requirements.txt 'sympy\n' \
        Pipfile '[packages]\ntqdm = "*"\nlocal = {path = "."}\nrich = {version = ">=13", extras = ["jupyter"]}\n[dev-packages]\npytest = "*"\n'
    assert_line 'assumed  requirements.txt is not used: Pipfile comes first, as in repo2docker'
    assert_line --partial "assumed  Pipfile: not converted: the packages of 'dev-packages'"
    assert_line --partial 'assumed  Pipfile: not converted: the package local'
    assert_line --partial 'next: cybelectl recipe lock plain/plain.yaml && '
    recipe plain '- python3-tqdm$' 'rich\[jupyter\]>=13"$'
    lacks plain 'pytest|sympy'
    project locked main.py 'import rich\n' Pipfile '[packages]\nrich = "*"\n' Pipfile.lock \
        '{"_meta": {"pipfile-spec": 6, "sources": []}, "default": {"rich": {"hashes": ["sha256:'"$sum"'"], "version": "==13.9.4"}}, "develop": {}}\n'
    assert_line 'next: cybelectl build locked && cybelectl submit locked --follow'
    recipe locked "rich==13.9.4 --hash=sha256:$sum\$"
    project named main.py 'import rich\n' runtime.txt 'r-4.2\n' Pipfile '[packages]\nrich = "*"\n'
    assert_line 'assumed  Pipfile is not used: repo2docker does not read it for R'
}

@test "pyproject.toml with a lock next to it: the versions and checksums of the lock" {
    mkdir uv
    cp "$repo/tests/unit/recipes/data/import/"{pyproject.toml,uv.lock} uv
    project uv main.py 'import numpy\n'
    assert_line 'next: cybelectl build uv && cybelectl submit uv --follow'
    recipe uv 'numpy==.* --hash=sha256:'
    project poetry main.py 'print(1)\n' pyproject.toml '[tool.poetry.dependencies]\nrich = "*"\n'
    assert_line --partial 'assumed  pyproject.toml: packages of `[tool.poetry]` are used from their lock alone'
}

@test "setup.py and setup.cfg: install_requires where it is a list of texts, else it is named" {
    project py main.py 'import tqdm\n' setup.py 'from setuptools import setup\nsetup(\n    name="py",\n    install_requires=[\n        "tqdm>=4.1",  # progress\n        '"'numpy',"'\n    ],\n)\n' \
        setup.cfg '[options]\ninstall_requires =\n    sympy\n'
    recipe py '- python3-tqdm$' '- python3-numpy$'
    lacks py sympy
    assert_line 'assumed  setup.cfg is not used: another file names the same packages'
    refute_line --partial 'import setuptools'
    project cfg main.py 'print(1)\n' setup.py 'from setuptools import setup\nsetup(install_requires=open("r").read().split())\n' \
        setup.cfg '[metadata]\nname = cfg\n[options]\ninstall_requires =\n    sympy>=1.5\n    # no\n    tqdm\n[options.extras_require]\nx = no\n'
    assert_line --partial 'assumed  setup.py is not used: its `install_requires` is not a list of texts'
    recipe cfg '- python3-sympy$' '- python3-tqdm$'
}

@test "a program in R: packages of Debian 12, others are named; comments and texts are not read" {
    project wave main.R '# library(no)\nlibrary("ggplot2")\nrequire(data.table)\nx <- "library(no)"\nlibrary(x, character.only = TRUE)\nparallel::mclapply\nfoo.bar::run()\n' \
        helpers.R 'stats4::mle\nlibrary(DESeq2)\n' Makefile 'all:\n\tRscript main.R\n' \
        run.sh '#!/bin/bash\n#SBATCH --ntasks=1\nRscript --vanilla main.R in.csv 3\n'
    assert_line "assumed  main.R:2: ggplot2: Debian 12's r-cran-ggplot2 3.4.1"
    assert_line "assumed  main.R:7: foo.bar: not in the image, since Debian 12 does not have it: write \`install.packages(\"foo.bar\")\` into a file install.R, which becomes a step"
    recipe wave '- r-base-core$' '- r-cran-ggplot2$' '- r-cran-data.table$' '- r-bioc-deseq2$' '- Rscript$' '- /opt/wave/main.R$' 'R_LIBS_USER:'
    lacks wave 'no$|x$|parallel|stats4'
    run -0 sed -n '/^command:/,/^launch:/p' wave/job.yaml
    assert_output $'command:\n  - Rscript\n  - "--vanilla"\n  - /opt/wave/main.R\n  - in.csv\n  - 3\nlaunch:'
    project rank main.R 'library(Rmpi)\nmpi.comm.rank(0)\n'
    recipe rank '^mpi: openmpi$' '- r-cran-rmpi$' '- libopenmpi-dev$'
    run -0 grep 'kind: mpi' rank/job.yaml
}

@test "DESCRIPTION: its packages with their conditions, and the folder's own package is installed" {
    project heat DESCRIPTION 'Package: heatr\nDepends: R (>= 3.5)\nImports:\n    jsonlite (>= 1.7),\n    stats,\n    Matrix\n' NAMESPACE 'export(x)\n' \
        R/x.R 'x <- 1\n' main.R 'library(heatr)\n' requirements.txt 'pyyaml\n'
    assert_line "assumed  DESCRIPTION: jsonlite (>= 1.7): Debian 12's r-cran-jsonlite 1.8.4"
    recipe heat '- r-cran-jsonlite$' '- r-cran-matrix$' '- r-base-dev$' 'R CMD INSTALL [.]$' '- /opt/heat/main.R$' '- python3-yaml$'
    project new DESCRIPTION 'Package: newr\nDepends: R (>= 4.4)\nImports: jsonlite (>= 99), notthere\n' NAMESPACE 'export(x)\n' R/x.R 'x <- 1\n' \
        main.R 'library(newr)\n' runtime.txt 'r-4.2-2023-01-31\n'
    assert_line --partial 'assumed  DESCRIPTION: R (>= 4.4) is not met: Debian 12 has R 4.2.2'
    assert_line --partial 'assumed  DESCRIPTION: jsonlite (>= 99): not in the image, since Debian 12 has 1.8.4'
    assert_line --partial 'assumed  the package newr of this folder is not installed'
    assert_line 'assumed  runtime.txt: R 4.2.2, which Debian 12 has; its packages are those of Debian 12, not of 2023-01-31'
    lacks new 'INSTALL'
    mkdir -p only/R
    printf 'Package: onlyr\n' >only/DESCRIPTION
    printf 'x <- 1\n' >only/R/x.R
    refuses 3 "$CYBELECTL" init --from only
}

@test "renv.lock: its image and its packages, as recipe import makes them" {
    project lock main.R 'library(R6)\n' apt.txt 'jq\n' renv.lock '{"R": {"Version": "4.2.3", "Repositories": [{"Name": "CRAN", "URL": "https://cran.example"}]}, "Packages": {"R6": {"Package": "R6", "Version": "2.5.1", "Source": "Repository"}}}\n'
    assert_line --partial 'assumed  renv.lock: its packages are installed by renv on docker://r-base:4.2.3'
    recipe lock 'docker://r-base:4.2.3$' 'manager: apt$' '- jq$' 'to: /opt/renv/renv.lock$' 'renv::restore' '- /opt/lock/main.R$'
    lacks lock 'r-cran'
    project odd main.R 'library(R6)\n' renv.lock '{"R": {}}\n'
    assert_line --partial 'assumed  renv.lock is not used: '
    recipe odd '- r-cran-r6$'
}

@test "Julia and Nix are named" {
    project jl main.py 'print(1)\n' Project.toml '[deps]\n' default.nix '{}\n' runtime.txt 'python-3.11\n'
    assert_line --partial 'assumed  Project.toml is not used: Debian 12 has no Julia'
    assert_line --partial 'assumed  default.nix is not used: '
    assert_line 'assumed  runtime.txt: Python 3.11, which Debian 12 has'
}

@test "an index of a lock's own is named, without its password" {
    project own main.py 'import numpy\n' pyproject.toml '[project]\nname = "x"\ndependencies = ["numpy"]\n' uv.lock \
        "version = 1\n[[package]]\nname = \"numpy\"\nversion = \"2.0.0\"\n$(
        )source = { registry = \"https://me:secret@private.example/simple\" }\nwheels = [{ url = \"https://private.example/$(
        )numpy-2.0.0-cp311-cp311-manylinux_2_17_x86_64.whl\", hash = \"sha256:$(printf '0%.0s' {1..64})\" }]\n"
    assert_line --partial "packages of the index 'https://private.example/simple'"
    refute_output --partial secret
    recipe own 'numpy==2.0.0'
}
