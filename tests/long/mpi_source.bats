# SPDX-License-Identifier: Apache-2.0
# Open MPI built from source, as a Recipe asks: Debian's own source file, served from this machine. It takes ten minutes
# and more, so only ./test --all runs it.
load ../parts/suite.bash

sum=ddaee7dbdb01eb4fab1fda5b5e03e8bbff026711806c095c1f39bb410f99f263

# Debian's signed lists lead to the file; apt's own folders stay as they are.
fetch_source() {
    mkdir -p apt/lists/partial apt/archives/partial www
    printf 'deb-src %s bookworm main\n' "$("$parts_dir/mirror")" >apt/sources.list
    local -a options=(-qq -o "Dir::Etc::SourceList=$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State=$PWD/apt" -o Dir::State::status=/dev/null -o "Dir::Cache=$PWD/apt" -o APT::Sandbox::User=)
    apt-get "${options[@]}" update && (cd www && apt-get "${options[@]}" source --download-only openmpi=4.1.4-3)
    printf '%s  www/openmpi_4.1.4.orig.tar.xz\n' "$sum" | sha256sum -c -
}

# serve: prints the address of a server of www/, whose process is $server.
serve() {
    python3 -u -m http.server --bind 127.0.0.1 --directory www 0 >server.log 2>&1 3>&- &
    server=$!
    wait_for 20 grep -q '^Serving HTTP' server.log
    address=http://127.0.0.1:$(sed -nE 's/.* port ([0-9]+) .*/\1/p' server.log)
}

write_recipe() {
    cp "$catalogue/hello-mpi/hello.c" .
    cat >"$1.yaml" <<YAML
kind: Recipe
name: $1
base: debian:12
args: {sources: 'http://127.0.0.1:9'}
mpi: {family: openmpi, version: 4.1.4, from: source, host: {launcher: mpirun, family: openmpi, version: 4.1.4}}
stages:
  - name: build
    packages:
      source:
        - name: openmpi
          url: "@{sources}/openmpi_4.1.4.orig.tar.xz"
          sha256: $2
          options: [--disable-oshmem, --disable-io-romio, --disable-libompitrace]
    files: [{from: hello.c, to: /src/hello.c}]
    steps: ["mkdir -p /opt/bin && mpicc -O2 -o /opt/bin/hello-mpi /src/hello.c"]
files: [{from: /opt/bin/hello-mpi, to: /opt/bin/hello-mpi, stage: build}]
run: [/opt/bin/hello-mpi]
YAML
}

setup_file() {
    enter_place
    export place
    fetch_source >fetch.log 2>&1
    serve
    export server address
    write_recipe ours "$sum"
    "$CYBELECTL" key new demo.pem >key.log 2>&1
    "$CYBELECTL" build ours.yaml -o ours.sif --sign-key demo.pem --arg "sources=$address" >build.log 2>&1 || tail -n 40 build.log >&2
}

setup() { cd "$place" || return; }

teardown_file() {
    [[ -z ${server:-} ]] || end_process "$server"
    leave_place
}

@test "Open MPI from source: the image is built, labelled, and its own test passes" {
    assert_file_exists ours.sif
    run "$CYBELECTL" inspect ours.sif --labels
    assert_success
    assert_output --regexp 'cybelectl\.mpi[^a-z-]+openmpi 4\.1\.4'
    assert_output --regexp 'cybelectl\.mpi-prefix[^a-z/]+/opt/openmpi'
    assert_output --regexp 'cybelectl\.pmi[^a-z-]+pmix 3\.2\.5'
    run "$CYBELECTL" exec ours.sif /opt/openmpi/bin/ompi_info --version
    assert_output --partial 'v4.1.4'
    run "$CYBELECTL" exec ours.sif dpkg-query -W libopenmpi3
    assert_failure
}

@test "Open MPI from source: ranks talk under the host's mpirun, and the guard asked first" {
    local allow=
    [[ $(id -u) != 0 ]] || allow=', allow-root: true'
    printf '%s\n' 'kind: Job' 'name: pair' 'image: ours.sif' "launch: {kind: mpi$allow}" 'resources: {tasks-per-node: 2}' >pair.yaml
    run "$CYBELECTL" submit pair.yaml --scheduler local --wait
    assert_success
    assert_equal "$(cat pair-*.out | grep -cE '^rank [01] of 2 on ')" 2
    run cat pair-*.out pair-*.err
    refute_output --partial 'sees 1'
}

@test "Open MPI from source: another file than the pinned one is refused" {
    write_recipe other "$(printf 'b%.0s' {1..64})"
    run "$CYBELECTL" build other.yaml -o other.sif --arg "sources=$address"
    assert_equal "$status" 6
    assert_output --partial 'sha256sum'
    assert_file_not_exists other.sif
}
