# SPDX-License-Identifier: Apache-2.0
# What `cybelectl bridge` does where two of its features meet, on a real API server with its controller-manager and a real Slurm. Three
# minutes.
# shellcheck disable=SC2154,SC2317 # user is of bridge_parts.bash; functions for wait_for
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    cp "$(fixture)/hello-mpi.sif" image.sif
    kubectl create namespace night >&2
    printf '%s\n' "runtime: {program: cybelectl, path: $place/programs/cybelectl}" >>site.yaml
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log
    write_bridge
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

pod_is() { [[ $(kubectl get pod -n "${space:-default}" "$1" -o 'jsonpath={.status.phase}') == "$2" ]]; }
# requests VERB RESOURCE CODE: how many the API server has counted.
requests() {
    kubectl get --raw /metrics | grep "^apiserver_request_total{.*code=\"$3\".*resource=\"$2\".*verb=\"$1\"" | awk '{ sum += $NF } END { print sum + 0 }'
}

@test "two Bridges of one cluster with one account and one prefix: each follows its own jobs, and the second says that the nodes are not its own" {
    local one two
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: hall}' >>bridge.yaml
    sed 's/^name: test/name: second/; s/default/night/' bridge.yaml >second.yaml
    start_bridge one
    wait_for 60 kubectl get node hall-batch
    # A command of its own: the id must be that of the bridge.
    PATH=$place/commands:$PATH "$CYBELECTL" bridge run --config second.yaml >>two.log 2>&1 3>&- &
    echo $! >two.pid
    job day "sleep 40.$unique"
    space=night job dark "sleep 40.$unique"
    wait_for 60 pod_is day-job Running || { cat ./*.log && return 1; }
    space=night wait_for 60 pod_is dark-job Running || { cat ./*.log && return 1; }
    wait_for 40 grep -q 'Trouble: virtual nodes: node hall-batch was not made by this Bridge' two.log || { cat two.log && return 1; }
    assert_equal "$(kubectl get node hall-batch -o 'jsonpath={.metadata.labels.cybelectl\.io/bridge}')" test
    sleep 20 # longer than the pause between two looks at the pods of others
    assert_equal "$(kubectl get pods -A -o 'jsonpath={.items[?(@.status.reason=="NotServed")].metadata.name}')" ''
    for one in bridge second; do
        run -0 as_bridge "$CYBELECTL" bridge orphans --cancel --config "$one.yaml"
        assert_output ''
    done
    one=$(field day .status.jobId) two=$(space=night field dark .status.jobId)
    # The deletion of one leaves the other alone.
    kubectl delete slurmjob day --wait=true --timeout=60s
    assert_equal "$(slurm squeue -h -t all -j "$one,$two" -o '%i %T')" "$(printf '%s\n' "$one CANCELLED" "$two RUNNING")"
    assert_equal "$(grep -c Warning one.log two.log)" $'one.log:0\ntwo.log:0'
    space=night ends dark Succeeded 90
    stop_bridges
    kubectl delete slurmjobs --all -A --wait=false
    kubectl delete nodes,pods -A -l cybelectl.io/bridge --wait=false
}

@test "a namespace whose quota admits no pods: jobs run and end, and pods are not tried again at each poll" {
    local one before
    printf '%s\n' 'namespaces: [night]' 'virtual-nodes: {prefix: hall}' >>bridge.yaml
    sed -i 's/namespace: default/namespace: night/' bridge.yaml
    kubectl create quota none --hard=pods=0 -n night
    sleep 2
    start_bridge one
    for one in 1 2 3 4 5 6; do space=night directive='#SBATCH --mem=10 --output=/dev/null' job "tight-$one" 'sleep 15'; done
    for one in 1 2 3 4 5 6; do space=night ends "tight-$one" Running 60; done
    before=$(requests POST pods 403)
    sleep 8
    echo "$(($(requests POST pods 403) - before)) pods were tried within 8 s, at a poll of 1 s" >&3
    (($(requests POST pods 403) - before <= 1))
    grep -q 'Trouble: virtual nodes: namespace night admits no further pod' one.log
    for one in 1 2 3 4 5 6; do space=night ends "tight-$one" Succeeded 60; done
    kubectl delete quota none -n night
    kubectl delete slurmjobs --all -n night --wait=true --timeout=60s
}

# managed NAME COMMAND [SPEC]: an ordinary Job.
managed() {
    jq -n --arg name "$1" --arg command "$2" --arg image "$place/image.sif" "{apiVersion: \"batch/v1\", kind: \"Job\", metadata: {name: \$name},
        spec: ({managedBy: \"cybelectl.io/bridge\", template: {spec: {restartPolicy: \"Never\", containers: [
          {name: \"main\", image: \$image, command: [\"sh\", \"-c\", \$command]}]}}} + {${3:-}})}" | kubectl create -f -
}
of() { kubectl get job "$1" -o "jsonpath={$2}"; }
is_at() { [[ $(of "$1" ".status.conditions[?(@.type==\"$2\")].status") == "${3:-True}" ]]; }
becomes() { wait_for "${3:-60}" is_at "$1" "$2" || { kubectl get job "$1" -o yaml && cat ./*.log && return 1; }; }
record() { of "$1" '.status.conditions[?(@.type=="BatchJob")].message' | jq -r "$2"; }
is_running() { [[ $(of "$1" .status.ready) == 1 ]]; }

@test "ordinary Jobs over restarts: no pods, several pods, suspended, deleted while no bridge runs, and a TTL of 0" {
    local id
    printf '%s\n' 'managed-jobs: true' >>bridge.yaml
    start_bridge one
    managed none true 'parallelism: 0'
    managed many true 'parallelism: 3, completions: 1'
    # shellcheck disable=SC2016 # of the job
    managed indexed 'echo "index $JOB_COMPLETION_INDEX"' 'completions: 1, completionMode: "Indexed"'
    managed paused 'sleep 1' 'suspend: true'
    managed unwanted 'sleep 1' 'suspend: true'
    managed stays "sleep 300.$unique"
    managed short 'sleep 12' 'ttlSecondsAfterFinished: 0'
    becomes paused Suspended
    becomes unwanted Suspended
    becomes indexed Complete
    for one in none many; do
        becomes "$one" Failed
        [[ $(of "$one" '.status.conditions[?(@.type=="Failed")].message') == *'several pods'* ]]
    done
    wait_for 60 is_running stays
    wait_for 60 is_running short || { kubectl get job short -o yaml && cat one.log && return 1; }
    id=$(record stays .jobId)
    stop_bridge one KILL
    kubectl delete job stays unwanted --wait=false
    kubectl patch job paused --type merge -p '{"spec": {"suspend": false}}'
    sleep 10 # `short` ends meanwhile
    rm -f calls
    start_bridge two
    becomes paused Complete
    is_gone() { ! kubectl get job "$1" 2>/dev/null; }
    for one in stays unwanted short; do wait_for 60 is_gone "$one" || { kubectl get job "$one" -o yaml && cat two.log && return 1; }; done
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    assert_equal "$(asked sbatch)" 1 # of paused
    kubectl delete jobs --all --wait=true --timeout=60s
    assert_equal "$(in_queue)" ''
}

@test "a running Job that is suspended keeps its state over a restart, and its end is that of its batch job" {
    printf '%s\n' 'managed-jobs: true' >>bridge.yaml
    start_bridge one
    managed late 'sleep 15'
    wait_for 60 is_running late
    kubectl patch job late --type merge -p '{"spec": {"suspend": true}}'
    wait_for 30 is_at late Suspended False || { kubectl get job late -o yaml && cat one.log && return 1; }
    stop_bridge one KILL
    start_bridge two
    becomes late Complete
    assert_equal "$(asked sbatch)" 1
    assert_equal "$(grep -c Trouble two.log)" 0 || { cat two.log && return 1; }
    kubectl delete job late --wait=true --timeout=60s
}

@test "the view is removed from a Bridge that runs: jobs run on, their pods and nodes can go, and the view can come back" {
    local id
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: hall}' >>bridge.yaml
    start_bridge one
    job kept "sleep 300.$unique"
    wait_for 60 pod_is kept-job Running || { cat one.log && return 1; }
    id=$(field kept .status.jobId)
    sed -i '/^virtual-nodes/d' bridge.yaml
    wait_for 40 grep -q Reloading one.log
    sleep 3
    kubectl delete nodes,pods -A -l cybelectl.io/bridge=test --wait=false
    sleep 15
    run ! kubectl get node hall-batch
    assert_equal "$(slurm squeue -h -j "$id" -o %T) $(field kept .status.status)" 'RUNNING Running'
    printf '%s\n' 'virtual-nodes: {prefix: hall}' >>bridge.yaml
    is_alone() { pod_is kept-job Running && [[ -z $(kubectl get pod kept-job -o 'jsonpath={.metadata.deletionTimestamp}') ]]; }
    wait_for 60 is_alone || { kubectl get pods -o yaml && cat one.log && return 1; }
    kubectl delete slurmjob kept --wait=true --timeout=60s
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    kubectl delete nodes,pods -A -l cybelectl.io/bridge --wait=false
}

@test "a job that is suspended on the cluster stays Running in the status, and its time limit ends it afterwards" {
    local id
    start_bridge one
    directive='#SBATCH --time=1 --output=/dev/null' job frozen "sleep 300.$unique"
    wait_for 60 reaches frozen Running
    id=$(field frozen .status.jobId)
    slurm scontrol suspend "$id"
    is_suspended() { [[ $(field frozen .status.state) == SUSPENDED ]]; }
    wait_for 20 is_suspended || { kubectl get slurmjob frozen -o yaml && cat one.log && return 1; }
    assert_equal "$(field frozen .status.status)" Running
    stop_bridge one KILL
    start_bridge two
    sleep 5
    assert_equal "$(field frozen .status.status)" Running
    slurm scontrol resume "$id"
    ends frozen Failed 150
    assert_equal "$(condition frozen Failed reason)" TimeLimit
    assert_equal "$(runs_of frozen)" 1
}

@test "what the cluster does not have: GPUs are refused in the words of the batch system, arrays before it is asked, and logs have no pod" {
    start_bridge one
    directive='#SBATCH --gres=gpu:1' job gpu true
    directive='#SBATCH --array=1-3' job array true
    directive='#SBATCH -a 1-3' job array-short true
    ends gpu Failed
    ends array Failed
    ends array-short Failed
    assert_equal "$(condition gpu Failed reason) $(condition array Failed reason) $(condition array-short Failed reason)" \
        'Refused DirectiveRefused DirectiveRefused'
    [[ $(condition gpu Failed message) == *[Gg]eneric*resource* ]]
    run kubectl logs -f array-job
    assert_failure
    assert_equal "$(asked sbatch)" 1
    kubectl delete slurmjobs --all --wait=true --timeout=60s
}

@test "a queue whose name is no name of a node has one all the same, with its jobs" {
    slurm scontrol create partitionname=GPU_a100 nodes=ALL state=UP
    cp site.yaml usual.yaml
    sed -i 's/^queues: .*/queues: [{name: batch, nodes: 2, max-time: 1 h}, {name: GPU_a100, nodes: 2}]/' site.yaml
    printf '%s\n' 'namespaces: [default]' 'virtual-nodes: {prefix: hall}' >>bridge.yaml
    start_bridge one
    wait_for 60 kubectl get node hall-gpu-a100 || { cat one.log && return 1; }
    directive='#SBATCH --partition=GPU_a100 --output=/dev/null' job there 'sleep 10'
    wait_for 60 pod_is there-job Running || { kubectl get pods -o yaml && cat one.log && return 1; }
    assert_equal "$(kubectl get pod there-job -o 'jsonpath={.spec.nodeName}')" hall-gpu-a100
    assert_equal "$(kubectl get node hall-gpu-a100 -o 'jsonpath={.metadata.labels.cybelectl\.io/queue}')" GPU_a100
    ends there Succeeded
    assert_equal "$(grep -c Trouble one.log)" 0 || { cat one.log && return 1; }
    mv usual.yaml site.yaml
    kubectl delete slurmjobs --all --wait=true --timeout=60s
}
