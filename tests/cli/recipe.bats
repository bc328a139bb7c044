# SPDX-License-Identifier: Apache-2.0
# The verbs of `recipe`, and `build` of variants, as far as nothing is built.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

write_matrix() {
    cat >m.yaml <<'END'
kind: Recipe
name: m
base: debian:@{release}
args: {who: me}
matrix: {release: ["12", "13"]}
steps: ['echo "$RELEASE" "$WHO"']
END
}

@test "check reads includes, conditions and all variants; all faults at once" {
    write_matrix
    run -0 "$CYBELECTL" recipe check m.yaml
    assert_output 'm.yaml: no problems found'
    printf 'kind: Recipe\npackages: {sytem: [jq]}\n' >part.yaml
    printf 'include: [part.yaml]\nfiles: [{from: a, to: b}]\n' >>m.yaml
    refuses 3 "$CYBELECTL" recipe check m.yaml
    assert_line --partial 'part.yaml:2:12'
    assert_line --partial 'm.yaml:8:23'
    nothing_left m.yaml part.yaml
}

@test "a cycle of includes is told with the way round" {
    printf 'kind: Recipe\nname: a\nbase: debian:12\ninclude: [b.yaml]\n' >a.yaml
    printf 'kind: Recipe\ninclude: [a.yaml]\n' >b.yaml
    refuses 3 "$CYBELECTL" recipe check a.yaml
    assert_line --partial 'a.yaml → b.yaml → a.yaml'
}

@test "of a matrix one variant is rendered, and must be named" {
    write_matrix
    refuses 2 "$CYBELECTL" recipe render m.yaml
    assert_line --partial 'm-12, m-13'
    run -0 "$CYBELECTL" recipe render m.yaml --variant m-13 --arg who=you
    assert_line 'OSVersion: trixie'
    assert_line "export WHO='you'"
    refuses 2 "$CYBELECTL" build m.yaml
    assert_line --partial '--all'
    refuses 2 "$CYBELECTL" recipe render m.yaml --variant m-14
    refuses 2 "$CYBELECTL" recipe render m.yaml --variant m-13 --arg whom=x
    assert_line --partial 'did you mean `who`?'
}

@test "the same Recipe as definition and Dockerfile; neither needs the network" {
    for form in def dockerfile; do
        run -0 unshare -n "$CYBELECTL" recipe render "$catalogue/hello-mpi.yaml" --as $form
        assert_output --partial 'libopenmpi-dev'
        printf "%s\n" "$output" >"out.$form"
    done
    refuses 2 "$CYBELECTL" recipe render "$catalogue/hello-mpi.yaml" --as sh
    assert_line 'help: write `--as def`, or `--as dockerfile`'
    run -0 "$CYBELECTL" recipe render hello-mpi
    assert_line 'Bootstrap: debootstrap'
}

@test "a dialect that lacks templates wants the mirror; an unknown one is refused" {
    refuses 2 "$CYBELECTL" recipe render hello-mpi --dialect 'singularity 3.5'
    run -0 "$CYBELECTL" recipe render hello-mpi --dialect 'singularity 3.5' --mirror http://m.example
    assert_line 'MirrorURL: http://m.example'
    refuses 2 "$CYBELECTL" recipe render hello-mpi --dialect 'singularity 1.0'
}

@test "new writes a Recipe that checks, and replaces nothing" {
    run -0 "$CYBELECTL" recipe new tool
    run -0 "$CYBELECTL" recipe check tool.yaml
    refuses 3 "$CYBELECTL" recipe new tool
    run -0 "$CYBELECTL" recipe show tool.yaml
    refute_line --partial '#'
    nothing_left .schemas tool.yaml
}

@test "list names the folder's Recipes, the catalogue, distributions and generic names" {
    write_matrix
    run -0 "$CYBELECTL" recipe list
    assert_line --partial 'm.yaml'
    assert_line --regexp '^hello-mpi +catalogue'
    run -0 "$CYBELECTL" recipe list --distributions --format json
    assert_output --partial '"distribution": "rocky:9"'
    run -0 "$CYBELECTL" recipe list --needs
    assert_line --regexp '^openmpi-devel +libopenmpi-dev'
}

@test "a lock names the line of a package that does not exist, and says that the network was not reached" {
    printf '%s\n' 'kind: Recipe' 'name: l' 'base: debian:12' 'packages:' '  system:' '    - hello' '    - no-such-thing' '    - jq=0.0.1' >l.yaml
    refuses 3 "$CYBELECTL" recipe lock l.yaml
    assert_line "error: there is no package 'no-such-thing'"
    assert_line ' --> l.yaml:7:7'
    refute_output --partial '\n'
    sed -i '/no-such/d' l.yaml
    refuses 3 "$CYBELECTL" recipe lock l.yaml
    assert_line "error: there is no package 'jq'"
    assert_line ' --> l.yaml:7:7'
    refuses 5 env -u http_proxy -u HTTP_PROXY "$CYBELECTL" recipe lock l.yaml --mirror http://127.0.0.1:1/debian
    assert_line 'error: apt cannot determine the packages'
    assert_line --partial 'because: the network was not reached; apt said:'
    assert_line 'more: cybelectl explain no-network'
    refute_output --partial '\n'
    nothing_left l.yaml
}

@test "a lock holds versions and digests; a stale one stops the build" {
    printf 'kind: Recipe\nname: l\nbase: debian:12\npackages: {system: [hello]}\n' >l.yaml
    run -0 "$CYBELECTL" recipe lock l.yaml
    run -0 grep -cE '^      - (hello|libc6) [^ ]+ amd64 sha256:[0-9a-f]{64}$' l.lock.yaml
    assert_output 2
    run -0 "$CYBELECTL" recipe lock l.yaml --check
    run -0 "$CYBELECTL" recipe render l.yaml
    assert_line --regexp '^    hello=2\.10'
    printf '%s\n' 'help: changed' 'run: [hello]' 'files: [{from: l.yaml, to: /l.yaml}]' >>l.yaml
    run -0 "$CYBELECTL" recipe lock l.yaml --check # these determine no packages
    sed -i 's/\[hello\]}/[hello, jq]}/' l.yaml
    refuses 3 "$CYBELECTL" recipe lock l.yaml --check
    refuses 3 "$CYBELECTL" build l.yaml
    assert_line --partial 'the Lock is stale'
    assert_line 'because: `packages.system` of the Recipe changed since it was written: it lacks jq'
    assert_line 'help: run `cybelectl recipe lock l.yaml`, or build with --unlocked'
    refuses 3 "$CYBELECTL" recipe render l.yaml
    sed -i 's/\[hello, jq\]}/[hello]}/' l.yaml
    sed -i 's/^recipe: sha256:..../recipe: sha256:0000/' l.lock.yaml
    refuses 3 "$CYBELECTL" recipe lock l.yaml --check
    refuses 3 "$CYBELECTL" build l.yaml
    assert_line --regexp '^because: its own field `recipe` changed since it was written: '
    nothing_left l.yaml l.lock.yaml
}

@test "several Recipes, or those of a Project, are locked and checked by one command" {
    mkdir recipes
    for name in one two; do
        printf 'kind: Recipe\nname: %s\nbase: {image: base.sif}\n' "$name" >"recipes/$name.yaml"
    done
    cp /bin/busybox . && printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/sh' >base.def
    "$CYBELECTL" build base.def -o recipes/base.sif
    run -0 --separate-stderr "$CYBELECTL" recipe lock recipes/one.yaml recipes/two.yaml
    assert_output $'locked 0 packages in recipes/one.lock.yaml\nlocked 0 packages in recipes/two.lock.yaml'
    run -0 "$CYBELECTL" recipe lock . --check
    assert_output $'./recipes/one.lock.yaml: fits the Recipe\n./recipes/two.lock.yaml: fits the Recipe'
    sed -i '$a\packages: {pip: [x==1]}' recipes/{one,two}.yaml
    refuses 3 "$CYBELECTL" recipe lock . --check
    assert_equal "$(grep -c '^error: the Lock is stale' <<<"$output")" 2
    assert_equal "$(grep -c '^because: `packages.pip` of the Recipe changed' <<<"$output")" 2
    refuses 2 "$CYBELECTL" recipe lock . -o x.yaml
    rm recipes/two.yaml recipes/one.lock.yaml recipes/two.lock.yaml
    sed -i '$d' recipes/one.yaml
    run -0 --separate-stderr "$CYBELECTL" recipe lock recipes --format json
    assert_equal "$(jq -c . <<<"$output")" '{"format":1,"lock":"recipes/one.lock.yaml","packages":0}'
    run -0 --separate-stderr "$CYBELECTL" recipe lock . recipes/one.yaml --format json
    assert_equal "$(jq -c '.locks | length' <<<"$output")" 2
    # One that is wrong, and one whose base no Lock can hold, do not stop the others.
    echo 'kind: Recipe' >recipes/two.yaml
    mkdir recipes/folder recipes/app && printf 'kind: Recipe\nname: app\nbase: debian:12\n' >recipes/app/app.yaml
    printf 'kind: Recipe\nname: three\nbase: {image: folder}\n' >recipes/three.yaml
    rm recipes/one.lock.yaml
    run -3 --separate-stderr "$CYBELECTL" recipe lock .
    assert_output $'locked 0 packages in ./recipes/one.lock.yaml\n1 of 3 Recipes locked'
    [[ $stderr == *"error: 'folder' is a folder, not an image"*'three.yaml:3:15'* ]]
    [[ $stderr == *'two.yaml'* ]]
    assert_file_exist recipes/one.lock.yaml
    assert_not_exist recipes/three.lock.yaml
    run -3 --separate-stderr "$CYBELECTL" recipe lock recipes/one.yaml recipes/three.yaml --format json
    assert_equal "$(jq -c '.locks' <<<"$output")" '[{"lock":"recipes/one.lock.yaml","packages":0}]'
}

@test "a folder as base that is no image is refused by check, lock and build alike, with a remedy that works" {
    mkdir -p app/sub plain
    cp /bin/busybox . && printf '%s\n' 'Bootstrap: scratch' '%files' "$PWD/busybox /bin/sh" >base.def
    "$CYBELECTL" build base.def -o app/sub.sif -q
    printf 'kind: Recipe\nname: sub\nbase: {image: ../sub.sif}\n' >app/sub/sub.yaml
    printf 'kind: Recipe\nname: top\nbase: {image: app/sub}\n' >top.yaml
    local verb
    for verb in 'recipe check' 'recipe lock' build; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb top.yaml
        assert_line "error: 'app/sub' is a folder, not an image"
        assert_line ' --> top.yaml:3:15'
        assert_line --partial 'help: build it, and name the image that this makes: `cybelectl build app/sub -o app/sub.sif`'
    done
    "$CYBELECTL" build app/sub -o app/made.sif -q
    sed -i 's,app/sub,app/made.sif,' top.yaml
    run -0 "$CYBELECTL" recipe check top.yaml
    run -0 "$CYBELECTL" recipe lock top.yaml
    sed -i 's,app/made.sif,plain,' top.yaml && rm top.lock.yaml
    refuses 3 "$CYBELECTL" recipe check top.yaml
    assert_line 'help: name an image file, or an image of a registry as docker://debian:12'
    # The root of a container is an image, and no Lock can hold it.
    mkdir plain/.singularity.d plain/bin && cp busybox plain/bin/sh
    run -0 "$CYBELECTL" recipe check top.yaml
    refuses 3 "$CYBELECTL" recipe lock top.yaml
    assert_line "error: 'plain' is a folder, which no Lock can hold"
    assert_line ' --> top.yaml:3:15'
    assert_line 'help: make an image of it, and name that: `cybelectl build plain -o plain.sif`'
    "$CYBELECTL" build plain -o plain.sif -q
    sed -i 's,plain,plain.sif,' top.yaml
    run -0 "$CYBELECTL" recipe lock top.yaml
}

@test "an error of the Recipe is reported with the Lock that does not fit it either" {
    printf 'kind: Recipe\nname: l\nbase: debian:12\n' >l.yaml
    printf '%s\n' 'kind: Lock' 'rule: packages' "recipe: sha256:$(printf '%064d' 0)" 'variants:' '  - name: l' '    arch: amd64' \
        '    base: {distribution: "debian:12", release: ["sha256:'"$(printf '%064d' 0)"'"]}' '    epoch: 1' >l.lock.yaml
    refuses 3 "$CYBELECTL" recipe check l.yaml
    assert_line 'error: the Lock is stale'
    sed -i 's/debian:12/debian:21/' l.yaml
    local verb
    for verb in 'recipe check' 'recipe lock --check' 'recipe render' build; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb l.yaml
        assert_line "error: no distribution 'debian:21'"
        assert_line 'error: the Lock is stale'
    done
}

@test "several Recipes, or those of a Project, are checked by one command, with all their errors" {
    mkdir recipes
    for name in one two; do
        printf 'kind: Recipe\nname: %s\nbase: debian:12\n' "$name" >"recipes/$name.yaml"
    done
    run -0 "$CYBELECTL" recipe check .
    assert_output $'./recipes/one.yaml: no problems found\n./recipes/two.yaml: no problems found'
    run -0 "$CYBELECTL" recipe check recipes/two.yaml recipes/one.yaml --format json
    assert_equal "$(jq -c '[.recipes[].variants[0]]' <<<"$output")" '["two","one"]'
    sed -i 's/debian:12/debain:12/' recipes/{one,two}.yaml
    refuses 3 "$CYBELECTL" recipe check .
    assert_line --partial 'recipes/one.yaml:3:7'
    assert_line --partial 'recipes/two.yaml:3:7'
    rm recipes/two.yaml
    sed -i 's/debain/debian/' recipes/one.yaml
    run -0 "$CYBELECTL" recipe check . --format json
    assert_equal "$(jq -r .file <<<"$output")" ./recipes/one.yaml
}

@test "files that are not there: warnings of check, once for all variants, and refused by build with their places" {
    printf '%s\n' 'kind: Recipe' 'name: m' 'base: {image: none.sif, key: no.pem}' 'matrix: {v: [a, b]}' \
        'files: [{from: nope, to: /x}, {from: "*.none", to: /y/}]' >m.yaml
    run -0 "$CYBELECTL" recipe check m.yaml
    assert_equal "$(grep -c '^warning:' <<<"$output")" 3
    for place in 3:15 3:30 5:16; do
        assert_line --partial "m.yaml:$place"
    done
    run -3 "$CYBELECTL" recipe check --strict m.yaml
    refuses 3 "$CYBELECTL" build m.yaml --variant m-a
    assert_line --partial 'm.yaml:5:16'
    assert_equal "$(grep -c '^error:' <<<"$output")" 3
    touch none.sif no.pem nope
    run -0 "$CYBELECTL" recipe check --strict m.yaml
    rm none.sif no.pem nope
}

@test "what the embedded builder cannot build is refused with its place in the Recipe" {
    printf 'kind: Recipe\nname: a\nbase: {image: "docker-daemon:app:1"}\n' >a.yaml
    run -0 "$CYBELECTL" recipe render a.yaml
    refuses 3 "$CYBELECTL" build a.yaml
    assert_line --partial 'a.yaml:3:'
    assert_line --partial 'is not supported yet'
    nothing_left a.yaml
}
