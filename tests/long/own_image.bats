# SPDX-License-Identifier: Apache-2.0
# The catalogue's images of cybelectl itself: made from the release's archive, and used as CI systems and pods use them. Six minutes; the release
# preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place BATS_TEST_TIMEOUT=900
    "$repo/packaging/release" -o "$place/out" >&2
    cp "$catalogue/cybelectl.yaml" "$catalogue/mirror.yaml" .
    "$CYBELECTL" build cybelectl.yaml --arg archive="$(echo "$place"/out/*.tar.xz)" -o cybelectl.sif >build.log 2>&1 || tail -n 40 build.log >&2
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

inside() { "$CYBELECTL" exec cybelectl.sif "$@"; }

@test "it holds the program of this commit" {
    run inside cybelectl --version
    assert_output "$("$CYBELECTL" --version)"
    run "$CYBELECTL" run cybelectl.sif --version
    assert_output "$("$CYBELECTL" --version)"
}

@test "its job runs" {
    cp "$catalogue/cybelectl/job.yaml" .
    run "$CYBELECTL" submit job.yaml --scheduler local --wait
    assert_success
    assert_equal "$(cat cybelectl-*.out)" "$("$CYBELECTL" --version)"
}

@test "in it a project's files are generated and checked, a stale one is found" {
    mkdir -p project/recipes
    printf '%s\n' 'kind: Recipe' 'name: tool' 'base: debian:12' 'run: [cat, /etc/debian_version]' >project/recipes/tool.yaml
    inside cybelectl generate project
    run inside cybelectl generate project --check
    assert_success
    sed -i 's/^run:.*/run: [id]/' project/recipes/tool.yaml
    run inside cybelectl generate project --check
    assert_failure 3
    run inside git --version
    assert_success
}

@test "in it images are signed and verified" {
    cp cybelectl.sif other.sif
    inside cybelectl key new a.pem
    inside cybelectl sign other.sif --key a.pem
    run inside cybelectl verify other.sif --key a.pub
    assert_success
    run inside cybelectl inspect other.sif --packages
    assert_output --partial 'git'
}

@test "in it the network's helper starts, with the libraries that it brings" {
    run inside cybelectl image pull oras://127.0.0.1:1/a:1 -o a.sif
    assert_failure 5
    assert_output --partial '127.0.0.1'
    refute_output --partial 'is not here'
    refute_output --partial 'is not of this'
}

@test "the real Apptainer runs it, too" {
    "$parts_dir/apptainer" make >&2
    run "$parts_dir/apptainer" run apptainer run cybelectl.sif --version
    assert_success
    assert_output --partial "$("$CYBELECTL" --version)"
}

@test "the mirror's image has the program, OpenSSH and the user that a pod is" {
    run "$CYBELECTL" build mirror.yaml --arg archive="$(echo "$place"/out/*.tar.xz)" -o mirror.sif
    assert_success
    run "$CYBELECTL" exec mirror.sif sh -c 'getent passwd 65532; ssh -V 2>&1; cybelectl --version'
    assert_line 'mirror:x:65532:65532:cybelectl mirror:/home/mirror:/bin/sh'
    assert_line --partial OpenSSH
    assert_line "$("$CYBELECTL" --version)"
    run "$CYBELECTL" recipe render mirror.yaml --as dockerfile
    assert_success
    assert_line --regexp '^FROM .*debian'
}
