# SPDX-License-Identifier: Apache-2.0
# Two namespaces with two accounts of a real Slurm at the same time, each by a way of its own. Three minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash

setup_file() {
    start_bridge_parts
    kubectl create namespace physics >&2
    kubectl create namespace biology >&2
    mkdir ways guest-home
    # The login of the user guest: a command in place of ssh, since the head node has a network of its own.
    # shellcheck disable=SC2016 # of the script that is written
    printf '%s\n' '#!/bin/bash' 'case $1 in -O) exit 0 ;; esac' \
        "exec '$parts_dir/slurm' exec '$place' setpriv --reuid=61234 --regid=61234 --clear-groups env HOME='$place/guest-home' PATH=/usr/local/bin:/usr/bin:/bin sh -c \"\${!#}\"" >ways/ssh
    chmod +x ways/ssh
    chmod 700 work
    chown 61234:61234 guest-home
    chmod 700 guest-home
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'poll: 1 s' 'hand-over-patience: 4 s' 'accounts:' \
        "  - {namespace: physics, account: $user, workdir: $place/work}" \
        "  - {namespace: biology, account: guest, way: {ssh: guest@head}, workdir: $place/guest-home}" >bridge.yaml
}
setup() {
    [[ $(id -u) == 0 ]] || skip 'only root can be two users'
    enter_nodes
    PATH=$place/ways:$PATH
    rm -f calls ./*.log
}
teardown() { stop_bridges; }
teardown_file() { stop_bridge_parts; }

# jobs_of SPACE FOLDER COUNT: objects whose jobs write who they are, and try to read the other's folder.
jobs_of() {
    local one
    for one in $(seq "$3"); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1-$one, namespace: $1}" 'spec:' '  batch: |' \
            '    #!/bin/sh' "    #SBATCH --output=$2/$1-$one.out --mem=10" '    id -u' "    ls '$place/work'/.cybelectl '$place/guest-home'/.cybelectl >/dev/null 2>&1 || echo closed" \
            '    env | grep -c -E "KUBE|eyJ|TOKEN" || true'
    done | kubectl create -f - >&2
}
ended() { kubectl get slurmjobs -n "$1" -o 'jsonpath={range .items[*]}{.status.status}{"\n"}{end}' | grep -c Succeeded || true; }
have_ended() { (($(ended "$1") == $2)); }

@test "50 jobs of each of two accounts at the same time belong to the right one, which sees neither the other's records nor a token" {
    local one
    start_bridge one
    jobs_of physics "$place/work" 50 &
    jobs_of biology "$place/guest-home" 50
    wait $!
    wait_for 480 have_ended physics 50 || { cat one.log && return 1; }
    wait_for 240 have_ended biology 50 || { cat one.log && return 1; }
    for one in $(seq 50); do
        assert_equal "$(cat "guest-home/biology-$one.out")" $'61234\nclosed\n0'
        assert_equal "$(sed '/^closed$/d' "work/physics-$one.out")" "$(id -u)"$'\n0'
    done
    assert_equal "$(slurm squeue -h -t all -o %u | sort | uniq -c | awk '{ print $1, $2 }')" $'50 guest\n50 root'
    assert_equal "$(stat -c %u guest-home/.cybelectl/* | sort -u)" 61234
    assert_equal "$(kubectl get slurmjobs -A -o 'jsonpath={range .items[*]}{.metadata.namespace} {.status.account}{"\n"}{end}' | sort -u)" \
        $'biology guest\nphysics root'
}

# is_running NAME: an object of physics.
is_running() { [[ $(kubectl get slurmjob -n physics "$1" -o 'jsonpath={.status.status}') == Running ]]; }

@test "a forged id of another account's job reaches nothing" {
    local id
    start_bridge one
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: victim, namespace: physics}' \
        "spec: {batch: \"#!/bin/sh\\nsleep 100.$unique\\n\"}" | kubectl create -f -
    wait_for 40 is_running victim
    id=$(kubectl get slurmjob -n physics victim -o 'jsonpath={.status.jobId}')
    stop_bridge one
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: thief, namespace: biology, finalizers: [cybelectl.io/batch-job]}' \
        'spec: {batch: "#!/bin/sh\ntrue\n"}' | kubectl create -f -
    kubectl patch slurmjob -n biology thief --subresource status --type merge \
        -p "{\"status\": {\"jobId\": \"$id\", \"submitToken\": \"$(kubectl get slurmjob -n biology thief -o 'jsonpath={.metadata.uid}')\", \"account\": \"guest\", \"status\": \"Running\", \"state\": \"RUNNING\"}}"
    kubectl delete slurmjob -n biology thief --wait=false
    start_bridge two
    sleep 15
    assert_equal "$(slurm squeue -h -j "$id" -o '%T %u')" "RUNNING $user"
    kubectl delete slurmjob -n physics victim --wait=true --timeout=60s
}

@test "a forged account of another namespace reaches nothing" {
    local uid
    cp bridge.yaml usual.yaml
    sed -i "s|account: $user, workdir: $place/work}|account: $user, workdir: $place/work, results-roots: [$place/work/results]}|" bridge.yaml
    echo secret >work/secret
    # What only the other account can read, as results and as the last of the output; and a job of its own that would be cancelled.
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: NAME, namespace: biology, finalizers: [cybelectl.io/batch-job]}' 'spec:' \
        "  results: {from: $place/work/secret, mount: {name: data, hostPath: {path: $place/work/results/stolen}}}" '  batch: |' '    #!/bin/sh' \
        "    #SBATCH --output=$place/work/secret" '    true' >thief.yaml
    for one in copies reads; do
        sed "s/NAME/$one/" thief.yaml | sed "$([[ $one == copies ]] || echo /results:/d)" | kubectl create -f -
        uid=$(kubectl get slurmjob -n biology "$one" -o 'jsonpath={.metadata.uid}')
        mkdir -p "work/.cybelectl/$uid"
        echo '{"code": 0, "ended": 1000}' >"work/.cybelectl/$uid/exit.json"
        kubectl patch slurmjob -n biology "$one" --subresource status --type merge -p "{\"status\": {\"jobId\": \"999999\", \"submitToken\": \"$uid\",
            \"account\": \"$user\", \"status\": \"Succeeded\", \"state\": \"COMPLETED\"$([[ $one == reads ]] || echo ', "conditions": [{"type": "Complete",
            "status": "True", "reason": "Completed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]')}}"
    done
    start_bridge one
    has_reason() { [[ $(kubectl get slurmjob -n biology copies -o 'jsonpath={.status.conditions[?(@.type=="ResultsCollected")].reason}') == NoAccount ]]; }
    wait_for 40 has_reason || { kubectl get slurmjob -n biology copies -o yaml && cat one.log && return 1; }
    sleep 8
    assert_not_exist work/results/stolen
    run ! grep secret <(kubectl get slurmjobs -n biology copies reads -o 'jsonpath={.items[*].status.tail}')
    kubectl delete slurmjob -n biology reads --wait=false
    is_waiting() { [[ $(kubectl get slurmjob -n biology reads -o 'jsonpath={.status.conditions[?(@.type=="Cancelling")].reason}') == NoAccount ]]; }
    wait_for 40 is_waiting || { kubectl get slurmjob -n biology reads -o yaml && cat one.log && return 1; }
    run -0 as_bridge "$CYBELECTL" bridge forget biology/reads
    kubectl delete slurmjob -n biology copies --wait=true --timeout=20s
    mv usual.yaml bridge.yaml
}

# has_ended SPACE NAME
has_ended() { [[ $(kubectl get slurmjob -n "$1" "$2" -o 'jsonpath={.status.status} {.status.exitCode}') == 'Succeeded 0' ]]; }

@test "where users do not see each other's jobs, each account lists its own: jobs run, end and are cancelled as elsewhere" {
    local id one
    cp bridge.yaml usual.yaml
    sed -i 's/^poll: 1 s/&\nreader: {ssh: guest@head}/' bridge.yaml
    sed -i 's/^ClusterName/PrivateData=jobs\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
    start_bridge one
    for one in runs doomed; do
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $one, namespace: physics}" \
            "spec: {batch: \"#!/bin/sh\nwhile [ ! -e $place/work/may-end ]; do sleep 0.5; done\n\"}" | kubectl create -f -
    done
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: own, namespace: biology}' \
        'spec: {batch: "#!/bin/sh\nexit 0\n"}' | kubectl create -f -
    wait_for 60 is_running runs || { kubectl get slurmjob -n physics runs -o yaml && cat one.log && return 1; }
    wait_for 60 is_running doomed
    id=$(kubectl get slurmjob -n physics doomed -o 'jsonpath={.status.jobId}')
    # The reader sees none of them.
    assert_equal "$(ssh guest@head 'squeue -h -o %u' | sort -u | grep -vx guest)" ''
    # After a restart too.
    stop_bridge one KILL
    start_bridge two
    kubectl delete slurmjob -n physics doomed --wait=true --timeout=120s
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    touch work/may-end
    wait_for 60 has_ended physics runs || { kubectl get slurmjob -n physics runs -o yaml && cat two.log && return 1; }
    wait_for 60 has_ended biology own
    assert_equal "$(in_queue)" ''
    # A job without an object is found, and proven to have ended, by its own account.
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: lost, namespace: physics}' \
        "spec: {batch: \"#!/bin/sh\nsleep 300.$unique\n\"}" | kubectl create -f -
    wait_for 60 is_running lost || { kubectl get slurmjob -n physics lost -o yaml && cat two.log && return 1; }
    id=$(kubectl get slurmjob -n physics lost -o 'jsonpath={.status.jobId}')
    stop_bridge two KILL
    kubectl patch slurmjob -n physics lost --type merge -p '{"metadata": {"finalizers": []}}'
    kubectl delete slurmjob -n physics lost --wait=true --timeout=20s
    run -0 as_bridge "$CYBELECTL" bridge orphans
    assert_output --partial "job $id of $user, RUNNING, of physics/lost"
    run -0 as_bridge "$CYBELECTL" bridge check
    assert_line --partial 'queue: '
    refute_line --partial 'queue: 0 jobs'
    run -0 as_bridge "$CYBELECTL" bridge orphans --cancel
    assert_line '1 cancelled'
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    # An account that cannot be asked is no account without jobs.
    mv ways/ssh ways/away
    printf '%s\n' '#!/bin/sh' 'exit 255' >ways/ssh
    chmod +x ways/ssh
    sed 's/^reader:.*/reader: commands/' bridge.yaml >blind.yaml
    run -5 as_bridge "$CYBELECTL" bridge orphans --config blind.yaml
    assert_line 'error: the jobs of guest cannot be listed'
    mv ways/away ways/ssh
    mv usual.yaml bridge.yaml
    sed -i '/^PrivateData/d' slurm/slurm.conf
    slurm scontrol reconfigure
}
