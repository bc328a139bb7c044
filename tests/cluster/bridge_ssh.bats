# SPDX-License-Identifier: Apache-2.0
# `cybelectl bridge run` by ssh with a key of each account: a real API server, a real Slurm, and the sshd of its head node, which accepts
# a key or does not, and by sudo from one login. Ten minutes.
# shellcheck disable=SC2154 # unique is of suite.bash
load ../parts/suite.bash
load nodes.bash
load bridge_parts.bash
load bridge_guest.bash
load bridge_sshd.bash

setup_file() {
    start_bridge_parts
    kubectl create namespace other >&2
    # Each login is a new one, so that a key counts from the moment on at which it changes.
    start_sshd -o ControlMaster=no -o ControlPath=none
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'poll: 1 s' 'hand-over-patience: 4 s' \
        "reader: {ssh: root@127.0.0.1, key: $place/keys/root}" 'accounts:' \
        "  - {namespace: default, account: guest, way: {ssh: guest@127.0.0.1, key: $place/keys/guest}, workdir: $place/slurm/guest}" \
        "  - {namespace: other, account: root, way: {ssh: root@127.0.0.1, key: $place/keys/root}, workdir: $place/work}" >bridge.yaml
}
setup() {
    [[ $(id -u) == 0 ]] || skip 'only root can be two users'
    enter_nodes
    PATH=$place/ways:$PATH
    rm -f ./*.log
}
teardown() { stop_bridges; }
teardown_file() {
    stop_sshd
    stop_bridge_parts
}

# others_run NAME: an object of the other account ends meanwhile.
others_run() {
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1, namespace: other}" \
        "spec: {batch: \"#!/bin/sh\n#SBATCH --output=$place/work/$1.out\necho fine\n\"}" | kubectl create -f -
    has_ended() { [[ $(kubectl get slurmjob -n other "$1" -o 'jsonpath={.status.status}') == Succeeded ]]; }
    wait_for 180 has_ended "$1" || { cat one.log && return 1; }
}

@test "a key that the login host rejects: the objects of its account wait and say so, others go on, and each job runs once" {
    local id
    # Never accepted: nothing is handed over.
    cp keys/root.pub authorized/guest
    start_bridge one
    job first true
    others_run fine
    wait_for 180 is_hindered first Submitted || { kubectl get slurmjob first -o yaml && cat one.log && return 1; }
    assert_regex "$(condition first Submitted message)" "Permission denied [(]publickey"
    assert_equal "$(field first .status.jobId)$(slurm squeue -h -u guest -t all -o %i)" ''
    # Accepted from now on.
    cp keys/guest.pub authorized/guest
    ends first Succeeded 180
    job early 'while [ ! -e early-may-end ]; do sleep 0.5; done'
    job doomed "sleep 300.$unique"
    wait_for 180 reaches early Running || { cat one.log && return 1; }
    wait_for 180 reaches doomed Running
    id=$(field doomed .status.jobId)
    # Rejected again, while jobs run: the reader still sees them.
    cp keys/root.pub authorized/guest
    job late true
    kubectl delete slurmjob doomed --wait=false
    wait_for 180 is_hindered late Submitted || { kubectl get slurmjob late -o yaml && cat one.log && return 1; }
    wait_for 180 is_hindered doomed Cancelling || { kubectl get slurmjob doomed -o yaml && cat one.log && return 1; }
    assert_equal "$(slurm squeue -h -j "$id" -o %T)" RUNNING
    touch slurm/guest/early-may-end
    ends early Succeeded 180
    others_run fine-too
    # The key itself is gone.
    mv keys/guest keys/away
    job later true
    wait_for 180 is_hindered later Submitted || { kubectl get slurmjob later -o yaml && cat one.log && return 1; }
    assert_equal "$(field later .status.jobId)$(field late .status.jobId)" ''
    mv keys/away keys/guest
    cp keys/guest.pub authorized/guest
    ends late Succeeded 180
    ends later Succeeded 180
    is_gone() { ! kubectl get slurmjob doomed 2>/dev/null; }
    wait_for 180 is_gone
    assert_equal "$(slurm squeue -h -t all -j "$id" -o '%T %u')" 'CANCELLED guest'
    assert_equal "$(runs_of first) $(runs_of early) $(runs_of doomed) $(runs_of late) $(runs_of later)" '1 1 1 1 1'
    assert_equal "$(condition late Submitted status) $(in_queue)" 'True '
    run ! grep -h 'PRIVATE' one.log
    run ! grep 'PRIVATE' <(kubectl get slurmjobs,events -A -o yaml)
}

@test "an account's key is replaced while its jobs run: with both accepted in between, no object waits" {
    cp keys/guest.pub authorized/guest
    start_bridge one
    job before 'while [ ! -e before-may-end ]; do sleep 0.5; done'
    wait_for 180 reaches before Running || { cat one.log && return 1; }
    ssh-keygen -q -t ed25519 -N '' -C '' -f keys/next
    cat keys/next.pub >>authorized/guest
    mv keys/next keys/guest
    mv keys/next.pub keys/guest.pub
    cp keys/guest.pub authorized/guest
    job afterwards true
    ends afterwards Succeeded 180
    touch slurm/guest/before-may-end
    ends before Succeeded 180
    assert_equal "$(runs_of before) $(runs_of afterwards)" '1 1'
    run ! grep -E 'Trouble|Permission denied' one.log
}

@test "a login as another user than the account hands nothing over, and says so" {
    local one before
    cp keys/guest.pub authorized/guest
    cp bridge.yaml usual.yaml
    # Each account by the login of the other one, of which guest cannot even enter the folder.
    sed -i "s|way: {ssh: guest@127.0.0.1, key: $place/keys/guest}|way: {ssh: swapped}|; \
        s|account: root, way: {ssh: root@127.0.0.1, key: $place/keys/root}|account: root, way: {ssh: guest@127.0.0.1, key: $place/keys/guest}|; \
        s|{ssh: swapped}|{ssh: root@127.0.0.1, key: $place/keys/root}|" bridge.yaml
    chmod 700 work
    [[ -d slurm/guest/.cybelectl ]] || install -d -m 700 -o 61234 -g 61234 slurm/guest/.cybelectl
    before=$(find slurm/guest/.cybelectl work | sort)
    start_bridge one
    job confused true
    printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' 'metadata: {name: astray, namespace: other}' \
        'spec: {batch: "#!/bin/sh\ntrue\n"}' | kubectl create -f -
    wait_for 180 is_hindered confused Submitted || { kubectl get slurmjob confused -o yaml && cat one.log && return 1; }
    space=other wait_for 180 is_hindered astray Submitted || { kubectl get slurmjobs -A -o yaml && cat one.log && return 1; }
    assert_equal "$(condition confused Submitted message)" 'commands run as another user: root, not guest'
    assert_equal "$(space=other condition astray Submitted message)" 'commands run as another user: guest, not root'
    assert_equal "$(field confused .status.jobId)$(in_queue)$(runs_of confused)" 0
    assert_equal "$(find slurm/guest/.cybelectl work | sort)" "$before"
    # The same where the account has no records yet.
    stop_bridge one
    mv slurm/guest/.cybelectl records
    start_bridge one
    job new true
    wait_for 180 is_hindered new Submitted || { kubectl get slurmjob new -o yaml && cat one.log && return 1; }
    assert_equal "$(field new .status.jobId)$(in_queue)$(runs_of new)" 0
    assert_not_exist slurm/guest/.cybelectl
    stop_bridge one
    mv records slurm/guest/.cybelectl
    mv usual.yaml bridge.yaml
    start_bridge one
    for one in confused new; do ends "$one" Succeeded 180; done
    space=other ends astray Succeeded 180
    assert_equal "$(runs_of confused) $(runs_of new)" '1 1'
    kubectl delete slurmjob -n other astray --wait=true --timeout=60s
}

@test "a login that keeps failing is tried less and less often, however many objects wait for it" {
    local one
    cp keys/root.pub authorized/guest
    start_bridge one
    for one in 1 2 3; do job "waits-$one" true; done
    wait_for 90 is_hindered waits-1 Submitted || { cat one.log && return 1; }
    rm -f logins
    sleep 60
    echo "logins within a minute, at a poll of 1 s: $(wc -l <logins)" >&3
    (($(wc -l <logins) >= 1 && $(wc -l <logins) <= 14))
    others_run meanwhile
    cp keys/guest.pub authorized/guest
    for one in 1 2 3; do ends "waits-$one" Succeeded 180; done
    assert_equal "$(runs_of waits-1) $(runs_of waits-2) $(runs_of waits-3)" '1 1 1'
}

@test "100 objects that wait for a login are handed over in round trips of 50" {
    local one start
    cp keys/guest.pub authorized/guest
    for one in $(seq 100); do
        printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: many-$one}" 'spec:' '  batch: |' \
            '    #!/bin/sh' '    #SBATCH --output=/dev/null --mem=10' "    echo many-$one >>$place/slurm/guest/many" \
            "    while [ ! -e $place/slurm/guest/many-may-end ]; do sleep 1; done"
    done | kubectl create -f - >&2
    rm -f logins
    start=$(date +%s%3N)
    start_bridge one
    wait_for 60 grep -q 'many-.* Prepared' one.log
    have_ids() { (($(grep -c 'many-.* Prepared' one.log) == 100)); }
    wait_for 120 have_ids || { cat one.log && return 1; }
    echo "100 held jobs $(($(date +%s%3N) - start)) ms after the start of the bridge, $(wc -l <logins) round trips" >&3
    (($(wc -l <logins) <= 12))
    touch slurm/guest/many-may-end # ends have logins of their own
    have_run() { (($(sort -u slurm/guest/many | wc -l) == 100)); }
    wait_for 400 have_run || { cat one.log && return 1; }
    for one in 1 50 100; do ends "many-$one" Succeeded 60; done
    assert_equal "$(sort slurm/guest/many | uniq -d)" ''
    kubectl delete slurmjobs --all --wait=true --timeout=180s
}

# with_results NAME LINE…: an object of guest with results of the folder `made of NAME`.
with_results() {
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1}" 'spec:' \
            "  results: {from: made of $1, mount: {name: data, hostPath: {path: '$place/slurm/guest/kept results/$1'}}}" '  batch: |' '    #!/bin/sh' \
            "    #SBATCH --output=$place/slurm/guest/$1.out"
        printf '    %s\n' "mkdir 'made of $1'" "${@:2}"
    } | kubectl create -f -
}
is_settled() { [[ $(condition "$1" ResultsCollected status) == True ]]; }

@test "results by ssh are copied by the account itself, and a copy waits while its key is rejected" {
    local usual
    cp keys/guest.pub authorized/guest
    usual=$(cat bridge.yaml)
    sed -i "s|workdir: $place/slurm/guest}|workdir: $place/slurm/guest, results-roots: ['$place/slurm/guest/kept results']}|" bridge.yaml
    start_bridge one
    with_results first "echo one >'made of first/a b'" 'exit 3'
    ends first Failed 120
    wait_for 120 is_settled first || { kubectl get slurmjob first -o yaml && cat one.log && return 1; }
    assert_equal "$(cat 'slurm/guest/kept results/first/made of first/a b')" one
    assert_equal "$(stat -c %u 'slurm/guest/kept results/first/made of first/a b')" 61234
    with_results late "while [ ! -e $place/slurm/guest/late-may-end ]; do sleep 0.5; done" "echo two >'made of late/c'"
    wait_for 120 reaches late Running
    cp keys/root.pub authorized/guest
    touch slurm/guest/late-may-end
    ends late Succeeded 120
    sleep 10
    assert_equal "$(condition late ResultsCollected status)" ''
    [[ $(field late .metadata.finalizers) == *batch-job* ]]
    cp keys/guest.pub authorized/guest
    wait_for 180 is_settled late || { kubectl get slurmjob late -o yaml && cat one.log && return 1; }
    assert_equal "$(cat 'slurm/guest/kept results/late/made of late/c')" two
    printf '%s\n' "$usual" >bridge.yaml
}

@test "by sudo from one login a job is its account's, with nothing of the bridge's environment, and its deletion ends it" {
    local id way="{ssh: root@127.0.0.1, key: $place/keys/root, sudo: true}"
    cp bridge.yaml usual.yaml
    sed -i "s|account: guest, way: {[^}]*}|account: guest, way: $way|" bridge.yaml
    start_bridge one
    job by-sudo 'id -un' 'env | grep -cE "KUBE|SUDO_COMMAND=.*KUBE|eyJ" || true'
    job doomed "sleep 300.$unique"
    ends by-sudo Succeeded 120
    assert_equal "$(tail -n 2 slurm/guest/by-sudo.out)" $'guest\n0'
    wait_for 120 reaches doomed Running
    id=$(field doomed .status.jobId)
    assert_equal "$(slurm squeue -h -j "$id" -o %u) $(field doomed .status.account)" 'guest guest'
    assert_equal "$(stat -c %u "slurm/guest/.cybelectl/$(field by-sudo .metadata.uid)")" 61234
    kubectl delete slurmjob doomed --wait=true --timeout=120s
    assert_equal "$(slurm squeue -h -t all -j "$id" -o %T)" CANCELLED
    mv usual.yaml bridge.yaml
}
