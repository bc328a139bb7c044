# SPDX-License-Identifier: Apache-2.0
# Jobs whose image lies in a registry or a library: pulled once when they are submitted, and what a Job or a Site demands of
# signatures asked before anything is kept or submitted. About one minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup() {
    own_home
    mkdir -p root/bin root/etc
    cp /bin/busybox root/bin
    for name in sh cat echo; do ln -s busybox root/bin/$name; done
    echo of-the-registry >root/etc/from
    printf 'Bootstrap: localimage\nFrom: root\n' >app.def
    "$CYBELECTL" key new good.pem
    "$CYBELECTL" key new other.pem
    "$CYBELECTL" build app.def -o app.sif --sign-key good.pem
    digest=sha256:$(sha256sum app.sif | cut -d' ' -f1)
}
teardown() {
    end_servers
    leave_place
}

# write_remote NAME IMAGE LINE…: a Job of the image.
write_remote() {
    printf '%s\n' 'kind: Job' "name: $1" "image: \"$2\"" 'command: [cat, /etc/from]' "${@:3}" >"$1.yaml"
}

submit() { "$CYBELECTL" submit "$@" --scheduler local --plain-http; }

# with_registry: $host is a registry, watched by a proxy whose log is `log`, that has app:1.
with_registry() {
    serve registry docker-registry open "$place/r"
    serve proxy registry-proxy "$registry" "$place/log"
    host=127.0.0.1:$proxy
    "$CYBELECTL" image push app.sif "oras://$host/group/app:1" --plain-http --no-attach -q
    : >log
}

downloads() { grep -c "^GET /v2/group/app/blobs/$digest" log; }

# nothing_came: no image is kept, and no job was submitted.
nothing_came() {
    assert_equal "$(find "$CYBELE_STORE/blobs" -type f 2>/dev/null)" ""
    assert_equal "$(find "$CYBELE_STORE/tmp" -type f 2>/dev/null)" ""
    assert_equal "$("$CYBELECTL" job list --format json | jq '.jobs | length')" 0
}

@test "an image of a registry is pulled once when its job is submitted, and named by its digest in the script" {
    with_registry
    write_remote app "oras://$host/group/app:1"
    submit app.yaml --wait
    assert_equal "$(cat app-*.out)" of-the-registry
    submit app.yaml --wait
    assert_equal "$(downloads)" 1
    grep -qF "${digest#sha256:}" .cybelectl/*/job.sh
    assert_equal "$("$CYBELECTL" image list group/app:1 --format json | jq -r ".images[0].digest")" "$digest"
    # It stays while its job may run.
    refuses 5 "$CYBELECTL" image remove group/app:1
    "$CYBELECTL" image prune --grace '0 s' --keep 1KiB
    assert_exist "$CYBELE_STORE/blobs/sha256/${digest:7:2}/${digest:9}"
}

@test "by the digest of its manifest: this one and no other" {
    with_registry
    local manifest
    manifest=$(curl -sf -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$host/v2/group/app/manifests/1" | sha256sum | cut -d' ' -f1)
    write_remote app "oras://$host/group/app@sha256:$manifest"
    submit app.yaml --wait
    assert_equal "$(cat app-*.out)" of-the-registry
    write_remote none "oras://$host/group/app@sha256:$(printf '%064d' 1)"
    refuses 3 submit none.yaml
    assert_output --partial '--> none.yaml:3'
    assert_equal "$(downloads)" 1
}

@test "an image of a library" {
    mkdir -p library/group/tools/app
    cp app.sif library/group/tools/app/1.amd64.sif
    serve library library "$place/library"
    write_remote app library://group/tools/app:1
    submit app.yaml --wait --library "127.0.0.1:$library"
    assert_equal "$(cat app-*.out)" of-the-registry
    refuses 3 submit app.yaml
    assert_output --partial 'no library is set'
    assert_output --partial '--> app.yaml:3'
}

@test "what a Job demands is asked before the image is kept and before anything is submitted" {
    with_registry
    write_remote app "oras://$host/group/app:1" 'verify: {keys: [other.pub]}'
    refuses 4 submit app.yaml
    assert_output --partial 'is not verified, and the job requires it'
    assert_output --partial '--> app.yaml:3'
    nothing_came
    write_remote app "oras://$host/group/app:1" 'verify: {keys: [good.pub, other.pub], require: all}'
    refuses 4 submit app.yaml
    nothing_came
    write_remote app "oras://$host/group/app:1" 'verify: {keys: [good.pub, other.pub]}'
    submit app.yaml --wait
}

@test "what a Site demands holds for every job that goes there, and both demands must hold" {
    with_registry
    mkdir site
    site() { printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: local' "verify: $1" >site/hall.yaml; }
    write_remote app "oras://$host/group/app:1"
    write_remote file app.sif
    "$CYBELECTL" image add app.sif kept:1
    write_remote stored store:kept:1
    site "{keys: [$place/other.pub]}"
    local name
    for name in app file stored; do
        refuses 4 "$CYBELECTL" submit $name.yaml --site site/hall.yaml --plain-http
        assert_output --partial 'is not verified, and the site hall requires it'
    done
    "$CYBELECTL" image remove kept:1
    nothing_came
    site "{keys: [$place/good.pub]}"
    "$CYBELECTL" submit app.yaml --site site/hall.yaml --plain-http --wait
    write_remote both "oras://$host/group/app:1" 'verify: {keys: [other.pub]}'
    refuses 4 "$CYBELECTL" submit both.yaml --site site/hall.yaml --plain-http
    assert_output --partial 'the job requires it'
    printf '%s\n' 'kind: Policy' 'require: all' 'keys: [good.pub, other.pub]' >policy.yaml
    site "$place/policy.yaml"
    refuses 4 "$CYBELECTL" submit app.yaml --site site/hall.yaml --plain-http
    site '{keys: [good.pub]}'
    refuses 3 "$CYBELECTL" submit app.yaml --site site/hall.yaml --plain-http --dry-run
    assert_output --partial 'would not be found on the nodes'
}

@test "what cannot be pulled is told at its line, and nothing is submitted" {
    write_remote docker docker://registry.example/app:1
    refuses 3 submit docker.yaml
    assert_output --partial 'a job cannot start an OCI image'
    assert_output --partial '--> docker.yaml:3'
    write_remote shub shub://group/app
    refuses 3 submit shub.yaml
    assert_output --partial 'closed in April 2021'
    write_remote away oras://127.0.0.1:1/app:1
    refuses 5 submit away.yaml
    nothing_came
    run --separate-stderr "$CYBELECTL" job render away.yaml --scheduler slurm
    assert_equal "$status" 0
    assert_regex "$stderr" 'is pulled when the job is submitted'
}
