# SPDX-License-Identifier: Apache-2.0
# Where `submit` puts a Job: the cluster, or Kubernetes by a bridge's yaml. Seconds. That a real API server takes it: integration/kubernetes.bats.
load ../parts/suite.bash

setup() {
    work_place
    printf '%s\n' 'kind: Job' 'name: wheat' 'command: [hostname]' 'workdir: /tmp' 'queue: batch' 'resources: {time: 10 min}' >job.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: slurm, through: {ssh: login.hall.example}}' \
        'queues: [{name: batch, nodes: 2, cores-per-node: 4, max-time: 1 h}]' \
        'kubernetes: {bridge: cybelectl, connector: {image: "registry.example/mirror:1", credentials: hall-login}}' >site.yaml
}
teardown() { leave_place; }

submit() { "$CYBELECTL" submit job.yaml --site site.yaml "$@"; }
target_of() { submit --target auto --explain --format json | jq -r '.target + " " + ."decided-by"'; }

@test "--kube writes what kube render writes, and submits nothing" {
    submit --kube >one.yaml
    "$CYBELECTL" kube render job.yaml --site site.yaml >two.yaml
    cmp one.yaml two.yaml
    submit --kube --kind MirrorJob --namespace crops >one.yaml
    "$CYBELECTL" kube render job.yaml --site site.yaml --kind MirrorJob -n crops >two.yaml
    cmp one.yaml two.yaml
    submit --target kubernetes --kind MirrorJob --namespace crops --dry-run | cmp - two.yaml
    run "$CYBELECTL" job list --all
    refute_output --partial wheat
}

@test "--apply without kubectl says how to do without; what cannot be followed is refused" {
    mkdir none
    PATH=$place/none refuses 5 "$CYBELECTL" submit job.yaml --site site.yaml --kube --apply
    assert_line --partial "the program 'kubectl' is not here"
    assert_line --partial 'cybelectl submit JOB --kube'
    PATH=$place/none refuses 5 "$CYBELECTL" submit job.yaml --site site.yaml --target kubernetes
    run submit --kube --wait
    assert_equal "$status" 255
    assert_line --partial 'is not waited for'
    refuses 2 "$CYBELECTL" submit job.yaml --site site.yaml --token-command true
    assert_line --partial 'is for REST services'
    run submit --apply
    assert_equal "$status" 2
}

@test "--explain prints the rule with its reasons; the first that says something decides" {
    assert_equal "$(target_of)" 'kubernetes tie'
    sed -i 's/^resources:.*/launch: mpi\nresources: {nodes: 2}/' job.yaml
    assert_equal "$(target_of)" 'cluster nodes'
    run submit --target auto --explain -N 3 # the queue has two nodes, and the bridge goes there, too
    assert_success
    assert_line --regexp '^\* ability +- +neither can; the cluster: .*; Kubernetes: '
    assert_line 'target: none'
    echo 'array: 0-3' >>job.yaml
    assert_equal "$(target_of)" 'cluster ability'
    refuses 3 submit --target auto -N 3
    assert_line --partial 'neither the cluster nor Kubernetes can run this Job'
    sed -i '/^kubernetes/d' site.yaml
    run submit --target auto --explain
    assert_line --partial 'the Site names no bridge'
    refuses 3 submit --target kubernetes
    assert_line --partial 'it is not known which object Kubernetes is to have'
    assert_line --partial 'help: name a Site with'
}

@test "the Job's own target counts, the option's wins, and the cluster is what is meant without both" {
    run submit --explain
    assert_line --regexp '^\* asked +cluster'
    echo "target: kubernetes" >>job.yaml
    submit --dry-run | grep -q '^kind: SlurmJob'
    run submit --explain
    assert_line 'target: kubernetes'
    submit --target cluster --dry-run | grep -q '^#SBATCH'
    sed -i 's/^target:.*/target: auto\nlaunch: mpi/' job.yaml
    refuses 3 submit --dry-run
    assert_line 'error: `target: auto` chose Kubernetes, and the Job has no image for it'
    assert_line --partial ' --> job.yaml:'
    submit --target kubernetes --dry-run | grep -q '^kind: SlurmJob'
    submit --dry-run -N 2 | grep -q '^#SBATCH --nodes=2'
}

@test "with an image for Kubernetes, auto chooses between two real sides by the size of the job, and says why" {
    sed -i 's|connector: .*|pod-cores: 8, pod-memory: 16 GiB, pod-time: 1 h}|; s/cores-per-node: 4, max-time: 1 h/cores-per-node: 64, max-time: 4 h/' site.yaml
    printf '%s\n' 'kind: Job' 'name: wheat' 'image: /data/wheat.sif' 'command: [train, "$HOME"]' 'target: auto' \
        'kubernetes: {image: registry.example/wheat:1}' 'resources: {cpus-per-task: 4, memory-per-node: 2 GiB, time: 30 min}' >job.yaml
    run --separate-stderr submit --dry-run
    assert_success
    assert_line --index 0 'apiVersion: batch/v1'
    assert_line --index 1 'kind: Job'
    assert_line --regexp '^ *image: "registry.example/wheat:1"$'
    assert_line --partial 'activeDeadlineSeconds: 1800'
    [[ $stderr == *'chose Kubernetes by the rule `tie`'*'because: '* ]]
    "$CYBELECTL" kube render job.yaml --kind Job -q | cmp - <(submit --dry-run -q)
    run submit --dry-run -c 16
    assert_line '#SBATCH --cpus-per-task=16'
    run submit --explain -c 16
    assert_line --regexp '^\* size +cluster +16 cores on a node are asked, one of Kubernetes has 8$'
    sed -i 's/2 GiB/32 GiB/' job.yaml
    assert_equal "$(target_of)" 'cluster size'
    sed -i 's/32 GiB/2 GiB/; s/30 min/2 h/' job.yaml
    run submit --explain
    assert_line --regexp '^\* time +cluster +it runs 7200 s, and pods are moved away after 3600 s$'
    sed -i 's/2 h/30 min/' job.yaml
    echo 'launch: mpi' >>job.yaml
    assert_equal "$(target_of)" 'cluster ability'
    sed -i '/^launch/d; /^kubernetes/d' job.yaml
    refuses 3 "$CYBELECTL" kube render job.yaml --kind Job
    assert_line 'error: a Job of Kubernetes needs `kubernetes.image`'
}
