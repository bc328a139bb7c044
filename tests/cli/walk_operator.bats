# SPDX-License-Identifier: Apache-2.0
# A platform operator's way from the login node to objects for a bridge, each step with its failure. Half a minute. That a real API
# server takes the objects: integration/kubernetes.bats.
load ../parts/suite.bash

setup() {
    work_place
    # shellcheck disable=SC2016
    printf '%s\n' 'kind: Job' 'name: soybean-preprocess' 'image: soybean.sif' 'script: |' \
        "  echo 'it''s' \"so\" \$HOME"$'\t''tab' '  ---' '  echo trailing   ' '  echo häufig: {a: b} # & *' \
        'resources: {time: 30 min}' 'queue: batch' 'output: {results: [tiles.csv]}' 'workdir: /home/eve/run' \
        'kubernetes: {namespace: crops, results: {claim: tiles, path: /results}}' >job.yaml
    printf '%s\n' 'kind: Site' 'name: hall-a' 'scheduler: {dialect: torque, version: 6.1.3}' \
        'kubernetes: {bridge: torque-operator, node-name: torque-hall-a-batch}' >site.yaml
}
teardown() { leave_place; }

# batch_of FILE: the script in an object.
batch_of() {
    python3 -c 'import sys, yaml
for one in yaml.safe_load_all(open(sys.argv[1])):
    sys.stdout.write(one.get("spec", {}).get("batch", ""))' "$1"
}

@test "1: doctor says which batch system the login node has, and what follows without one" {
    mkdir tools bare
    printf '#!/bin/sh\necho Version: 6.1.3\n' >tools/qsub
    chmod +x tools/qsub
    ln -s /usr/bin/* bare/ 2>/dev/null || true
    rm -f bare/{sbatch,qsub,srun}
    PATH=$place/tools:$place/bare run "$CYBELECTL" doctor --format json
    assert_equal "$(jq -r '.findings[] | select(.subject == "scheduler") | .what' <<<"$output")" 'torque 6.1.3'
    PATH=$place/bare run "$CYBELECTL" doctor --format json
    jq -e '.findings[] | select(.subject == "scheduler") | .state == "note" and (.follows | contains("on this machine"))' <<<"$output"
}

@test "2: the object passes the bridge's own rules; what is no object is told" {
    "$CYBELECTL" kube render job.yaml --site site.yaml --kind TorqueJob -o object.yaml
    run "$CYBELECTL" kube check object.yaml
    assert_success
    : >empty.yaml
    refuses 3 "$CYBELECTL" kube check empty.yaml
    refuses 3 "$CYBELECTL" kube check job.yaml
}

@test "3 and 5: the script in the object is the one that qsub gets, byte by byte, quotes, tabs and all" {
    "$CYBELECTL" kube render job.yaml --site site.yaml --kind TorqueJob -o object.yaml
    batch_of object.yaml >inside.sh
    "$CYBELECTL" job render job.yaml --site site.yaml -o alone.sh
    cmp inside.sh alone.sh
    grep -F $'$HOME\ttab' inside.sh
    grep -qx '    *---' inside.sh || grep -qx -- '---' inside.sh
    grep -q 'echo trailing   $' inside.sh
    grep -F 'häufig: {a: b} # & *' inside.sh
    bash -n inside.sh
}

@test "4: a name that Kubernetes does not take is refused with one that it takes" {
    sed -i 's/^name:.*/name: soybean_Preprocess/' job.yaml
    refuses 3 "$CYBELECTL" kube render job.yaml --site site.yaml --kind TorqueJob
    assert_line --partial 'job.yaml:2:7'
    # shellcheck disable=SC2016
    assert_line 'help: write `soybean-preprocess`'
}

@test "6: results go where the bridge looks: a relative path is refused with its place" {
    sed -i 's,path: /results,path: results,' job.yaml
    refuses 3 "$CYBELECTL" kube render job.yaml --site site.yaml --kind TorqueJob
    assert_line --partial "'results' is not an absolute path"
    assert_line --partial 'job.yaml:'
}

@test "7: two users' jobs share no path and no name in the cluster" {
    sed 's,/home/eve,/home/bob,; s/namespace: crops/namespace: trees/' job.yaml >bob.yaml
    "$CYBELECTL" kube render job.yaml --site site.yaml --kind TorqueJob -o eve.out
    "$CYBELECTL" kube render bob.yaml --site site.yaml --kind TorqueJob -o bob.out
    run grep -c '/home/eve\|crops' bob.out
    assert_output 0
    run grep -c '/home/bob\|trees' eve.out
    assert_output 0
}

@test "11: the mirror Job needs no definition of a resource, and says what the Site must tell it" {
    refuses 3 "$CYBELECTL" kube render job.yaml --site site.yaml --kind MirrorJob
    assert_line --partial 'kubernetes.connector.image'
    assert_line --partial 'kubernetes.connector.credentials'
    printf '%s\n' 'kind: Site' 'name: hall-a' 'scheduler: {dialect: torque, version: 6.1.3, through: {ssh: login.hall-a.example}}' \
        'kubernetes: {bridge: hpc-connector, connector: {image: "registry.example/connector:1", credentials: hall-a-login}}' >site.yaml
    "$CYBELECTL" kube render job.yaml --site site.yaml --kind MirrorJob -o mirror.yaml
    run grep -h '^kind:\|^apiVersion:' mirror.yaml
    assert_output "$(printf '%s\n' 'apiVersion: v1' 'kind: ConfigMap' 'apiVersion: v1' 'kind: ConfigMap' 'apiVersion: batch/v1' 'kind: Job')"
    python3 -c 'import json, sys, yaml
job = [json.loads(one["data"]["job"]) for one in yaml.safe_load_all(open("mirror.yaml")) if "job" in one.get("data", {})]
sys.stdout.write(job[0]["script"])' >inside.sh
    "$CYBELECTL" job render job.yaml --site site.yaml -o alone.sh
    cmp inside.sh alone.sh
}

@test "12: an image that the policy does not take is refused before anything is submitted" {
    cp "$(fixture)/hello-mpi.sif" soybean.sif
    "$CYBELECTL" key new centre.pem
    sed -i '/^workdir/d' job.yaml
    echo 'verify: {keys: [centre.pub]}' >>job.yaml
    refuses 4 "$CYBELECTL" submit job.yaml --scheduler local
    assert_line --partial 'soybean.sif is not verified'
    assert_line 'more: cybelectl explain not-verified'
    assert_equal "$("$CYBELECTL" job list --format json | jq '.jobs | length')" 0
}
