# SPDX-License-Identifier: Apache-2.0
# No old image runs: what an image was made from, which image a Job means, and what a record says of it.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place CYBELE_CACHE_DIR=$place/cache CYBELE_STORE=$place/store
    cp /bin/busybox .
    # shellcheck disable=SC2016 # for the build
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%post' 'busybox --install -s /bin' \
        'echo "export NINE=91" >>$APPTAINER_ENVIRONMENT' >base.def
    "$CYBELECTL" build base.def
}
setup() {
    work=$BATS_TEST_TMPDIR
    mkdir -p "$place/$BATS_TEST_NUMBER" && cd "$place/$BATS_TEST_NUMBER" || return
    export CYBELE_STATE_DIR=$PWD/state
    cp ../base.sif .
}
teardown_file() { leave_place; }

# write_demo LINE…: demo.yaml, whose image has src/word and prints it, with more lines; and the Job demo.
write_demo() {
    mkdir -p src
    echo one >src/word
    printf '%s\n' 'kind: Recipe' 'name: demo' 'base: {image: base.sif}' 'files: [{from: src, to: /opt/}]' \
        "$@" >demo.yaml
    printf '%s\n' 'kind: Job' 'name: demo' 'image: {recipe: demo.yaml}' 'command: [cat, /opt/src/word]' \
        'output: {stdout: demo.out, results: [demo.out]}' >demo.job.yaml
}

# submits WORD LINE: submits demo, which must print WORD; LINE is what the client says of the image, "" for nothing.
submits() {
    run -0 --separate-stderr "$CYBELECTL" submit demo.job.yaml --scheduler local --wait
    assert_equal "$(cat demo.out)" "$1"
    assert_equal "$(grep building <<<"$stderr" || true)" "${2:+cybelectl: $2}"
}

# digest_of FILE: as records write it.
digest_of() { echo "sha256:$(sha256sum <"$1" | cut -d' ' -f1)"; }

@test "a source that changed is in the image that runs, and the client says which" {
    write_demo
    submits one 'building demo.sif: it does not exist'
    submits one ''
    echo two >src/word
    run -0 "$CYBELECTL" job check demo.job.yaml
    assert_output --partial 'demo.sif is older than what it is built from'
    assert_output --partial 'src/word changed'
    run -3 "$CYBELECTL" job check demo.job.yaml --strict
    submits two 'rebuilding demo.sif: src/word changed'
    submits two ''
    run -0 "$CYBELECTL" job check demo.job.yaml --strict
}

@test "--no-build refuses an image that is missing or old, and submits one that is current" {
    write_demo
    refuses 3 "$CYBELECTL" submit demo.job.yaml --scheduler local --no-build
    assert_line --partial 'demo.sif does not exist'
    assert_line --partial 'cybelectl build'
    "$CYBELECTL" build demo.yaml
    run -0 "$CYBELECTL" submit demo.job.yaml --scheduler local --no-build --wait
    echo two >src/word
    refuses 3 "$CYBELECTL" submit demo.job.yaml --scheduler local --no-build
    assert_line --partial 'because: src/word changed'
    refuses 255 "$CYBELECTL" submit demo.job.yaml --scheduler local --no-build --wait
    assert_equal "$("$CYBELECTL" exec demo.sif cat /opt/src/word)" one
}

@test "files that are new, gone or of another mode are named; a touched one changes nothing" {
    write_demo
    touch src/old
    submits one 'building demo.sif: it does not exist'
    touch src/word
    submits one ''
    touch src/new
    rm src/old
    chmod 755 src/word
    submits one 'rebuilding demo.sif: src/new is new, src/old is gone, src/word has another mode'
    submits one ''
    touch src/{a,b,c,d,e}
    submits one 'rebuilding demo.sif: src/a is new, src/b is new, src/c is new, 2 more changes'
    rm src/word
    run "$CYBELECTL" submit demo.job.yaml --scheduler local --no-build
    assert_line --partial 'src/word is gone'
}

@test "a changed file of the same size and time is seen" {
    write_demo
    submits one 'building demo.sif: it does not exist'
    sleep 2.1 # until the digest of an unchanged file is remembered
    submits one ''
    touch -r src/word "$work/time"
    echo two >src/word
    touch -r "$work/time" src/word
    submits two 'rebuilding demo.sif: src/word changed'
}

@test "a changed Recipe is named by its fields, and a changed base by its file" {
    write_demo
    submits one 'building demo.sif: it does not exist'
    printf '%s\n' 'run: [echo]' 'steps: ["echo three >/opt/src/word"]' >>demo.yaml
    submits three 'rebuilding demo.sif: `run` of the Recipe changed, `steps` of the Recipe changed'
    sed -i 's/91/92/' ../base.def
    "$CYBELECTL" build ../base.def -o base.sif --force
    submits three 'rebuilding demo.sif: base.sif changed'
    "$CYBELECTL" build demo.yaml
    submits three ''
}

@test "rendering reads no source: where one is missing it gives the same bytes, and job check reports it" {
    write_demo
    "$CYBELECTL" build demo.yaml
    "$CYBELECTL" job render demo.job.yaml -o before.sh
    echo two >src/word
    "$CYBELECTL" job render demo.job.yaml -o changed.sh
    rm -r src
    "$CYBELECTL" job render demo.job.yaml -o missing.sh
    cmp before.sh changed.sh
    cmp before.sh missing.sh
    refuses 3 "$CYBELECTL" job check demo.job.yaml
    assert_line --partial 'demo.yaml:4:'
    refuses 3 "$CYBELECTL" submit demo.job.yaml --scheduler local
    assert_line --partial 'demo.yaml:4:'
}

@test "a Recipe that copies its own folder is current after its build, though the image is there too" {
    write_demo
    mkdir app
    mv src demo.yaml app
    sed -i 's|base.sif|../base.sif|; s|files:.*|files: [{from: ., to: /opt/}]|' app/demo.yaml
    sed -i 's|demo.yaml|app/demo.yaml|' demo.job.yaml
    submits one 'building demo.sif: it does not exist'
    submits one ''
    echo two >app/src/word
    submits two 'rebuilding demo.sif: src/word changed'
    submits two ''
}

@test "an image built with other arguments is not the one that the Job means" {
    write_demo 'args: {word: four}' 'steps: ["echo \"$WORD\" >/opt/src/word"]'
    "$CYBELECTL" build demo.yaml --arg word=five
    submits four 'rebuilding demo.sif: the arguments of the Recipe changed'
    submits four ''
}

@test "an image that does not say what it was made from is built again" {
    write_demo
    "$CYBELECTL" build demo.yaml
    run -0 "$CYBELECTL" inspect demo.sif
    assert_output --partial 'cybelectl.sources: sha256:'
    local id
    id=$("$CYBELECTL" sif list demo.sif --format json | python3 -c 'import json, sys
print([o["id"] for o in json.load(sys.stdin)["objects"] if o["name"] == "cybelectl-sources.json"][0])')
    "$CYBELECTL" sif del "$id" demo.sif
    submits one 'rebuilding demo.sif: it does not say what it was made from'
}

@test "the same sources give the same bytes wherever they are" {
    write_demo
    mkdir "$place/elsewhere"
    cp -r --preserve=timestamps base.sif src demo.yaml "$place/elsewhere"
    SOURCE_DATE_EPOCH=1000000000 "$CYBELECTL" build demo.yaml
    (cd "$place/elsewhere" && SOURCE_DATE_EPOCH=1000000000 "$CYBELECTL" build demo.yaml --no-cache)
    cmp demo.sif "$place/elsewhere/demo.sif"
}

@test "a Lock that appears or changes is seen; what installs nothing leaves it valid" {
    write_demo
    submits one 'building demo.sif: it does not exist'
    "$CYBELECTL" recipe lock demo.yaml
    submits one 'rebuilding demo.sif: the Lock is new'
    printf '%s\n' 'run: [echo]' 'help: words' >>demo.yaml
    "$CYBELECTL" recipe lock demo.yaml --check
    submits one 'rebuilding demo.sif: `help` of the Recipe changed, `run` of the Recipe changed'
    run -0 "$CYBELECTL" inspect demo.sif
    assert_output --partial 'cybelectl.lock: sha256:'
    echo 'packages: {system: [jq]}' >>demo.yaml
    refuses 3 "$CYBELECTL" job check demo.job.yaml
    assert_line --partial 'the Lock is stale'
    refuses 255 "$CYBELECTL" submit demo.job.yaml --scheduler local --wait
    assert_line --partial 'cybelectl recipe lock'
}

@test "an image built with --unlocked is used, and the client says that its packages are not the Lock's" {
    write_demo
    "$CYBELECTL" recipe lock demo.yaml
    "$CYBELECTL" build demo.yaml --unlocked
    submits one ''
    assert_regex "$stderr" 'built with --unlocked'
    run -3 "$CYBELECTL" job check demo.job.yaml --strict
    "$CYBELECTL" build demo.yaml
    submits one ''
    run -0 "$CYBELECTL" job check demo.job.yaml --strict
}

@test "a variant is honoured by render, kube, generate and submit" {
    mkdir recipes jobs
    printf '%s\n' 'kind: Recipe' 'name: grid' "base: {image: ../base.sif}" 'matrix: {word: [one, two]}' \
        'steps: ["echo \"$WORD\" >/word"]' >recipes/grid.yaml
    printf '%s\n' 'kind: Job' 'name: grid' 'image: {recipe: ../recipes/grid.yaml, variant: grid-two}' \
        'command: [cat, /word]' "workdir: $PWD/jobs" "output: {stdout: $PWD/grid.out, stderr: $PWD/grid.err}" >jobs/grid.yaml
    run -0 "$CYBELECTL" job render jobs/grid.yaml
    assert_output --partial '"$submitted"/../recipes/grid-two.sif'
    run -0 "$CYBELECTL" kube render jobs/grid.yaml --kind SlurmJob
    assert_output --partial '../recipes/grid-two.sif'
    "$CYBELECTL" generate
    grep -F '../recipes/grid-two.sif' generated/grid.sh
    run -0 "$CYBELECTL" submit jobs/grid.yaml --scheduler local --wait
    assert_output --partial 'building grid-two.sif'
    assert_equal "$(cat grid.out)" two
    assert_not_exist recipes/grid-one.sif
    "$CYBELECTL" build -q recipes/grid.yaml --variant grid-one
    run -0 "$CYBELECTL" job check jobs/grid.yaml --strict
    sed -i 's/>\/word/>>\/word/' recipes/grid.yaml
    run -0 "$CYBELECTL" job check jobs/grid.yaml
    assert_output --partial 'grid-two.sif is older than what it is built from'
    refuses 3 "$CYBELECTL" submit jobs/grid.yaml --scheduler local --no-build
    assert_line --partial 'cybelectl build recipes/grid.yaml --variant grid-two'
    sed -i 's/grid-two/grid-tow/' jobs/grid.yaml
    for verb in 'job render' 'job check' 'kube render' 'submit'; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb jobs/grid.yaml
        assert_line --partial 'jobs/grid.yaml:3:48'
        assert_line --partial 'did you mean `grid-two`?'
    done
    refuses 3 "$CYBELECTL" generate
    sed -i 's/, variant: grid-tow//' jobs/grid.yaml
    for verb in 'job render' 'job check' 'kube render' 'submit' generate; do
        # shellcheck disable=SC2086
        refuses 3 "$CYBELECTL" $verb "$([ "$verb" = generate ] && echo . || echo jobs/grid.yaml)"
        assert_line --partial 'the Recipe has 2 variants, and the Job names none'
    done
}

@test "after a Recipe changed, nothing is said of its image by what the old one holds" {
    write_demo
    "$CYBELECTL" build demo.yaml
    sed -i 's/command:.*/command: [app]\nlaunch: mpi/' demo.job.yaml
    refuses 3 "$CYBELECTL" job check demo.job.yaml
    assert_line --partial 'the Recipe that it was built from names none'
    echo 'mpi: {family: openmpi, version: 4.1.4, from: base}' >>demo.yaml
    run -0 "$CYBELECTL" job check demo.job.yaml
    refute_output --partial 'names none'
    assert_output --partial 'demo.sif is older than what it is built from'
    assert_output --partial '`mpi` of the Recipe changed'
    run -0 "$CYBELECTL" job render demo.job.yaml -o demo.sh
    refute_output --partial 'names none'
    assert_output --partial 'demo.sif is older than its Recipe'
}

@test "a stale signed image is built again with the signing key, and without it not at all" {
    write_demo
    "$CYBELECTL" key new centre.pem >/dev/null
    "$CYBELECTL" build demo.yaml --sign-key centre.pem
    echo two >src/word
    "$CYBELECTL" build demo.yaml --force --sign-key centre.pem
    "$CYBELECTL" verify demo.sif --key centre.pub
    submits two ''
    echo three >src/word
    before=$(digest_of demo.sif)
    refuses 3 "$CYBELECTL" submit demo.job.yaml --scheduler local
    assert_line --partial 'demo.sif is signed, and older than what it is built from'
    assert_equal "$(digest_of demo.sif)" "$before"
    CYBELE_SIGN_KEY=$PWD/centre.pem submits three 'rebuilding demo.sif: src/word changed'
    "$CYBELECTL" verify demo.sif --key centre.pub
    submits three ''
}

@test "every record names the image by the digest of its bytes" {
    write_demo
    submits one 'building demo.sif: it does not exist'
    check_records 1 "$(digest_of demo.sif)"
    sed -i 's/image:.*/image: demo.sif/' demo.job.yaml
    submits one ''
    check_records 2 "$(digest_of demo.sif)"
    "$CYBELECTL" image add demo.sif demo:1
    sed -i 's/image:.*/image: store:demo:1/' demo.job.yaml
    submits one ''
    check_records 3 "$(digest_of demo.sif)"
    sed -i '/image:/d; s/command:.*/command: [echo, one]/' demo.job.yaml
    submits one ''
    run -0 "$CYBELECTL" job status --details 4 --format json
    assert_output --partial '"image-digest": null'
}

@test "a job that changes its own record changes nothing of what is collected of its image" {
    write_demo
    sed -i 's|command:.*|script: "cat /opt/src/word; sed -i s/sha256:[0-9a-f]*/sha256:0/ .cybelectl/*/job.json"|' demo.job.yaml
    submits one 'building demo.sif: it does not exist'
    grep -F '"image-digest": "sha256:0"' .cybelectl/*/job.json
    "$CYBELECTL" job collect 1 --to got
    grep -F "\"image-digest\": \"$(digest_of demo.sif)\"" got/demo-1.job.json
}

# check_records ID DIGEST: the record, the journal and what is collected of a job name the image so.
check_records() {
    run -0 "$CYBELECTL" job status --details "$1" --format json
    assert_output --partial "\"image-digest\": \"$2\""
    local record
    record=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"][0]["record"])' <<<"$output")
    grep -F "\"image-digest\": \"$2\"" "$record/job.json"
    run -0 "$CYBELECTL" job status --details "$1"
    assert_line "image         $2"
    "$CYBELECTL" job collect "$1" --to "$1"
    grep -F "\"image-digest\": \"$2\"" "$1/demo-$1.job.json"
}

@test "an image that another builder made says what it was made from, too" {
    write_demo
    # Apptainer's command line over the real builder; relative paths begin at the working directory there.
    mkdir bin
    # shellcheck disable=SC2016 # for the script
    printf '%s\n' '#!/bin/sh' 'shift' '[ "$1" != --notest ] || shift' 'cp "$2" apptainer.def' \
        'exec "$CYBELECTL" build --builder embedded apptainer.def -o "$1"' >bin/apptainer
    chmod 755 bin/apptainer
    export CYBELE_BUILDER=apptainer PATH=$PWD/bin:$PATH
    submits one 'building demo.sif: it does not exist'
    submits one ''
    echo two >src/word
    submits two 'rebuilding demo.sif: src/word changed'
}

@test "resubmit rebuilds an image whose source changed, and --no-build refuses it" {
    write_demo
    submits one 'building demo.sif: it does not exist'
    id=$output
    echo two >src/word
    refuses 3 "$CYBELECTL" job resubmit "$id" --no-build
    assert_line --partial 'demo.sif is older than'
    assert_equal "$(cat demo.out)" one
    run -0 --separate-stderr "$CYBELECTL" job resubmit "$id" --wait
    assert_regex "$stderr" 'rebuilding demo.sif: src/word changed'
    refute_regex "$stderr" 'has changed since' # its document is the same
    assert_regex "$stderr" "since job $id, the image is another one: it was sha256:[0-9a-f]{64}, and is sha256:[0-9a-f]{64}"
    assert_equal "$(cat demo.out)" two
    assert_equal "$("$CYBELECTL" job status --details "$output" --format json | jq -r '.jobs[0]."image-digest"')" "$(digest_of demo.sif)"
}

# put_blob FILE: into the blobs of the layout; its digest and size, for JSON.
put_blob() {
    local digest
    digest=$(sha256sum <"$1" | cut -d' ' -f1)
    mkdir -p lay/blobs/sha256
    cp "$1" "lay/blobs/sha256/$digest"
    printf '"digest":"sha256:%s","size":%s' "$digest" "$(stat -c %s "$1")"
}

# write_layout NAME=TEXT…: the OCI layout `lay` with an image for each NAME, whose /word has TEXT.
write_layout() {
    local one layer list='' type=application/vnd.oci.image
    for one in "$@"; do
        mkdir -p root/bin
        cp /bin/busybox root/bin/cat
        echo "${one#*=}" >root/word
        tar -C root -cf layer.tar .
        layer=$(put_blob layer.tar)
        printf '{"architecture":"%s","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["%s"]}}' \
            "$(dpkg --print-architecture)" "$(digest_of layer.tar)" >config.json
        printf '{"schemaVersion":2,"mediaType":"%s","config":{"mediaType":"%s",%s},"layers":[{"mediaType":"%s",%s}]}' \
            $type.manifest.v1+json $type.config.v1+json "$(put_blob config.json)" $type.layer.v1.tar "$layer" >manifest.json
        list+="${list:+,}{\"mediaType\":\"$type.manifest.v1+json\",$(put_blob manifest.json)"
        list+=",\"annotations\":{\"org.opencontainers.image.ref.name\":\"${one%%=*}\"}}"
    done
    echo '{"imageLayoutVersion":"1.0.0"}' >lay/oci-layout
    echo "{\"schemaVersion\":2,\"manifests\":[$list]}" >lay/index.json
}

# word_of IMAGE WORD: what its start prints.
word_of() {
    run -0 --separate-stderr "$CYBELECTL" exec "$1" cat /word
    assert_output "$2"
}

@test "exec of an OCI layout starts the image that the name has now, also of names that differ in capitals" {
    write_layout A=big a=small
    word_of oci:lay:A big
    word_of oci:lay:a small
    write_layout A=bigger a=small # the folder itself is as old as before
    word_of oci:lay:A bigger
    word_of oci:lay:a small
    tar -C lay -cf lay.tar .
    word_of oci-archive:lay.tar:A bigger
    word_of oci-archive:lay.tar:a small
}
