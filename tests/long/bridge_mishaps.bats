# SPDX-License-Identifier: Apache-2.0
# What may happen to a job, to Slurm and to a bridge that is stopped for a time: `cybelectl bridge run` on a real API server and a real
# Slurm. Ten minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

setup_file() {
    export BATS_TEST_TIMEOUT=600
    start_bridge_parts
}
setup() {
    enter_nodes
    rm -f ran calls ./*.log before-*
    write_bridge
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: {dialect: slurm, patience: 5 s}' 'queues: [{name: batch, nodes: 2, max-time: 1 h}]' >site.yaml
}
teardown() {
    local file
    for file in *.pid; do [[ ! -e $file ]] || kill -CONT "$(cat "$file")" 2>/dev/null || true; done
    stop_bridges
}
teardown_file() { stop_bridge_parts; }

# is_followed NAME: its job was let go.
is_followed() { [[ $(field "$1" .status.state) == [PR][EU]N* ]]; }
has_reason() { [[ $(field "$1" .status.reason) == "$2" ]]; }

@test "a bridge that is stopped for a minute in the middle of a hand-over does nothing when it wakes, and the other one finished it" {
    local name
    for name in sbatch scontrol; do
        rm -f ./*.log calls before-*
        # The first call stops the bridge; the call itself is made.
        printf '%s\n' '#!/bin/sh' "mv '$place/before-$name' '$place/used-$name'" "kill -STOP \$(cat '$place/one.pid')" 'exit 0' >"before-$name"
        chmod +x "before-$name"
        start_bridge one
        wait_for 60 grep -q Leading one.log
        start_bridge two
        job "asleep-$name" "while [ ! -e $place/woken-$name ]; do sleep 1; done"
        is_stopped() { [[ -e used-$name && $(cut -d ' ' -f 3 "/proc/$(cat one.pid)/stat") == T ]]; }
        wait_for 30 is_stopped
        wait_for 90 reaches "asleep-$name" Running || { cat ./*.log && return 1; }
        grep -q "asleep-$name" two.log
        sleep 20
        kill -CONT "$(cat one.pid)"
        wait_for 20 grep -q Standby one.log
        sleep 5
        touch "woken-$name"
        ends "asleep-$name" Succeeded 60
        assert_equal "$(runs_of "asleep-$name")" 1
        assert_equal "$(in_queue)" ''
        assert_equal "$(asked sbatch)" 1
        stop_bridge one
        stop_bridge two
    done
}

@test "a node that fails: the job that may be requeued is the same object with one restart, the other one is Failed with NodeFail" {
    local id
    start_bridge one
    directive="#SBATCH --requeue"$'\n'"    #SBATCH --nodelist=n1 --mem=10" job again \
        "[ -e $place/once-more ] || { touch $place/once-more && sleep 300.$unique; }"
    directive="#SBATCH --no-requeue"$'\n'"    #SBATCH --nodelist=n1 --mem=10" job once "sleep 300.$unique"
    wait_for 60 reaches again Running
    wait_for 60 reaches once Running
    id=$(field again .status.jobId)
    slurm scontrol update nodename=n1 state=down reason=test
    has_restarted() { [[ $(field again .status.restarts) == 1 ]]; }
    wait_for 60 has_restarted || { kubectl get slurmjob again -o yaml && slurm squeue && return 1; }
    ends once Failed 120
    assert_equal "$(condition once Failed reason)" NodeFail
    slurm scontrol update nodename=n1 state=resume || slurm sinfo -h -N -n n1 -o %T | grep -qE "idle|mix" # by itself
    slurm scontrol update jobid="$id" starttime=now || true                                               # it may run again already
    ends again Succeeded 200
    assert_equal "$(field again .status.jobId) $(runs_of again) $(condition again Complete status)" "$id 2 True"
    assert_equal "$(asked sbatch)" 2
}

@test "nodes that are drained and a partition that is down: the reason is in the status, and the jobs are left as they are" {
    local id
    start_bridge one
    job runs "while [ ! -e $place/over ]; do sleep 1; done"
    wait_for 60 reaches runs Running
    id=$(field runs .status.jobId)
    slurm scontrol update partitionname=batch state=DOWN
    job waits
    wait_for 60 has_reason waits PartitionDown || { kubectl get slurmjob waits -o yaml && return 1; }
    slurm scontrol update partitionname=batch state=UP
    slurm scontrol update nodename=n1,n2 state=drain reason=maintenance
    directive='#SBATCH --nodes=2' job wide
    is_told() { [[ $(field wide .status.reason) == *Nodes* || $(field wide .status.reason) == Resources || $(field wide .status.reason) == Priority ]]; }
    wait_for 60 is_told || { kubectl get slurmjob wide -o yaml && return 1; }
    echo "drained: $(field wide .status.reason)" >&3
    assert_equal "$(slurm squeue -h -j "$id" -o %T) $(field runs .status.status)" 'RUNNING Running'
    slurm scontrol update nodename=n1,n2 state=resume
    touch over
    for one in runs waits wide; do ends "$one" Succeeded 90; done
    assert_equal "$(sort ran | uniq -c | awk '$1 != 1')" ''
}

@test "jobs that Slurm forgot while no bridge was there: Failed with LeftNoTrace, phase Unknown, never Succeeded; one inquiry per poll for all" {
    local one count=12
    sed -i 's/^ClusterName/MinJobAge=2\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
    start_bridge one
    for one in $(seq $count); do directive="#SBATCH --output=/dev/null --mem=10" job "lost-$one" "while [ ! -e $place/may-end ]; do sleep 1; done"; done
    for one in $(seq $count); do wait_for 60 is_followed "lost-$one"; done
    stop_bridge one KILL
    touch may-end
    assert_equal "$(asked sbatch)" $count
    are_forgotten() { [[ $(slurm scontrol -o show job 2>/dev/null | grep -c JobId) == 0 ]]; }
    wait_for 240 are_forgotten
    rm calls
    start_bridge two
    is_settled() { [[ $(condition "$1" Failed status) == True ]]; }
    for one in $(seq $count); do wait_for 150 is_settled "lost-$one" || { kubectl get slurmjob "lost-$one" -o yaml && cat two.log && return 1; }; done
    for one in $(seq $count); do
        assert_equal "$(condition "lost-$one" Failed reason) $(field "lost-$one" .status.status) $(condition "lost-$one" Complete status)" 'LeftNoTrace Unknown '
    done
    assert_equal "$(asked sbatch)" 0
    echo "$count jobs were missing: $(asked squeue) queries of the queue, $(asked sacct) of the accounting, $(asked scontrol) of jobs" >&3
    (($(asked sacct) >= 1 && $(asked sacct) <= $(asked squeue) && $(asked scontrol) <= $(asked squeue)))
    sed -i '/^MinJobAge/d' slurm/slurm.conf
    slurm scontrol reconfigure
}

@test "an id that Slurm gives again after it lost its state is another job: the object does not take its end, and does not cancel it" {
    local id next other=0 one pid
    for _ in 1 2 3; do slurm sbatch --chdir "$place/work" --output=/dev/null --wrap true; done # so that ids are large enough
    start_bridge one
    job first "sleep 300.$unique"
    wait_for 60 reaches first Running
    job next "sleep 300.$unique"
    wait_for 60 reaches next Running
    id=$(field first .status.jobId)
    next=$(field next .status.jobId)
    pid=$(slurm sh -c 'cat "${SLURM_CONF%/*}/ctld.pid"')
    slurm kill -TERM "$pid"
    is_down() { ! slurm kill -0 "$pid" 2>/dev/null; } # it writes its state last
    wait_for 30 is_down
    # Nothing of the old state; ids begin a little before it.
    rm -f slurm/ctld/job_state*
    sed -i "/^FirstJobId/d; s/^ClusterName/FirstJobId=$((id - 2))\n&/" slurm/slurm.conf
    slurm sh -c 'setsid slurmctld -c -D </dev/null >/dev/null 2>&1 &'
    is_up() { slurm sinfo -h -o %T -N | grep -qE 'idle|mix'; }
    wait_for 60 is_up
    while ((other < id)); do
        other=$(slurm sbatch --parsable --mem=10 --chdir "$place/work" --output=/dev/null --wrap "sleep 300.$unique")
    done
    assert_equal "$other" "$id"
    # One that lives, and one that ends well.
    assert_equal "$(slurm sbatch --parsable --mem=10 --chdir "$place/work" --output=/dev/null --wrap true)" "$next"
    is_settled() { [[ $(condition "$1" Failed status) == True || $(condition "$1" Complete status) == True ]]; }
    for one in first next; do
        wait_for 150 is_settled "$one" || { kubectl get slurmjob "$one" -o yaml && cat one.log && return 1; }
        assert_equal "$(condition "$one" Failed reason) $(field "$one" .status.status)" 'LeftNoTrace Unknown'
    done
    assert_equal "$(slurm squeue -h -t all -j "$next" -o %T)" COMPLETED
    kubectl delete slurmjob first next --wait=true --timeout=60s
    job second "sleep 2.$unique"
    ends second Succeeded 90
    [[ $(field second .status.jobId) != "$id" ]]
    assert_equal "$(slurm squeue -h -j "$other" -o %T)" RUNNING
    slurm scancel -u "$user"
}

@test "clocks an hour apart: a Lease from the future or the past is taken after 30 s of silence, and a forged time ends nothing" {
    local hours start
    for hours in 1 -1; do
        kubectl delete lease cybelectl-bridge-test --ignore-not-found
        kubectl create -f - <<END
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: cybelectl-bridge-test},
 spec: {holderIdentity: elsewhere, leaseDurationSeconds: 30, renewTime: "$(date -u -d "$hours hour" +%Y-%m-%dT%H:%M:%S.%6NZ)"}}
END
        start=$SECONDS
        start_bridge "clock$hours"
        wait_for 60 grep -q Leading "clock$hours.log"
        echo "$hours h: leading after $((SECONDS - start)) s" >&3
        ((SECONDS - start >= 25 && SECONDS - start <= 45))
        job "timed$((hours + 1))" "sleep 3.$unique"
        wait_for 60 reaches "timed$((hours + 1))" Running
        # A start that the cluster never saw.
        kubectl patch slurmjob "timed$((hours + 1))" --subresource status --type merge \
            -p "{\"status\": {\"startTime\": \"$(date -u -d "$hours hour" +%Y-%m-%dT%H:%M:%SZ)\"}}"
        ends "timed$((hours + 1))" Succeeded 60
        stop_bridge "clock$hours"
    done
    assert_equal "$(asked sbatch)" 2
}

@test "a script of 256 KiB is handed over byte for byte, and one byte more is refused with its size" {
    local size
    start_bridge one
    for size in 262144 262145; do
        {
            printf '%s\n' '#!/bin/sh' '#SBATCH --output=/dev/null' "echo size-$size >>$place/ran"
            printf '#'
            head -c 300000 /dev/zero | tr '\0' x
        } | head -c "$size" >"script-$size"
        jq -n --arg name "size-$size" --rawfile batch "script-$size" \
            '{apiVersion: "cybelectl.io/v1alpha1", kind: "SlurmJob", metadata: {name: $name}, spec: {batch: $batch}}' >"size-$size.json"
    done
    kubectl create -f size-262144.json
    ends size-262144 Succeeded 60
    cmp script-262144 "work/.cybelectl/$(field size-262144 .metadata.uid)/claim-1/job.sh"
    assert_equal "$(runs_of size-262144)" 1
    run kubectl create -f size-262145.json
    assert_failure
    assert_output --partial 262144
}

@test "a deleted object whose finalizer is taken off by force: its job is cancelled; an object with a TTL goes after its end by itself" {
    local id
    start_bridge one
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: brief}' \
        "spec: {ttlSecondsAfterFinished: 2, batch: \"#!/bin/sh\\n#SBATCH --output=/dev/null\\necho brief >>$place/ran\\n\"}" | kubectl create -f -
    job forced "sleep 300.$unique"
    wait_for 60 reaches forced Running
    id=$(field forced .status.jobId)
    # The batch system does not obey while the object goes.
    printf '%s\n' '#!/bin/sh' 'exit 1' >before-scancel
    chmod +x before-scancel
    kubectl delete slurmjob forced --wait=false
    kubectl patch slurmjob forced --type merge -p '{"metadata": {"finalizers": []}}'
    is_gone() { ! kubectl get slurmjob "$1" 2>/dev/null; }
    wait_for 20 is_gone forced
    rm before-scancel
    is_cancelled() { [[ $(slurm squeue -h -t all -j "$id" -o %T) == CANCELLED ]]; }
    wait_for 60 is_cancelled || { slurm squeue && cat one.log && return 1; }
    wait_for 60 is_gone brief
    assert_equal "$(runs_of brief)" 1
    assert_equal "$(in_queue)" ''
}

@test "records that were removed while no bridge ran: jobs that live are found by the queue and end right, and new ones are handed over" {
    local id
    start_bridge one
    job lives 'while [ ! -e lives-may-end ]; do sleep 0.5; done' 'exit 3'
    job brief-too 'exit 0'
    wait_for 60 reaches lives Running
    ends brief-too Succeeded 60
    id=$(field lives .status.jobId)
    stop_bridge one
    rm -r work/.cybelectl
    start_bridge two
    job after true
    ends after Succeeded 60
    touch work/lives-may-end
    ends lives Failed 60
    assert_equal "$(field lives .status.jobId) $(field lives .status.exitCode)" "$id 3"
    assert_equal "$(runs_of lives) $(runs_of brief-too) $(runs_of after) $(asked sbatch)" '1 1 1 3'
    # Without its workdir an account has no place for records: its objects say so, and go on when it is back.
    job cut "sleep 300.$unique"
    wait_for 60 reaches cut Running
    mv work away
    job hindered true
    is_hindered() { [[ $(condition hindered Submitted status) == False && $(condition hindered Submitted message) == *'work cannot be read'* ]]; }
    wait_for 60 is_hindered || { kubectl get slurmjob hindered -o yaml && cat two.log && return 1; }
    assert_equal "$(field cut .status.status)" Running
    mkdir work
    ends hindered Succeeded 90
    kubectl delete slurmjob cut --wait=true --timeout=60s
    assert_equal "$(in_queue)" ''
}
