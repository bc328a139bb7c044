# SPDX-License-Identifier: Apache-2.0
# What goes wrong between a client and a real Slurm: munge, slurmctld, the accounting, ssh, disks, logs, other clients. In
# each case no job runs twice, none is lost, and what is said is true. About five minutes.
load ../parts/suite.bash
load nodes.bash
load jobs.bash

setup_file() { start_nodes; }
setup() {
    enter_nodes
    small=$place/slurm/small # a file system of 512 KiB
    # No block of it stays free, nor those that the rollback journal of the database had.
    filling=": >'$small/state/jobs.sqlite-journal'; head -c 1M /dev/zero >'$small/ballast' 2>/dev/null"
    slurm sh -c "rm -rf fake '$small'/*"
    [[ -S slurm/munge/socket ]] || munge start # a test that failed left it so
    signal CONT
}
teardown_file() { stop_nodes; }

# through NAME LINE…: a Job whose folder the login nodes see.
through() {
    mkdir -p there
    host_job "$1" "workdir: $place/there" "${@:2}"
}

# kill_connection: the process that keeps the ssh connection.
kill_connection() { slurm sh -c "kill -KILL \$(pgrep -f '^ssh: $place/state/ssh/.*mux')"; }

# hangs PROGRAM: one of Slurm's commands waits for an answer.
hangs() {
    local pid
    pid=$(slurm pgrep -nx "$1") && sleep 0.3 && slurm test -e "/proc/$pid"
}

munge() { "$parts_dir/slurm" munge "$place" "$1"; }
signal() { "$parts_dir/slurm" signal "$place" "$1"; }

@test "munge is not there while a job is submitted: nothing was sent, and that is what is said" {
    host_job no-munge 'script: exit 3'
    munge stop
    refuses 5 submit no-munge
    munge start
    assert_output --partial 'nothing was submitted'
    assert_equal "$(jobs_named no-munge)" 0
    run submit no-munge --wait
    assert_equal "$status" 3
    assert_equal "$(jobs_named no-munge)" 1
}

@test "munge ends between sbatch's question and Slurm's answer: the job is found, once" {
    local second
    host_job deaf 'script: exit 4'
    slurm strace -o connects -e trace=connect sbatch --chdir "$place" -o /dev/null --wrap true
    second=$(grep -n munge connects | sed -n '2s/:.*//p')
    fake sbatch "exec strace -o /dev/null -e trace=connect -e inject=connect:error=ENOENT:when=$second+ \"\$real\" \"\$@\""
    run --separate-stderr slurm env PATH="$place/fake:$PATH" cybelectl submit deaf.yaml --scheduler slurm --wait
    assert_equal "$status" 4
    assert_regex "$stderr" 'is unclear .*RESPONSE_SUBMIT_BATCH_JOB has authentication error'
    assert_equal "$(jobs_named deaf)" 1
}

@test "munge is not there while a job is followed: a query that fails is no end" {
    host_job mute 'script: |' '  while [ ! -e mute.go ]; do sleep 0.2; done' '  exit 9'
    behind mute cybelectl submit mute.yaml --scheduler slurm --wait --monitoring-period 1
    pid=$!
    wait_for 20 is_in_state mute RUNNING
    munge stop
    wait_for 20 grep -q 'Slurm does not answer: .*authentication error; asking again' mute.said
    touch mute.go
    ends_with 9 "$pid"
    munge start
}

@test "munge is not there while a job is cancelled: the request is made again" {
    host_job unheard 'command: [sleep, "300"]'
    id=$(submit unheard)
    wait_for 20 is_in_state unheard RUNNING
    munge stop
    # It asks again after ten seconds; the client's pass five times as fast.
    behind unheard env FAKETIME_ONLY_CMDS=cybelectl faketime -f '+0 x5' cybelectl job cancel "$id"
    pid=$!
    wait_for 20 grep -q 'did not accept the request to cancel: .*authentication error' unheard.said
    munge start
    ends_with 0 "$pid"
    assert is_in_state unheard CANCELLED
}

@test "slurmctld hangs while a job is cancelled: it is cancelled when that goes on" {
    host_job stuck 'command: [sleep, "300"]'
    id=$(submit stuck)
    wait_for 20 is_in_state stuck RUNNING
    signal STOP
    behind stuck cybelectl job cancel "$id"
    pid=$!
    wait_for 20 hangs scancel
    assert [ -e "/proc/$pid" ]
    signal CONT
    ends_with 0 "$pid"
    assert is_in_state stuck CANCELLED
}

@test "ssh: the connection is killed between two queries and in the middle of one; the output is whole" {
    through cut-off 'script: |' '  echo one' '  for n in two three; do while [ ! -e "$n" ]; do sleep 0.2; done; echo "$n"; done' '  exit 13'
    rm -f there/two there/three
    behind cut-off cybelectl submit cut-off.yaml --scheduler slurm --host n1 --follow
    pid=$!
    wait_for 20 grep -q one cut-off.out
    kill_connection
    touch there/two
    wait_for 20 grep -q two cut-off.out
    signal STOP
    wait_for 20 hangs squeue
    kill_connection
    wait_for 20 grep -q 'login n1 cannot be reached by ssh: .*; asking again' cut-off.said
    signal CONT
    touch there/three
    ends_with 13 "$pid"
    assert_equal "$(cat cut-off.out)" $'one\ntwo\nthree'
}

@test "ssh: the connection is killed while a job is handed over: it is found by another, once" {
    through handed 'script: exit 5'
    signal STOP
    behind handed cybelectl submit handed.yaml --scheduler slurm --host n1 --wait
    pid=$!
    wait_for 20 hangs sbatch
    kill_connection
    wait_for 20 grep -q 'is unclear' handed.said
    signal CONT
    ends_with 5 "$pid"
    assert_equal "$(jobs_named handed)" 1
}

@test "ssh: a host key that changed, a login that does not exist: one sentence each, and nothing was submitted" {
    through keyed 'script: |' '  while [ ! -e keyed.go ]; do sleep 0.2; done' '  exit 4'
    printf '%s\n' 'Host known' '  HostName n1' '  HostKeyAlias known' '  StrictHostKeyChecking yes' \
        "  UserKnownHostsFile $place/known" | cat - slurm/ssh/client >client && cat client >slurm/ssh/client
    sed 's/^/known /' slurm/ssh/host.pub >known
    id=$(slurm cybelectl submit keyed.yaml --scheduler slurm --host known)
    slurm ssh -O exit -o ControlPath="$place/state/ssh/%C" known
    sed 's/^/known /' slurm/ssh/user.pub >known
    refuses 5 slurm cybelectl submit keyed.yaml --scheduler slurm --host known
    assert_line --partial "the host's key is another than the one that is known"
    assert_line --partial 'ssh-keygen -R known'
    refuses 255 slurm cybelectl submit keyed.yaml --scheduler slurm --host known --wait
    refuses 5 slurm cybelectl submit keyed.yaml --scheduler slurm --host nobody-knows-it
    assert_line --partial 'nothing was submitted'
    assert_equal "$(jobs_named keyed)" 1
    sed 's/^/known /' slurm/ssh/host.pub >known
    touch there/keyed.go
    run slurm cybelectl job attach "$id" --wait
    assert_equal "$status" 4
}

@test "ssh as another user: the job, its record and its logs are that user's" {
    mkdir -p guests
    chmod 777 guests
    host_job by-guest "workdir: $place/guests" 'script: |' '  id -un; umask 077; exit 3'
    run --separate-stderr slurm cybelectl submit by-guest.yaml --scheduler slurm --host guest@n1 --follow
    assert_equal "$status" 3
    assert_output guest
    assert_equal "$(slurm squeue -h -t all --name=by-guest -o %u)" guest
    assert_equal "$(slurm stat -c '%U %a' guests/.cybelectl)" 'guest 700'
    host_job guest-long "workdir: $place/guests" 'command: [sleep, "300"]'
    id=$(slurm cybelectl submit guest-long.yaml --scheduler slurm --host guest@n1)
    run slurm cybelectl job cancel "$id"
    assert_success
    assert is_in_state guest-long CANCELLED
}

@test "a disk that is full when the id is to be kept: it is told, and job attach finds the job" {
    host_job full-disk 'script: exit 6'
    fake sbatch '"$real" "$@"' "$filling" 'exit 0'
    refuses 5 slurm env PATH="$place/fake:$PATH" CYBELE_STATE_DIR="$small/state" cybelectl submit full-disk.yaml --scheduler slurm
    assert_line --regexp 'error: job [0-9]+ was submitted, but the journal could not keep its id'
    assert_line --regexp 'help: when that is fixed: cybelectl job attach [0-9a-f-]{36}'
    uuid=$(grep -o '[0-9a-f-]\{36\}' <<<"$output" | tail -n 1)
    slurm rm "$small/ballast"
    run slurm env CYBELE_STATE_DIR="$small/state" cybelectl job attach "$uuid" --wait
    assert_equal "$status" 6
    assert_equal "$(jobs_named full-disk)" 1
}

@test "a disk that fills while a job is followed: the client says so and ends, the job does not" {
    host_job filled 'script: |' '  while [ ! -e filled.go ]; do sleep 0.2; done' '  exit 7'
    export CYBELE_STATE_DIR=$small/state
    behind filled env CYBELE_STATE_DIR="$small/state" cybelectl submit filled.yaml --scheduler slurm --wait --monitoring-period 1
    pid=$!
    wait_for 20 is_in_state filled RUNNING
    wait_for 20 sh -c "'$parts_dir/slurm' exec '$place' env CYBELE_STATE_DIR='$small/state' cybelectl job list --cached | grep -q running"
    slurm sh -c "$filling" || true
    touch filled.go
    ends_with 255 "$pid"
    run cat filled.said
    assert_line --partial 'because: no space is left on the device'
    assert_line --partial 'help: free disk space (df), then `cybelectl job attach'
    slurm rm "$small/ballast"
    run slurm env CYBELE_STATE_DIR="$small/state" cybelectl job attach "$(cat filled.out)" --wait
    assert_equal "$status" 7
}

@test "a disk that is full where results are collected: no file under its name, and later it is whole" {
    host_job results 'script: head -c 300K /dev/urandom >big.bin' 'output: {results: [big.bin]}'
    id=$(submit results)
    run slurm cybelectl job wait "$id"
    slurm sh -c "head -c 400K /dev/zero >'$small/ballast'"
    refuses 5 slurm cybelectl job collect "$id" --to "$small/results"
    assert_line 'because: No space left on device'
    assert_line 'help: free space there and collect again: the transfer is resumed'
    assert_equal "$(slurm find "$small/results" -type f ! -name '*.part')" ''
    slurm rm "$small/ballast"
    run slurm cybelectl job collect "$id" --to "$small/results"
    assert_success
    assert slurm cmp big.bin "$small/results/big.bin"
}

@test "a client whose clock is two hours slow, or fast: the same ends, found again once, cancelled" {
    local skew id login name
    for name in slept-slow slept-fast; do
        skew=$([[ $name == *slow ]] && echo -2h || echo +2h)
        # shellcheck disable=SC2317 # run calls it
        skewed() { slurm faketime -f "$skew" cybelectl "$@"; }
        for login in '' 'n1'; do
            through skewed$login 'script: |' '  echo one; sleep 3; exit 3'
            run --separate-stderr skewed submit skewed$login.yaml --scheduler slurm ${login:+--host "$login"} --follow
            assert_equal "$status" 3
            assert_output one
        done
        through "$name" 'command: [sleep, "300"]'
        # Killed behind Slurm's word; found by its identity, whatever the time.
        fake sbatch '"$real" "$@" >/dev/null' 'kill -KILL $PPID'
        run slurm faketime -f "$skew" env PATH="$place/fake:$PATH" cybelectl submit "$name.yaml" --scheduler slurm
        assert_failure
        run --separate-stderr skewed submit "$name.yaml" --scheduler slurm
        assert_success
        assert_equal "$(slurm squeue -h --name="$name" -o %A)" "$output"
        id=$output
        wait_for 20 is_in_state "$name" RUNNING
        run skewed job status --details "slurm:$id" --format json
        assert_success
        # The clock of the client is what was said.
        jq -e --argjson now "$(date +%s)" '.jobs[0].submitted - $now | fabs > 7000' <<<"$output"
        run skewed job list
        assert_output --regexp "$name +slurm +running +0:[0-9]{2} "
        skewed job cancel "slurm:$id"
        wait_for 20 is_in_state "$name" CANCELLED
    done
}

@test "many clients on one journal: two follow, one lists, two cancel; each sees the same end" {
    local pids=() name
    host_job shared 'command: [sleep, "300"]'
    behind first cybelectl submit shared.yaml --scheduler slurm --wait --monitoring-period 1
    pids+=($!)
    wait_for 20 is_in_state shared RUNNING
    id=$(cat first.out)
    behind second cybelectl job wait "$id" --monitoring-period 1 && pids+=($!)
    behind third sh -c 'for n in $(seq 20); do cybelectl job list >/dev/null || exit; done' && pids+=($!)
    behind fourth cybelectl job cancel "$id" && pids+=($!)
    behind fifth cybelectl job cancel "$id" && pids+=($!)
    for code in 143 143 0 0 0; do
        ends_with "$code" "${pids[0]}"
        pids=("${pids[@]:1}")
    done
    for name in first second third fourth fifth; do refute grep '^error' "$name.said"; done
}

@test "a log that is cut, and one that is replaced by a longer one, through ssh and here" {
    local way
    for way in '' '--host n1'; do
        through turned 'script: |' '  echo one; while [ ! -e a ]; do sleep 0.2; done' '  : >turned.out; echo 2; while [ ! -e b ]; do sleep 0.2; done' \
            '  mv turned.out turned.1; exec >turned.out; echo a much longer line; echo three' 'output: {stdout: turned.out, stderr: turned.err}'
        rm -f there/[ab] there/turned.* # what another job left there would be shown first
        # shellcheck disable=SC2086
        behind turned cybelectl submit turned.yaml --scheduler slurm $way --follow
        pid=$!
        wait_for 20 grep -q one turned.out
        touch there/a
        wait_for 20 grep -q 2 turned.out
        touch there/b
        ends_with 0 "$pid"
        assert_equal "$(cat turned.out)" $'one\n2\na much longer line\nthree'
    done
}

# The tests behind this one have the accounting.
@test "the accounting is switched on: what a job used is what seff makes of it" {
    "$parts_dir/slurm" account "$place"
    host_job used 'script: |' "  python3 -c 'import time; held = bytearray(100 << 20)" \
        '  while time.process_time() < 3: pass' "  time.sleep(2)'" 'resources: {cpus-per-task: 2, memory-per-node: 400 MiB}'
    run --separate-stderr submit used --wait
    assert_success
    id=$output
    wait_for 20 sh -c "'$parts_dir/slurm' exec '$place' sacct -X -n -j $id -o State | grep -q COMPLETED"
    run --separate-stderr slurm cybelectl job status --details "slurm:$id" --format json
    # Three seconds of two cores, 100 MiB and the interpreter of 400 MiB.
    jq -e '.jobs[0].used | ."measured-by" == "accounting" and .cores == 2 and ."memory-asked" == 419430400 and
        ."cpu-milliseconds" > 2900 and ."cpu-milliseconds" < 4500 and .memory > 104857600 and .memory < 157286400' <<<"$output"
    # seff: the processor time over the wall time of the cores; the memory over what was asked for.
    jq -e --argjson wall "$(slurm sacct -X -n -P -j "$id" -o ElapsedRaw)" '.jobs[0].used | .seconds == $wall and
        ."core-efficiency" == ."cpu-milliseconds" / 1000 / ($wall * 2) and ."memory-efficiency" == .memory / 419430400' <<<"$output"
}

@test "jobs that Slurm has purged, and that left no record: sacct tells how each ended" {
    local name
    sed -i 's/^ClusterName/MinJobAge=2\n&/' slurm/slurm.conf
    slurm scontrol reconfigure
    host_job purged-code 'script: exit 12'
    host_job purged-signal 'script: kill -KILL $$'
    host_job purged-cancel 'command: [sleep, "300"]'
    for name in code signal cancel; do submit "purged-$name" >"purged-$name.id"; done
    wait_for 20 is_in_state purged-cancel RUNNING
    slurm scancel "$(cat purged-cancel.id)"
    for name in code signal cancel; do
        wait_for 120 sh -c "! '$parts_dir/slurm' exec '$place' scontrol show job $(cat "purged-$name.id")"
    done
    rm -r .cybelectl
    # Of codes beyond 127 sacct shows 128 less: 137 is 9 there.
    for row in 'code 12' 'signal 9' 'cancel 143'; do
        run slurm cybelectl job wait "$(cat "purged-${row% *}.id")"
        assert_equal "${row% *} $status" "$row"
    done
}

@test "a job whose node fails is continued, on a node that is up" {
    host_job moves 'script: |' '  uname -n >>turns' '  [ "$(wc -l <turns)" = 2 ] || exec sleep 300' \
        'requeue: false' 'resources: {time: 10 min}' 'continue: {on: [node-fail], most: 2}'
    behind moves cybelectl submit moves.yaml --scheduler slurm --wait --monitoring-period 1
    client=$!
    wait_for 30 test -s turns
    slurm scontrol update nodename="$(cat turns)" state=down reason=test
    ends_with 0 "$client"
    cat moves.said
    assert_equal "$(wc -l <turns)" 2
    grep -q 'is continued (1 of 2)' moves.said
}

# preempting MODE: a partition whose jobs end those of another.
preempting() {
    # The cases above have Slurm forget a job after two seconds; here its turns are counted.
    sed -i '/^Preempt/d; /^MinJobAge/d; /^PartitionName=\(low\|high\)/d' slurm/slurm.conf
    sed -i "s/^ClusterName/PreemptType=preempt\/partition_prio\nPreemptMode=$1\n&/" slurm/slurm.conf
    sed -i 's/^AuthInfo=[^,]*$/&,cred_expire=10/' slurm/slurm.conf # a job that is taken back waits for that long
    printf 'PartitionName=%s Nodes=ALL MaxTime=1:00:00 PriorityTier=%s\n' low 1 high 10 >>slurm/slurm.conf
    signal TERM
    wait_for 20 sh -c "! '$parts_dir/slurm' exec '$place' pgrep -x slurmctld"
    "$parts_dir/slurm" exec "$place" slurmctld -D </dev/null >/dev/null 2>&1 3>&- &
    wait_for 60 sh -c "[ \"\$('$parts_dir/slurm' exec '$place' sinfo -h -p high -o %T | sort -u)\" = idle ]"
}

# preempted NAME FIELD…: a job of the lower partition that the node is taken from in its first turn; it ends well in its second.
preempted() {
    local name=$1 node
    node=n1
    # shellcheck disable=SC2016
    host_job "$name" 'script: |' '  echo turn >>turns' '  [ "$(wc -l <turns)" = 2 ] || exec sleep 300' \
        'queue: low' "resources: {hosts: [$node], cpus-per-task: 4, time: 10 min}" "${@:2}"
    host_job urgent 'command: [sleep, "2"]' 'queue: high' "resources: {hosts: [$node], cpus-per-task: 4, time: 1 min}"
    rm -f turns
    behind "$name" cybelectl submit "$name.yaml" --scheduler slurm --wait --monitoring-period 1
    client=$!
    wait_for 30 test -s turns
    submit urgent --wait
    ends_with 0 "$client"
    cat "$name.said"
    assert_equal "$(wc -l <turns)" 2
}

@test "a job that is preempted is continued, with PreemptMode=CANCEL, and with REQUEUE where the job may not be requeued" {
    preempting CANCEL
    preempted cancelled 'continue: {on: [preempted], most: 2}'
    grep -q 'is continued (1 of 2)' cancelled.said
    assert_equal "$(jobs_named cancelled)" 2
    preempting REQUEUE
    preempted fixed 'requeue: false' 'continue: {on: [preempted], most: 2}'
    grep -q 'is continued (1 of 2)' fixed.said
    assert_equal "$(jobs_named fixed)" 2
}

@test "a job that Slurm takes back to its queue and runs again is followed to its second end" {
    preempting REQUEUE
    preempted again 'requeue: true'
    assert_equal "$(jobs_named again)" 1
    run slurm cybelectl job list --all --name again --format json
    assert_equal "$(jq -r '[.jobs[] | .state] | join(" ")' <<<"$output")" 'done'
}
