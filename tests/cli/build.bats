# SPDX-License-Identifier: Apache-2.0
# What `build` takes, refuses before it builds, and prints.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place CYBELE_CACHE_DIR=$place/cache
    cp /bin/busybox .
    # shellcheck disable=SC2016 # for the build
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%post' 'busybox --install -s /bin' \
        'echo "export NINE=91" >>$APPTAINER_ENVIRONMENT' >base.def
    "$CYBELECTL" build base.def
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

write_recipe() {
    cat >recipe.yaml <<'END'
kind: Recipe
name: rec
base: {image: base.sif}
apps:
  greet:
    run: echo hi "$@"
    steps: [{run: "echo made >/made"}]
END
}

write_matrix() {
    cat >matrix.yaml <<'END'
kind: Recipe
name: grid
base: {image: base.sif}
matrix: {word: [one, two, three]}
steps: [{run: 'test "$WORD" != two; echo "$WORD" >/word'}]
END
}

@test "a definition that a Recipe was rendered to is built as one, and apps are built" {
    write_recipe
    "$CYBELECTL" recipe render recipe.yaml >rendered.def
    run -0 grep -x 'kind: Recipe' rendered.def
    "$CYBELECTL" build rendered.def
    "$CYBELECTL" build recipe.yaml
    local image
    for image in rendered rec; do
        run -0 "$CYBELECTL" run --app greet $image.sif you
        assert_output 'hi you'
        run -0 "$CYBELECTL" exec $image.sif cat /made
        assert_output made
    done
}

@test "every script of a Recipe sees its arguments" {
    cat >words.yaml <<'END'
kind: Recipe
name: words
base: {image: base.sif}
args: {word: hello}
environment: {GREETING: "@{word} there"}
run: echo "$WORD, $GREETING"
test: test "$WORD" = hello
steps: ['echo "$WORD" >/word']
apps:
  other: {run: 'echo "$WORD of the app"', test: 'test "$WORD" = hello'}
END
    run -0 "$CYBELECTL" build words.yaml --arg word=hello
    run -0 "$CYBELECTL" run words.sif
    assert_output 'hello, hello there'
    run -0 "$CYBELECTL" run --app other words.sif
    assert_output 'hello of the app'
    run -0 "$CYBELECTL" exec words.sif cat /word
    assert_output hello
    refuses 6 "$CYBELECTL" build words.yaml --arg word=other
    assert_line 'error: `test` failed with exit code 1'
    assert_line ' --> words.yaml:7:1'
    assert_line "  | test: test \"\$WORD\" = hello"
}

@test "a damaged Recipe is still read as one, by whatever name" {
    printf '%s\n' '# a comment' 'kind: Recipe' 'name: [' >damaged
    run -3 "$CYBELECTL" build damaged
    assert_output --partial '`[` is not closed'
    assert_output --partial 'damaged:3:7'
    refute_output --partial 'definition'
}

@test "values of a definition's arguments: from the line and a file; unknown ones are refused as by Apptainer" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%arguments' 'version=1' 'word=none' '%post' \
        "echo '{{ version }} {{ word }}' >/version" >args.def
    printf '%s\n' 'version=2' 'no argument' 'word = from the file' >values
    run -0 "$CYBELECTL" build --build-arg-file values --build-arg version=3 args.def
    run -0 "$CYBELECTL" exec args.sif cat /version
    assert_output '3 from the file'
    refuses 3 "$CYBELECTL" build -F args.def --build-arg VERSION=4 --build-arg wrod=5
    assert_output --partial "'VERSION' is used nowhere"
    assert_output --partial "'wrod' is used nowhere"
    assert_output --partial 'args.def:1:1'
    refuses 2 "$CYBELECTL" build -F args.def --build-arg version
    assert_output --partial 'NAME=VALUE'
    refuses 3 "$CYBELECTL" build -F args.def --build-arg-file missing
}

@test "a SOURCE_DATE_EPOCH that is no time is refused, but not for a program that is started" {
    local epoch
    for epoch in x 1.5 -1 '1 ' 0x10 253402300800 99999999999999999999; do
        SOURCE_DATE_EPOCH=$epoch refuses 2 "$CYBELECTL" build -F base.def -o epoch.sif
        assert_output --partial "SOURCE_DATE_EPOCH is not a valid time: '$epoch'"
        assert_file_not_exists epoch.sif
        SOURCE_DATE_EPOCH=$epoch run -0 "$CYBELECTL" exec base.sif sh -c 'echo "$SOURCE_DATE_EPOCH"'
        assert_output "$epoch"
    done
    SOURCE_DATE_EPOCH=253402300799 run -0 "$CYBELECTL" build base.def -o epoch.sif
}

@test "an option for the other kind of source is refused" {
    write_recipe
    refuses 2 "$CYBELECTL" build recipe.yaml --build-arg a=1
    assert_output --partial '--arg NAME=VALUE'
    for words in '--arg a=1' '--variant x' --unlocked --all; do
        # shellcheck disable=SC2086
        refuses 2 "$CYBELECTL" build -F base.def $words
        assert_output --partial "${words%% *} with a definition file"
    done
}

@test "an image takes the place of no source, device, pipe or standard output" {
    cp base.def own.def
    sha256sum own.def >sum
    refuses 2 "$CYBELECTL" build own.def -o own.def
    assert_output --partial 'the source itself'
    ln -s own.def link.def
    refuses 2 "$CYBELECTL" build own.def -F -o link.def
    refuses 2 "$CYBELECTL" build own.def -F -o ../"${place##*/}"/own.def
    sha256sum -c sum
    mkfifo pipe
    refuses 3 "$CYBELECTL" build own.def -F -o pipe
    assert [ -p pipe ]
    if [ "$(id -u)" = 0 ] && mknod node c 1 3; then
        refuses 3 "$CYBELECTL" build own.def -F -o node
        assert [ -c node ]
    fi
    refuses 2 "$CYBELECTL" build base.def -o new.sif --sign-key key --provenance "$place/new.sif"
    refuses 2 "$CYBELECTL" build own.def -o -
    assert_file_not_exists ./-
}

@test "what root's mmdebstrap mounts is seen by no other process" {
    local -a as_root=()
    [[ $(id -u) == 0 ]] || as_root=(sudo)
    mkdir tools
    printf '%s\n' '#!/bin/sh' 'readlink /proc/self/ns/mnt >&2' 'exit 1' >tools/mmdebstrap # where it is started, and no more
    chmod +x tools/mmdebstrap
    printf '%s\n' 'Bootstrap: debootstrap' 'OSVersion: bookworm' 'MirrorURL: http://127.0.0.1:9/debian' >debian.def
    run "${as_root[@]}" env PATH="$place/tools:$PATH" "$CYBELECTL" build debian.def -o debian.sif
    assert_failure
    assert_output --regexp 'mnt:\[[0-9]+\]'
    refute_output --partial "$("${as_root[@]}" readlink /proc/self/ns/mnt)"
}

@test "a missing base is told at its own line of the header" {
    printf '%s\n' '# comment' 'Bootstrap: localimage' '' '  From: none.sif' >missing.def
    refuses 3 "$CYBELECTL" build missing.def
    assert_output --partial 'missing.def:4:3'
    assert_output --partial '|   From: none.sif'
}

@test "an image becomes the base of one: a SIF, a folder, an archive; words in Apptainer's order are refused" {
    run -0 "$CYBELECTL" build base.sif -o copy.sif
    run -0 "$CYBELECTL" exec copy.sif sh -c 'echo $NINE'
    assert_output 91
    refuses 2 "$CYBELECTL" build base.sif
    assert_output --partial 'the source itself'
    mkdir -p tree/root/bin tree/root/.singularity.d
    cp busybox tree/root/bin/sh
    run -0 "$CYBELECTL" build tree/root
    run -0 "$CYBELECTL" exec tree/root.sif sh -c 'echo in'
    run -0 "$CYBELECTL" build tree/root/ -F
    assert_output --partial 'tree/root/../root.sif'
    mkdir oci && tar -C tree/root -cf layer.tar . && make_oci
    run -0 "$CYBELECTL" build oci:oci:one
    run -0 "$CYBELECTL" exec oci_one.sif sh -c 'echo $FROM'
    assert_output oci
    printf '%s\n' 'Bootstrap: oci' 'From: oci:one' '%post' 'echo "$FROM" >/seen' >seen.def
    run -0 "$CYBELECTL" build seen.def
    run -0 "$CYBELECTL" exec seen.sif sh -c 'read -r word </seen; echo "$word"'
    assert_output oci
    refuses 2 "$CYBELECTL" build base.sif -o x.sif --build-arg a=1
    assert_output --partial 'with an image'
    refuses 2 "$CYBELECTL" build x.sif docker://debian:12
    assert_output --partial '`cybelectl build docker://debian:12 -o x.sif`'
    refuses 3 "$CYBELECTL" build shub://centre/app
    assert_output --partial 'shub'
    refuse_start docker://127.0.0.1:1/app # converted at its first start
    assert_output --partial 'cannot reach'
    refuse_start ''
    assert_output --partial 'the path is empty'
}

refuse_start() {
    refuses 255 "$CYBELECTL" exec "$1" true
}

# make_oci: the layout oci, with the image of layer.tar that is called one.
make_oci() {
    local layer config
    layer=$(sha256sum layer.tar | cut -d ' ' -f 1)
    mkdir -p oci/blobs/sha256
    cp layer.tar "oci/blobs/sha256/$layer"
    put() { # FILE: into the blobs; its digest and size
        cp "$1" "oci/blobs/sha256/$(sha256sum "$1" | cut -d ' ' -f 1)"
        printf '"digest":"sha256:%s","size":%s' "$(sha256sum "$1" | cut -d ' ' -f 1)" "$(stat -c %s "$1")"
    }
    printf '{"architecture":"%s","os":"linux","config":{"Env":["FROM=oci"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$(dpkg --print-architecture)" "$layer" >config.json
    config=$(put config.json)
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json",%s},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar",%s}]}' \
        "$config" "$(put layer.tar)" >manifest.json
    printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"one"}}]}' \
        "$(put manifest.json)" >oci/index.json
    echo '{"imageLayoutVersion":"1.0.0"}' >oci/oci-layout
}

@test "what a failing script of the host printed is shown line by line" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%setup' 'echo one' 'echo two >&2; false' >setup.def
    refuses 6 "$CYBELECTL" build setup.def
    assert_line '  one'
    assert_line '  two'
    refute_output --partial '\n'
}

@test "a step that does not reach the network says so, with the page about it" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' \
        'echo "Err:1 http://mirror.example stable InRelease"' \
        "echo \"  Temporary failure resolving 'mirror.example'\" >&2" 'exit 100' >away.def
    refuses 6 "$CYBELECTL" build away.def -o away.sif
    assert_line --partial 'because: the network was not reached; the end of its output:'
    assert_line --partial 'help: build where the network is reached, and check https_proxy; to look at the step: '
    assert_line 'more: cybelectl explain no-network'
    sed -i '/Err\|Temporary/d' away.def
    refuses 6 "$CYBELECTL" build away.def -o away.sif
    refute_output --partial network
}

@test "several sources into a folder that the base has" {
    mkdir -p tools && touch tools/a-1 tools/a-2
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%files' 'tools/a-* /bin' >into.def
    "$CYBELECTL" build into.def
    run -0 "$CYBELECTL" exec into.sif ls /bin/a-1 /bin/a-2
    sed -i 's|/bin$|/none|' into.def
    refuses 3 "$CYBELECTL" build -F into.def
    assert_output --partial 'into.def:4'
    assert_output --partial '2 sources for one destination'
}

@test "--all tells each image as it is done, and in JSON all at once" {
    write_matrix
    run --separate-stderr "$CYBELECTL" build matrix.yaml --all --jobs 2
    assert_equal "$status" 6
    assert_line --regexp '^built .*grid.*one.*\.sif'
    assert_line --regexp '^built .*grid.*three.*\.sif'
    assert_equal "${#lines[@]}" 2
    [[ $stderr == *'1 of 3 images were not built'* ]]
    mkdir folder && cp matrix.yaml base.sif folder/
    run --separate-stderr "$CYBELECTL" build folder --all --format json
    assert_equal "$status" 6
    run -0 jq -r '.images | map(.variant) | join(" ")' <<<"$output"
    assert_output 'grid-one grid-three'
}

@test "--all in JSON names what failed, and a closed pipe fails no image" {
    write_matrix
    run --separate-stderr "$CYBELECTL" build matrix.yaml --all --format json
    run -0 jq -c '[(.failed[] | .variant, .code), (.images[0] | .signed, (.image | endswith(".sif")))]' <<<"$output"
    assert_output '["grid-two",6,false,true]'
    sed -i 's/, two,/,/' matrix.yaml
    rm -f grid*.sif
    "$CYBELECTL" build matrix.yaml --all 2>errors | true
    run grep 'not built' errors
    assert_failure
    assert_equal "$(find . -maxdepth 1 -name 'grid*.sif' | wc -l)" 2
    refuses 2 "$CYBELECTL" build matrix.yaml --all --provenance file --sign-key key
    refuses 2 "$CYBELECTL" build matrix.yaml --all -o x.sif
}

@test "the folder of a project stands for its Recipe; of several --all builds each, with a line every ten seconds" {
    mkdir -p centre/recipes
    cp base.sif centre/recipes
    printf '%s\n' 'kind: Recipe' 'name: first' 'base: {image: base.sif}' 'steps: [sleep 12]' >centre/recipes/first.yaml
    run -0 --separate-stderr "$CYBELECTL" build centre
    assert_line --partial 'built centre/recipes/first.sif'
    rm centre/recipes/first.sif
    printf '%s\n' 'kind: Recipe' 'name: second' 'base: {image: base.sif}' >centre/recipes/second.yaml
    refuses 3 "$CYBELECTL" build centre
    assert_line 'error: several Recipes in centre'
    assert_line 'help: name one of them, or build all: `cybelectl build centre --all`'
    run -0 --separate-stderr "$CYBELECTL" build centre --all --no-cache
    assert_line --partial 'built centre/recipes/first.sif'
    assert_line --partial 'built centre/recipes/second.sif'
    [[ $stderr == *' s  building images: 0 of 2 done'* ]]
    sed -i 's/^steps.*/steps: ["false"]/' centre/recipes/first.yaml
    run ! "$CYBELECTL" build centre --all --force
    assert_line 'error: 1 of 2 images were not built: centre/recipes/first.yaml'
    assert_line --partial 'help: build that one alone, with its complete output: `cybelectl build centre/recipes/first.yaml -v`'
    assert_line --partial 'error: the step failed with exit code 1'
    assert_line ' --> centre/recipes/first.yaml:4:1'
    refute_output --partial '"faults"'
    # Without a Project, and without a folder recipes/.
    mkdir flat
    cp base.sif centre/recipes/*.yaml flat
    sed -i '/^steps/d' flat/first.yaml
    run -0 --separate-stderr "$CYBELECTL" build flat --all
    assert_line --partial 'built flat/first.sif'
    assert_line --partial 'built flat/second.sif'
    run -0 "$CYBELECTL" recipe check flat
    assert_line 'flat/second.yaml: no problems found'
    refuses 2 "$CYBELECTL" build flat/first.yaml flat/second.yaml
    assert_line --partial 'help: call it for each of them'
}

@test "work that takes long prints a line every ten seconds, also without a terminal; none with -q or JSON" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'sleep 11' >slow.def
    printf '%s\n' 'kind: Recipe' 'name: word' 'base: {image: base.sif}' 'steps: [sleep 11]' >word.yaml
    printf '%s\n' 'kind: Job' 'name: say' 'image: {recipe: word.yaml}' 'command: [/bin/true]' >say.yaml
    printf '%s\n' 'kind: Job' 'name: slow' 'command: [sleep, "11"]' >slow.yaml
    local -a running=()
    "$CYBELECTL" build slow.def --no-cache -o plain.sif >/dev/null 2>said.plain 3>&- &
    running+=("$!")
    "$CYBELECTL" build slow.def --no-cache -o quiet.sif -q >/dev/null 2>said.quiet 3>&- &
    running+=("$!")
    "$CYBELECTL" build slow.def --no-cache -o json.sif --format json >/dev/null 2>said.json 3>&- &
    running+=("$!")
    "$CYBELECTL" submit slow.yaml --scheduler local --wait >/dev/null 2>said.waiting 3>&- &
    running+=("$!")
    "$CYBELECTL" submit say.yaml --scheduler local --wait >/dev/null 2>said.submit 3>&- &
    running+=("$!")
    for process in "${running[@]}"; do
        wait "$process" || {
            cat said.*
            return 1
        }
    done
    for file in said.plain said.submit; do
        grep -qE '^ +(9|1[0-9])\.[0-9] s  %post' "$file"
        run -1 grep -q $'[\r\e]' "$file"
    done
    grep -qE '^cybelectl: built word\.sif \([0-9.]+ MB, 1[0-9] s\)$' said.submit
    grep -qE '^job [0-9]+ \(say\) done: exit code 0; output in ' said.submit
    grep -qE '^ +[0-9]+\.[0-9] s  job [0-9]+ is running$' said.waiting
    for file in said.quiet said.json; do
        assert_equal "$(cat "$file")" ''
    done
}

@test "-vv prints what each phase of a build found, and without it nothing of that" {
    cp base.def phases.def
    run --separate-stderr "$CYBELECTL" -vv build phases.def -o phases.sif --no-cache
    assert_success
    # shellcheck disable=SC2154 # set by bats
    sed -n 's/^cybelectl: \([a-z]*\): {.*}$/\1/p' <<<"$stderr" >phases
    diff phases - <<<$'read\nplanned\nbased\nbuilt\npacked\nsigned\nnamed'
    sed -n 's/^cybelectl: [a-z]*: //p' <<<"$stderr" | jq -es 'length == 7 and .[0].kind == "definition"'
    run --separate-stderr "$CYBELECTL" -v build phases.def -o phases.sif --no-cache --force
    assert_success
    run ! grep -q '"stages"' <<<"$stderr"
}

@test "a Recipe over the image of another one has its own name, version and labels" {
    printf '%s\n' 'kind: Recipe' 'name: one' 'version: "1"' 'base: {image: base.sif}' 'labels: {Team: a, Kept: one}' >one.yaml
    printf '%s\n' 'kind: Recipe' 'name: two' 'version: "2"' 'base: {image: one.sif}' 'labels: {Team: b}' >two.yaml
    run -0 "$CYBELECTL" build one.yaml
    run -0 "$CYBELECTL" build two.yaml
    refute_output --partial 'is ignored'
    "$CYBELECTL" inspect two.sif --format json >two.json
    run -0 jq -r '.. | objects | select(has("Team")) | [.Team, .Kept, ."org.opencontainers.image.title", ."org.opencontainers.image.version"] |
        join(" ")' two.json
    assert_output 'b one two 2'
}

@test "a label that the base has is ignored with a warning, and replaced with --force" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%labels' 'Author Jane' >author.def
    printf '%s\n' 'Bootstrap: localimage' 'From: author.sif' '%labels' 'Author Other' >other.def
    run -0 "$CYBELECTL" build author.def
    refute_output --partial warning
    run -0 "$CYBELECTL" build other.def
    assert_line --partial "warning: the label Author of %labels is ignored: the image has it already with the value 'Jane'; --force replaces it"
    run -0 "$CYBELECTL" inspect other.sif
    assert_output --partial Jane
    run -0 "$CYBELECTL" build other.def --force
    refute_output --partial 'is ignored'
    run -0 "$CYBELECTL" inspect other.sif
    assert_output --partial Other
}

@test "%files copies what %setup and %pre made or changed, also of an earlier stage, and no kept step stands for it" {
    # shellcheck disable=SC2016 # for the build
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' 'Stage: first' '%pre' 'cat word >of-pre' '%setup' 'cat word >gen; cat word >there' \
        '%files' 'gen /opt/' 'there /opt/' 'of-pre /opt/' 'Bootstrap: localimage' 'From: base.sif' 'Stage: last' \
        '%files from first' '/opt/gen /first' '/opt/there /there' '%files' 'gen /last' >gen.def
    local word
    for word in one two; do
        echo before >there
        echo "$word" >word
        rm -f gen of-pre
        run -0 "$CYBELECTL" build gen.def -F
        run -0 "$CYBELECTL" exec gen.sif cat /first /there /last
        assert_output "$word"$'\n'"$word"$'\n'"$word"
    done
    sed -i 's|^gen /last|none /last|' gen.def
    refuses 3 "$CYBELECTL" build gen.def -F
    assert_line "error: the source 'none' of %files does not exist"
    assert_line --partial ' --> gen.def:'
}

@test "a Recipe copies files whose names have signs of the shell, from the host and from a stage" {
    local sign all=()
    mkdir -p signs
    printf '%s\n' 'kind: Recipe' 'name: signs' 'base: {image: base.sif}' 'stages:' '- name: s' '  files:' >signs.yaml
    for sign in "'" ';' '&' '(' ')' '<' '>' '|' '#' '!'; do
        echo "$sign" >"signs/a b${sign}c"
        echo "  - {from: \"signs/a b${sign}c\", to: \"/s/a b${sign}c\"}" >>signs.yaml
        all+=("  - {from: \"/s/a b${sign}c\", to: \"/x/a b${sign}c\", stage: s}" "  - {from: \"signs/a b${sign}c\", to: /opt/signs/}")
    done
    printf '%s\n' 'files:' "${all[@]}" >>signs.yaml
    run -0 "$CYBELECTL" build signs.yaml
    run -0 "$CYBELECTL" exec signs.sif sh -c 'cat /x/* | tr -d "\n"; ls /opt/signs | wc -l'
    assert_output '!#&'"'"'();<>|10'
    "$CYBELECTL" recipe render signs.yaml >signs.def
    run -0 "$CYBELECTL" def check signs.def
}

@test "the mode of a folder is that of its files, and its folders can be entered by who may read" {
    mkdir -p modes/sub
    echo a >modes/a
    echo b >modes/sub/b
    chmod 755 modes/a
    printf '%s\n' 'kind: Recipe' 'name: modes' 'base: {image: base.sif}' 'files:' '- {from: modes, to: /m1, mode: "0600"}' \
        '- {from: modes, to: /m2, mode: "0754"}' '- {from: modes/a, to: /m3, mode: "0640"}' >modes.yaml
    run -0 "$CYBELECTL" build modes.yaml
    run -0 "$CYBELECTL" exec modes.sif stat -c '%a %n' /m1 /m1/a /m1/sub /m1/sub/b /m2 /m2/a /m2/sub/b /m3
    assert_output "700 /m1
600 /m1/a
700 /m1/sub
600 /m1/sub/b
755 /m2
754 /m2/a
754 /m2/sub/b
640 /m3"
}

@test "a root file system without /.singularity.d is built; a folder of neither kind says what a source is" {
    mkdir -p rootfs/bin neither
    cp busybox rootfs/bin/sh
    run -0 "$CYBELECTL" build rootfs/ -o of-root.sif
    run -0 "$CYBELECTL" exec of-root.sif sh -c 'echo in'
    assert_output in
    refuses 3 "$CYBELECTL" build neither
    assert_line 'error: no Recipe in neither'
    assert_line --partial 'and no root file system either'
    assert_line --partial '`cybelectl build --help`'
}

@test "a definition on standard input is built, with a named output" {
    run -0 "$CYBELECTL" build - -o piped.sif <base.def
    run -0 "$CYBELECTL" exec piped.sif sh -c 'echo $NINE'
    assert_output 91
    refuses 2 "$CYBELECTL" build - <base.def
    assert_line 'error: a definition on standard input needs an output'
}

@test "an empty folder is not called a sandbox, and a link to nothing is named as one" {
    mkdir empty
    refuses 3 "$CYBELECTL" build --sandbox base.def -o empty
    assert_line 'because: it is an empty directory'
    ln -s nowhere dangling
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%files' 'dangling /opt/' >dangling.def
    refuses 3 "$CYBELECTL" build dangling.def
    assert_line "because: $place/dangling is a link to a missing file"
}
