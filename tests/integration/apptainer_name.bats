# SPDX-License-Identifier: Apache-2.0
# cybelectl by the name of Apptainer: a table of cases that both programs run, the link, and the page of options.
load ../parts/cases.bash

@test "install-as makes a link, replaces nothing, and the link tells the version" {
    mkdir -p bin
    "$CYBELECTL" install-as apptainer bin
    run bin/apptainer --version
    assert_success
    assert_output 'apptainer version 1.4.5'
    run bin/apptainer -v --version
    assert_line --partial 'answers by the name apptainer'
    "$CYBELECTL" install-as apptainer bin # the same link again
    assert_equal "$(readlink bin/run-singularity)" "$(readlink bin/apptainer)"
    echo mine >bin/singularity
    run "$CYBELECTL" install-as singularity bin
    assert_failure 3
    assert_equal "$(<bin/singularity)" mine
    "$CYBELECTL" install-as singularity bin --force
    run bin/singularity version
    assert_output 1.4.5
    run "$CYBELECTL" install-as podman bin
    assert_failure 2
    run "$CYBELECTL" install-as apptainer missing
    assert_failure 3
}

@test "every flag of Apptainer is carried or refused by name, and none is ignored" {
    run "$place/bin/apptainer" exec --nvccli app.sif true
    assert_failure 255
    assert_output --partial 'FATAL:   --nvccli is not supported'
    run env APPTAINER_PEM_PATH=x "$place/bin/apptainer" exec app.sif true
    assert_failure 255
    assert_output --partial APPTAINER_PEM_PATH
    run env APPTAINER_NV=maybe "$CYBELECTL" exec app.sif true
    assert_failure 255
    assert_output --partial 'neither true nor false'
}

@test "the page of options is what the program says" {
    "$repo/tests/docs/list-options" "$place/bin/apptainer" >page.md
    if [[ -n ${CYBELE_ACCEPT:-} ]]; then
        cp page.md "$repo/docs/reference/apptainer-options.md"
    fi
    run diff "$repo/docs/reference/apptainer-options.md" page.md
    assert_success
}

@test "both programs do the same: actions and help" {
    compare cases 'actions|help'
}

@test "both programs do the same: environment, overlays and inspect" {
    compare cases 'environment|overlay|inspect'
}

@test "both programs do the same: binds, files and keys" {
    compare cases 'binds|sif|keys'
}

@test "both programs do the same: isolation, builds and the rest" {
    compare cases 'isolation|build|other'
}

@test "both programs do the same: ids, seccomp profiles and FUSE programs" {
    compare more 'security|fuse'
}

@test "both programs do the same: what builds print, homes, the cache and settings of the host" {
    compare daily 'outputs|homes|keeping|hosts'
}

# An image of one layer with busybox, in the registry on loopback.
serve_image() {
    local name
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 bundle >/dev/null 2>&1
    mkdir -p bundle/rootfs/{bin,etc,tmp,proc,sys,dev,root}
    cp /bin/busybox bundle/rootfs/bin
    for name in sh cat echo ls; do ln -s busybox bundle/rootfs/bin/$name; done
    umoci repack --refresh-bundle --image layout:1 bundle >/dev/null
    rm -rf bundle
    skopeo copy -q --dest-tls-verify=false oci:layout:1 "docker://127.0.0.1:$registry/demo/app:1"
}

@test "images are started by URI, converted once by 16 starts at the same time, pulled and pushed" {
    mkdir uris && cd uris || return
    export CYBELE_CACHE_DIR=$PWD/cache CYBELE_STORE=$PWD/store HOME=$PWD no_proxy='*'
    unset XDG_RUNTIME_DIR REGISTRY_AUTH_FILE
    local apptainer=$place/bin/apptainer i
    local -a starts=()
    serve registry docker-registry open "$PWD/r"
    serve_image
    for i in {1..16}; do
        "$apptainer" exec --no-https "docker://127.0.0.1:$registry/demo/app:1" echo "here $i" >"out.$i" 2>"err.$i" &
        starts+=($!)
    done
    for i in {1..16}; do
        wait "${starts[i - 1]}"
        assert_equal "$(<"out.$i")" "here $i"
    done
    # One conversion: one image in the store.
    run "$CYBELECTL" image list --format json
    assert_equal "$(grep -c '"digest"' <<<"$output")" 1
    "$apptainer" pull --no-https "docker://127.0.0.1:$registry/demo/app:1"
    [[ -x app_1.sif ]]
    mkdir folder
    APPTAINER_NOHTTPS=1 APPTAINER_PULLDIR=folder "$apptainer" pull "docker://127.0.0.1:$registry/demo/app:1"
    [[ -x folder/app_1.sif ]]
    run "$apptainer" pull --no-https "docker://127.0.0.1:$registry/demo/app:1"
    assert_failure 255
    "$apptainer" pull --no-https --force --dir "$PWD" --name mine.sif "docker://127.0.0.1:$registry/demo/app:1"
    "$apptainer" push --no-https mine.sif "oras://127.0.0.1:$registry/demo/sif:1"
    run "$CYBELECTL" exec --no-https "oras://127.0.0.1:$registry/demo/sif:1" echo 'by its own name'
    assert_output 'by its own name'
    run --separate-stderr "$apptainer" exec --disable-cache oci:layout:1 echo 'only now'
    assert_output 'only now'
    run "$apptainer" exec --no-https "docker://127.0.0.1:$registry/demo/none:1" echo x
    assert_failure 255
    assert_output --partial 'manifest unknown'
}
