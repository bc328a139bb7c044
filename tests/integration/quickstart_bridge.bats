# SPDX-License-Identifier: Apache-2.0
# ./quickstart bridge: the lolcow job from kubectl to the queue and back, on a real API server and a real Slurm, and that everything ends
# with it: after its end, Ctrl-C, TERM and KILL. Four minutes.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
}
setup() { cd "$place" || return; }
teardown() { [[ -z ${quick:-} ]] || kill -KILL -- "-$quick" 2>/dev/null || true; }
teardown_file() { leave_place; }

box() { "$repo/quickstart" bridge -o "$place/box" "$@"; }

# nothing_left_of_it: no process names the folder, and no mount is in it. The files of a killed run are removed by the next.
nothing_left_of_it() { ! pgrep -f "$place/box" >/dev/null && ! grep -qF "$place/box" /proc/self/mountinfo; }

# nothing_runs: neither cluster left its state, too, nor the bridge its token.
nothing_runs() {
    nothing_left_of_it || { pgrep -af "$place/box" && return 1; }
    local name
    for name in slurm kubernetes rules bin programs bridge.conf; do assert_not_exist "box/$name"; done
}

# begins STEP [OPTION…]: a run in a session of its own that has begun STEP.
begins() {
    : >output
    setsid env --default-signal=INT "$repo/quickstart" bridge -o "$place/box" "${@:2}" >output 2>&1 3>&- </dev/null &
    quick=$!
    wait_for 240 grep -qF "==> $1" output || { cat output && return 1; }
}
is_over() { is_gone "$quick"; }

# succeeded KIND QUEUE: what was shown on both sides.
succeeded() {
    assert_success
    assert_line --index 0 --regexp '^Installs missing packages, starts a Kubernetes API server and '
    assert_line --index 1 --regexp '^about a minute[.] Everything ends with it[.] Log: .*/box/log$'
    assert_line --regexp '^    ok: 14 rights on the API server$'
    assert_line --regexp '^    cow +Running +(RUNNING|R) +[0-9]+'
    assert_line "    \$ $2"
    assert_line --regexp '^    cow +Succeeded +.* 0 '
    assert_equal "$(grep -cF '(oo)' <<<"$output")" 2 # of `bridge logs`, and of the copied file
    assert_line --index -1 --regexp "^done in [0-9.]+ s: the $1 became job [0-9]+[^ ]* once, ended with code 0, and its results are in "
    assert_file_contains box/home/results/low.out '\(oo\)'
    nothing_runs
}

@test "with Slurm the job is seen on both sides, its results are copied, and nothing is left" {
    run box
    succeeded SlurmJob squeue
    assert_line --regexp '^     +[0-9]+ +batch +cow .* R '
}

@test "with the rules of TORQUE it is a TorqueJob, and qstat shows it" {
    run box --torque
    succeeded TorqueJob qstat
}

@test "--keep leaves it running until Enter: kubectl by the line that it prints, a second run is refused" {
    local line
    mkfifo enter
    setsid "$repo/quickstart" bridge -o "$place/box" --keep <enter >output 2>&1 3>&- &
    quick=$!
    exec {enter}>enter
    wait_for 240 grep -q 'until you press Enter' output || { cat output && return 1; }
    line=$(grep -m 1 '^ *export KUBECONFIG=' output)
    run -0 bash -c "$line; kubectl get slurmjob -n physics -o name; squeue -h"
    assert_output slurmjob.cybelectl.io/cow
    run -2 box
    assert_output --regexp '^quickstart: another ./quickstart runs in .*/box$'
    echo >&"$enter"
    exec {enter}>&-
    wait "$quick"
    nothing_runs
}

@test "KILL while it starts Slurm, and while the job runs: all ends with it; the next run begins anew" {
    begins 'start a Slurm of two nodes'
    kill -KILL "$quick"
    wait_for 60 nothing_left_of_it
    begins 'apply the SlurmJob'
    kill -KILL -- "-$quick"
    wait_for 60 nothing_left_of_it
    run box
    succeeded SlurmJob squeue
}

@test "Ctrl-C and TERM while the job runs end everything, with their codes" {
    local signal
    for signal in INT TERM; do
        begins 'wait for its end'
        kill -"$signal" -- "-$quick"
        wait_for 60 is_over
        run -"$([[ $signal == INT ]] && echo 130 || echo 143)" wait "$quick"
        assert_file_contains output 'interrupted; what it started is ended'
        nothing_runs
    done
}
