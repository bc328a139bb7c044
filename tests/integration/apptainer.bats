# SPDX-License-Identifier: Apache-2.0
# The real Apptainer runs, lists and verifies our image; we verify and run what it signs and builds.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run apptainer "$@"
}

# quick_build OUT FROM: Apptainer's build, with a compression that costs little.
quick_build() {
    apptainer build --mksquashfs-args '-comp zstd -Xcompression-level 1' "$@"
}

setup_file() {
    enter_place
    export place
    copy_fixture
    "$parts_dir/apptainer" make >&2
    quick_build plain.sif hello-mpi.sif >&2
}
setup() {
    cd "$place" || return
    export CYBELE_TMPDIR=$place
}
teardown_file() { leave_place; }

@test "it runs a command in our image without a warning, and gives its exit code" {
    run apptainer exec hello-mpi.sif sh -c 'echo inside; exit 7'
    assert_equal "$status" 7
    assert_line inside
    refute_output --partial WARNING
    refute_output --partial ERROR
}

@test "as an ordinary user too" {
    run "$parts_dir/apptainer" run -u apptainer exec hello-mpi.sif id -u
    assert_success
    assert_line 1234
    refute_output --partial WARNING
}

@test "the runscript, the environment and the test of our image work under it" {
    run apptainer run hello-mpi.sif
    assert_success
    assert_line --regexp '^rank 0 of 1 on '
    refute_output --partial WARNING
    run apptainer test hello-mpi.sif
    assert_success
    refute_output --partial WARNING
}

@test "it shows the labels, the definition and the runscript" {
    run apptainer inspect --json hello-mpi.sif
    assert_success
    jq -e '.data.attributes.labels | has("cybelectl.mpi")' <<<"$output"
    run apptainer inspect -d hello-mpi.sif
    assert_success
    assert_line --regexp '^[Bb]ootstrap: '
    run apptainer inspect -r hello-mpi.sif
    assert_success
    run apptainer sif list hello-mpi.sif
    assert_success
    assert_output --partial 'Squashfs/*System'
}

@test "it verifies our signature, with the right key only" {
    run apptainer verify --key demo.pub hello-mpi.sif
    assert_success
    "$CYBELECTL" key new other.pem
    run apptainer verify --key other.pub hello-mpi.sif
    assert_failure
}

@test "it verifies our signatures of every algorithm" {
    for algorithm in ed25519 ecdsa rsa; do
        "$CYBELECTL" key new "$algorithm.pem" --algorithm "$algorithm"
        cp plain.sif "$algorithm.sif"
        "$CYBELECTL" sign "$algorithm.sif" --key "$algorithm.pem"
        run apptainer verify --key "$algorithm.pub" "$algorithm.sif"
        assert_success
    done
}

@test "we verify its signature, and refuse the image when a byte changes" {
    openssl genpkey -algorithm ed25519 -out ssl.pem
    openssl pkey -in ssl.pem -pubout -out ssl.pub
    cp plain.sif theirs.sif
    apptainer sign --key ssl.pem theirs.sif
    run "$CYBELECTL" verify theirs.sif --key ssl.pub
    assert_success
    printf 'X' | dd of=theirs.sif bs=1 seek=$(($(stat -c %s theirs.sif) / 2)) conv=notrunc status=none
    run "$CYBELECTL" verify theirs.sif --key ssl.pub
    assert_equal "$status" 4
}

@test "we run an image that it built" {
    run "$CYBELECTL" exec plain.sif sh -c 'echo inside; exit 5'
    assert_equal "$status" 5
    assert_line inside
}

@test "it builds from a definition that bootstraps our image" {
    printf 'Bootstrap: localimage\nFrom: hello-mpi.sif\n%%post\n    echo made >/made\n%%runscript\n    cat /made\n' >small.def
    run "$CYBELECTL" def check small.def
    assert_success
    quick_build small.sif small.def
    run apptainer run small.sif
    assert_line made
}

@test "build --builder apptainer hands the definition over and signs the result" {
    local builder
    builder=$("$parts_dir/apptainer" make)
    printf 'Bootstrap: localimage\nFrom: hello-mpi.sif\n%%post\n    echo made >/made\n' >over.def
    mkdir -p bin
    printf '#!/bin/sh\nexec "%s/apptainer" run apptainer "$@"\n' "$parts_dir" >bin/apptainer
    chmod +x bin/apptainer
    [[ -d $builder ]]
    PATH=$place/bin:$PATH run "$CYBELECTL" build over.def -o over.sif --builder apptainer --sign-key demo.pem
    assert_success
    run "$CYBELECTL" verify over.sif --key demo.pub
    assert_success
    run "$CYBELECTL" exec over.sif cat /made
    assert_line made
}

@test "build --builder apptainer copies what a .dockerignore leaves out of our own builds, and a warning names it" {
    mkdir -p bin ignored/src
    printf '#!/bin/sh\nexec "%s/apptainer" run apptainer "$@"\n' "$parts_dir" >bin/apptainer
    chmod +x bin/apptainer
    cd ignored
    cp ../hello-mpi.sif base.sif
    touch src/main.c src/main.o
    echo '**/*.o' >.dockerignore
    printf '%s\n' 'kind: Recipe' 'name: app' 'base: {image: base.sif}' 'files: [{from: src, to: /src}]' >app.yaml
    "$CYBELECTL" build app.yaml -o ours.sif
    run -0 "$CYBELECTL" exec ours.sif find /src -type f
    assert_output /src/main.c
    PATH=$place/bin:$PATH run -0 "$CYBELECTL" build app.yaml -o theirs.sif --builder apptainer
    assert_output --partial 'apptainer copies what a Recipe would leave out: main.o (.dockerignore:1)'
    run -0 "$CYBELECTL" exec theirs.sif find /src -type f
    assert_line /src/main.c
    assert_line /src/main.o
}

@test "values and file names with signs of the shell are the same in both programs, and in what both build of a rendered Recipe" {
    local sign value image program
    # shellcheck disable=SC2016 # for the Recipe
    # shellcheck disable=SC1003 # a backslash before a quote is meant
    value='a'"'"'b "c" \ \\ $HOME ${HOME} `id` ! '"''"' ü € {{ x }} \n \'"'"' #x'
    printf '%s\n' 'kind: Recipe' 'name: odd' 'base: {image: hello-mpi.sif}' "environment: {ODD: '${value//\'/\'\'}', IT: \"it's\"}" \
        'stages:' '- name: s' '  files: [{from: odd, to: /s}]' 'files:' >odd.yaml
    mkdir odd
    for sign in "'" ';' '&' '(' ')' '<' '>' '|'; do
        echo "$sign" >"odd/a b${sign}c"
        echo "- {from: \"odd/a b${sign}c\", to: \"/x/a b${sign}c\"}" >>odd.yaml
        echo "- {from: \"/s/a b${sign}c\", to: \"/y/a b${sign}c\", stage: s}" >>odd.yaml
    done
    "$CYBELECTL" recipe render odd.yaml >odd.def
    "$CYBELECTL" build odd.yaml
    quick_build odd-theirs.sif odd.def
    for image in odd.sif odd-theirs.sif; do
        # shellcheck disable=SC2016 # for the containers
        for program in apptainer "$CYBELECTL"; do
            assert_equal "$($program exec $image sh -c 'printf "%s, %s" "$ODD" "$IT"')" "$value, it's"
            assert_equal "$($program exec $image sh -c 'cat /x/* /y/* | sort | uniq -c | wc -l; ls /x /y | wc -l')" $'8\n19'
        done
    done
}
