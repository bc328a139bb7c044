# SPDX-License-Identifier: Apache-2.0
# Rendered files judged by the programs that read them: Slurm's qsub and kubectl.
load ../parts/suite.bash

setup() {
    work_place
    write_job demo 'command: [hello-mpi]' 'launch: mpi' \
        'resources: {nodes: 2, tasks-per-node: 2, cpus-per-task: 2, time: 90 min}' 'queue: batch' 'account: lab'
}
teardown() { leave_place; }

@test "qsub reads the TORQUE head as 2 nodes of 4 slots, 90 minutes, queue and account" {
    "$CYBELECTL" job render demo.yaml --scheduler torque -o demo.sh
    run "$parts_dir/qsub" sbatchline demo.sh
    assert_success
    for word in -N2 -n8 -t90 '-p batch' '-J demo' 'lab'; do
        assert_output --partial -- "$word"
    done
}

@test "kubectl decodes the TorqueJob, and its batch is the rendered script byte for byte" {
    "$CYBELECTL" kube render demo.yaml --kind TorqueJob -o demo.torquejob.yaml
    run kubectl label --local -f demo.torquejob.yaml judged=yes -o json --dry-run=client
    assert_success
    jq -e '.kind == "TorqueJob" and .metadata.name == "demo"' <<<"$output"
    jq -j '.spec.batch' <<<"$output" >batch
    "$CYBELECTL" job render demo.yaml --scheduler torque >script
    cmp batch script
}

@test "a script with every awkward character survives the yaml" {
    printf '%s\n' "command: [echo, \"a: b # c\", \"'\", \"\\\\\", \"é\", \"%\", \"{{x}}\", \" lead\", \"trail \"]" >tail
    grep -v '^command' demo.yaml >awkward.yaml
    cat tail >>awkward.yaml
    "$CYBELECTL" kube render awkward.yaml --kind TorqueJob >t.yaml
    kubectl label --local -f t.yaml judged=yes -o json --dry-run=client | jq -j .spec.batch >batch
    "$CYBELECTL" job render awkward.yaml --scheduler torque >script
    cmp batch script
}

@test "openssl verifies what the image's signature says" {
    copy_fixture
    run "$CYBELECTL" verify hello-mpi.sif --key demo.pub --format json
    assert_success
    jq -e 'type == "object"' <<<"$output"
    openssl pkey -pubin -in demo.pub -noout
    openssl pkey -in demo.pem -pubout | cmp - demo.pub
}

@test "the file system in the image is one that unsquashfs reads" {
    copy_fixture
    local offset
    offset=$(grep -abom1 'hsqs' hello-mpi.sif | cut -d: -f1)
    run unsquashfs -l -o "$offset" hello-mpi.sif
    assert_success
    for path in .singularity.d/runscript .singularity.d/actions/run .singularity.d/env/90-environment.sh .singularity.d/labels.json; do
        assert_line "squashfs-root/$path"
    done
}
