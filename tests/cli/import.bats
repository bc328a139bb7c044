# SPDX-License-Identifier: Apache-2.0
# `recipe import`: from the file of another tool to a Recipe that checks. Half a minute.
load ../parts/suite.bash

setup() {
    work_place
    data=$repo/tests/unit/recipes/data/import
}
teardown() { leave_place; }

@test "every file of the test data becomes a Recipe that recipe check accepts" {
    for file in "$data"/*.*; do
        run -0 "$CYBELECTL" recipe import "$file" --name app -o app.yaml --force
        assert_output --partial 'app.yaml: '
        run -0 "$CYBELECTL" recipe check app.yaml --unlocked
    done
    nothing_left .schemas app.yaml
}

@test "a list of building blocks is refused, with what to write" {
    printf 'blocks: [gnu, openmpi]\n' >stack.yaml
    refuses 2 "$CYBELECTL" recipe import stack.yaml
    assert_line 'error: lists of building blocks are not supported any more'
    refuses 2 "$CYBELECTL" recipe import stack.yaml --kind needs
    assert_line --partial 'help: write them as `packages: {needs: [cmake, hdf5]}`'
}

@test "json counts the lines: in = carried + named; --strict tells by the code" {
    run -0 --separate-stderr "$CYBELECTL" recipe import "$data/hpc.dockerfile" --format json
    account=$(jq -e '.lines | .in == .carried + .named' <<<"$output")
    assert_equal "$account" true
    assert_equal "$(jq -r '.named[].text' <<<"$output")" $'EXPOSE 8080\nHEALTHCHECK CMD true'
    assert_equal "$(jq -r '.kind' <<<"$output")" dockerfile
    run -3 "$CYBELECTL" recipe import "$data/hpc.dockerfile" --strict -o strict.yaml
    assert_exist strict.yaml
}

@test "what lies in the context decides how it is copied" {
    mkdir src
    touch main.c
    printf 'FROM debian:12\nCOPY src /opt/code/\nCOPY main.c /opt/\nCOPY gone /opt/else\n' >Dockerfile
    run -0 "$CYBELECTL" recipe import Dockerfile
    assert_line '  - from: src/.'
    assert_line '  - from: main.c'
    assert_line '    to: /opt/cybelectl/import/1/'
}

@test "standard input, --kind, --build-arg and --base" {
    run -0 "$CYBELECTL" recipe import - --kind dockerfile --build-arg REL=13 --name x \
        < <(printf 'ARG REL=12\nFROM debian:$REL\nRUN a\n')
    assert_line 'base: "debian:@{rel}"'
    assert_line '  rel: 13'
    printf 'ARG REL=12\nFROM debian:$REL\nRUN a\n' >Dockerfile
    refuses 3 "$CYBELECTL" recipe import Dockerfile --build-arg REL=13 --build-arg RLE=13
    assert_line "error: the build argument 'RLE' is used nowhere"
    assert_line 'because: the file has no `ARG RLE`'
    run -0 "$CYBELECTL" recipe import Dockerfile --build-arg https_proxy=http://proxy.example:3128
    refuses 3 "$CYBELECTL" recipe import "$data/uv.lock" --build-arg REL=13
    assert_line 'because: a lock of uv has no arguments'
    run -0 "$CYBELECTL" recipe import - --kind requirements --base ubuntu:24.04 --name x <<<'numpy==1.26.4'
    assert_line 'base: ubuntu:24.04'
    refuses 2 "$CYBELECTL" recipe import - <<<'nothing known'
    assert_line --partial '--kind'
}

@test "nothing is replaced, and nothing is left of a refusal" {
    echo mine >app.yaml
    printf 'FROM debian:12\nFORM x\nCOPY y\n' >Dockerfile
    refuses 3 "$CYBELECTL" recipe import Dockerfile -o new.yaml
    assert_line 'help: did you mean `FROM`?'
    printf 'FROM debian:12\n' >Dockerfile
    refuses 3 "$CYBELECTL" recipe import Dockerfile -o app.yaml
    assert_equal "$(<app.yaml)" mine
    refuses 3 "$CYBELECTL" recipe import nowhere.dockerfile
    nothing_left Dockerfile app.yaml
}

@test "an address of installers is an input" {
    run -0 "$CYBELECTL" recipe import "$data/environment.yml" --sources http://mirror.example/files
    assert_line '  sources: http://mirror.example/files'
    assert_output --partial '"@{sources}/micromamba-'
}

@test "a definition file becomes a Recipe: by its name, by its first line, from standard input" {
    printf '%s\n' 'Bootstrap: docker' 'From: centos:7' '%post' '  yum install -y gcc' '  make' >Singularity.app
    run -0 "$CYBELECTL" recipe import Singularity.app --name app -o app.yaml
    assert_output 'app.yaml: 5 lines converted, 0 left out'
    run -0 "$CYBELECTL" recipe render app.yaml
    assert_line --partial 'yum install -y '
    assert_line --regexp '^ *make$'
    cp Singularity.app build.txt
    run -0 --separate-stderr "$CYBELECTL" recipe import build.txt --format json
    assert_equal "$(jq -r '.kind' <<<"$output")" definition
    run -0 "$CYBELECTL" recipe import - --kind definition --name x <Singularity.app
    assert_line '  manager: yum'
    nothing_left .schemas app.yaml build.txt Singularity.app
}

@test "the environment of a definition file is behind the base's, and no step of its Recipe sees it" {
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%environment' 'export OLD=1' >base.def
    "$CYBELECTL" build base.def -q
    # shellcheck disable=SC2016
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'busybox mkdir /opt' 'echo export NEW=2 >/opt/set.sh' 'echo "${A-unset}" >/seen' \
        '%environment' '. /opt/set.sh' 'export A=3' >app.def
    "$CYBELECTL" recipe import app.def -o app.yaml
    "$CYBELECTL" build app.yaml -q
    # shellcheck disable=SC2016
    run -0 "$CYBELECTL" exec app.sif sh -c 'read -r seen </seen; echo "$OLD $NEW $A $seen"'
    assert_output '1 2 3 unset'
}

@test "a definition file that no Recipe can be is refused by line, and nothing is written" {
    printf '%s\n' 'Bootstrap: docker' 'From: a:1' '%post' 'cat >/x <<EOF' 'text' >open.def
    refuses 3 "$CYBELECTL" recipe import open.def -o x.yaml
    assert_line --partial 'open.def:4:1'
    printf '%s\n' 'Bootstrap: docker' 'From: a:1' 'Bootstrap: docker' 'From: b:1' >two.def
    refuses 3 "$CYBELECTL" recipe import two.def -o x.yaml
    assert_line --partial 'two.def:3:1'
    printf '%s\n' 'Bootstrap: docker' 'From: a:1' '%files from nowhere' '/a /b' >stage.def
    refuses 3 "$CYBELECTL" recipe import stage.def -o x.yaml
    assert_line --partial 'stage.def:3:1'
    printf '%s\n' 'Bootstrap: docker' 'From: a:{{ tag }}' >argument.def
    refuses 3 "$CYBELECTL" recipe import argument.def -o x.yaml
    assert_line --partial 'argument.def:2:'
    refuses 3 "$CYBELECTL" recipe import argument.def --build-arg tag=1 --build-arg other=2
    {
        printf '%s\n' 'Bootstrap: docker' 'From: a:1' '%post'
        head -c 10485760 /dev/zero | tr '\0' x
    } >long.def
    refuses 3 "$CYBELECTL" recipe import long.def -o x.yaml
    assert_not_exist x.yaml
}

@test "a lock of a newer form, with a wrong checksum or of two versions is refused at its line" {
    printf 'version = 2\n' >uv.lock
    refuses 3 "$CYBELECTL" recipe import uv.lock
    assert_line --partial 'uv.lock:1:11'
    sed "s/hash = .sha256:b*/&zz/" "$data/uv.lock" >uv.lock
    refuses 3 "$CYBELECTL" recipe import uv.lock
    assert_line 'error: the hash of numpy is not a SHA-256'
    sed 's/lock-version = "2.1"/lock-version = "3.0"/' "$data/poetry.lock" >poetry.lock
    refuses 3 "$CYBELECTL" recipe import poetry.lock
    assert_line "error: version '3.0' of the lock file is not known"
    sed 's/name = "tqdm"/name = "numpy"/' "$data/uv.lock" >uv.lock
    refuses 3 "$CYBELECTL" recipe import uv.lock
    assert_line 'error: the package numpy appears two times'
    sed 's/^version: 6/version: 8/' "$data/pixi.lock" >pixi.lock
    refuses 3 "$CYBELECTL" recipe import pixi.lock
    assert_line --partial 'pixi.lock:1:10'
    sed 's/tqdm-4.66.5-py3-none-any.whl$/other.whl/' "$data/pixi.lock" | sed '0,/other.whl/s//gone.whl/' >pixi.lock
    refuses 3 "$CYBELECTL" recipe import pixi.lock
    assert_line --partial "is not in 'packages'"
    jq 'del(.Packages.R6.Version)' "$data/renv.lock" >renv.lock
    refuses 3 "$CYBELECTL" recipe import renv.lock
    assert_line 'error: the package R6 has no version'
    printf 'name = "a"\nname = "b"\n' >poetry.lock
    refuses 3 "$CYBELECTL" recipe import poetry.lock
    assert_line --partial 'poetry.lock:2'
    rm -f ./*.lock
    printf '[project]\nname = "a"\n' >pyproject.toml
    refuses 3 "$CYBELECTL" recipe import pyproject.toml
    assert_line 'error: there is no uv.lock and no poetry.lock next to this file'
}

@test "checksums of a lock are the Recipe's, and a private index is named" {
    run -0 --separate-stderr "$CYBELECTL" recipe import "$data/uv.lock" --name app -o app.yaml
    [[ $stderr == *"packages of the index 'https://private.example/simple'"* ]]
    run -0 "$CYBELECTL" recipe check app.yaml
    run -0 grep -c 'sha256:bbbb' app.yaml
    assert_output 1
    run -1 grep pytest= app.yaml
}

@test "no password or token of a lock gets into a Recipe" {
    sed 's,registry = "https://[a-z.]*/simple",registry = "https://reader:secret@own.example/simple",' "$data/uv.lock" >uv.lock
    run -0 "$CYBELECTL" recipe import uv.lock --name app
    assert_output --partial "packages of the index 'https://own.example/simple'"
    refute_output --partial secret
    run -0 "$CYBELECTL" recipe import "$data/named-pixi.lock" --name app
    assert_line '      - https://channels.example/own'
    refute_output --partial secret
    refute_output --partial tk-1f2e3d
    jq '.R.Repositories[0].URL = "https://reader:secret@cran.example"' "$data/renv.lock" >renv.lock
    refuses 3 "$CYBELECTL" recipe import renv.lock
    assert_output --partial "the address of 'https://cran.example' names a user or a password"
    assert_output --regexp 'renv.lock:[0-9]+:'
}

@test "TOML is bounded: keys and lists of any depth are refused at their line, and long locks are read" {
    printf 'version = 1\n%s = 1\n' "$(printf 'a.%.0s' {1..200000})b" >uv.lock
    refuses 3 "$CYBELECTL" recipe import uv.lock
    assert_line --partial 'uv.lock:2:'
    assert_line 'error: this is not TOML: a key has too many parts'
    printf 'version = 1\na = %s\n' "$(printf '[%.0s' {1..200000})" >uv.lock
    refuses 3 "$CYBELECTL" recipe import uv.lock
    assert_line --partial 'uv.lock:2:'
    printf 'version = 1\na = "\377"\n' >uv.lock
    refuses 3 "$CYBELECTL" recipe import uv.lock
    printf '[project]\nname = "a"\n' >pyproject.toml
    {
        cat "$data/uv.lock"
        yes '# a comment' | head -n 150000
    } >uv.lock
    run -0 "$CYBELECTL" recipe import pyproject.toml
    assert_line --regexp 'numpy==.* --hash=sha256:bbbb'
    yes '# a comment' | head -n 1500000 >uv.lock
    refuses 3 "$CYBELECTL" recipe import pyproject.toml
    refute_output --partial 'there is no uv.lock'
}

@test "a recipe of HPCCM is run by hpccm, which must be there" {
    printf 'Stage0 += baseimage(image="ubuntu:22.04")\n' >stack.py
    PATH=/usr/bin:/bin refuses 5 "$CYBELECTL" recipe import stack.py
    assert_line "error: the program 'hpccm' is not installed"
    mkdir bin
    printf '#!/bin/sh\nprintf "BootStrap: docker\\nFrom: ubuntu:22.04\\n%%%%post\\n    apt-get install -y jq\\n"\n' >bin/hpccm
    chmod +x bin/hpccm
    PATH=$PWD/bin:$PATH run -0 "$CYBELECTL" recipe import stack.py --name app
    assert_line '    - jq'
    printf '#!/bin/sh\necho "SyntaxError: line 3" >&2\nexit 1\n' >bin/hpccm
    PATH=$PWD/bin:$PATH refuses 3 "$CYBELECTL" recipe import stack.py
    assert_line 'because: SyntaxError: line 3'
}

@test "a Pipfile has the packages of the lock next to it; a newer lock and a wrong checksum are refused" {
    cp "$data/Pipfile" "$data/Pipfile.lock" .
    run -0 "$CYBELECTL" recipe import Pipfile --name app -o app.yaml
    assert_output --partial "warning: converted, but: packages of the index 'https://private.example/simple'"
    assert_output --partial "warning: not converted: the packages of 'develop'"
    refute_output --partial "this importer does not know it"
    run -0 "$CYBELECTL" recipe check app.yaml
    run -0 grep -c -- '--hash=sha256:' app.yaml
    assert_output 2
    run ! grep -e secret -e pywin32 app.yaml
    sed -i 's/"pipfile-spec": 6/"pipfile-spec": 7/' Pipfile.lock
    refuses 3 "$CYBELECTL" recipe import Pipfile
    assert_line "error: version '7' of the lock file is not known"
    assert_line --partial 'Pipfile.lock:2:'
    sed 's/sha256:b*/&zz/' "$data/Pipfile.lock" >Pipfile.lock
    refuses 3 "$CYBELECTL" recipe import Pipfile.lock
    assert_line --partial 'Pipfile.lock:2'
    printf '{"_meta": {"pipfile-spec": 6}, "default": {"rich": {"version": "*"}}}\n' >Pipfile.lock
    refuses 3 "$CYBELECTL" recipe import Pipfile.lock
    assert_line 'error: the package rich has no version'
    printf '{"_meta": {"pipfile-spec": 6}, "default": {}}\n' >Pipfile.lock
    refuses 3 "$CYBELECTL" recipe import Pipfile.lock
    assert_line 'error: no package that the project itself needs'
}
