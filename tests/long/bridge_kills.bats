# SPDX-License-Identifier: Apache-2.0
# Two controllers without a Lease between them, killed at each of the five steps of a hand-over 20 times, on a real
# API server and a real Slurm, while one sbatch in five is late and one in five loses its answer: 100 objects, 100 jobs. Ten minutes.
# shellcheck disable=SC2154 # user is of bridge_parts.bash
load ../parts/suite.bash
load ../cluster/nodes.bash
load ../cluster/bridge_parts.bash

count=${CYBELE_BRIDGE_KILLED:-100}
kills=$((count / 5)) # at each step

setup_file() {
    export BATS_TEST_TIMEOUT=3600
    start_bridge_parts
}
setup() {
    enter_nodes
    rm -f ran ./*.log
}
teardown() {
    local name
    rm -f alive
    for name in alpha beta; do [[ ! -e $name.loop ]] || wait "$(cat "$name.loop")" 2>/dev/null || true; done
    for name in alpha beta; do [[ ! -e proxy-$name/process ]] || kill "$(cat "proxy-$name/process")" 2>/dev/null || true; done
}
teardown_file() { stop_bridge_parts; }

# write_strike: ./strike CONTROLLER STEP kills the controller and fails, until the step had the kills of this wave. Every other time.
write_strike() {
    mkdir kills
    cat >strike <<'END'
#!/bin/bash
cd "$(dirname "$0")" && exec 9>strike.lock && flock 9
n=$(cat "kills/$2" 2>/dev/null || echo 0)
((n < $(cat limit) && RANDOM % 2)) && kill -KILL "$(cat "$1.pid")" 2>/dev/null || exit 0
echo $((n + 1)) >"kills/$2"
exit 1
END
    chmod +x strike
}

# write_commands CONTROLLER: Slurm's commands as it calls them. After three submissions without an answer the bridge gives an object up, as
# it should, so the third is left alone.
write_commands() {
    mkdir "commands-$1"
    cp commands/squeue commands/sacct commands/scancel commands/sinfo "commands-$1"
    cat >"commands-$1/sbatch" <<END
#!/bin/bash
real=('$parts_dir/slurm' exec '$place' sbatch)
export PATH='$PATH'
case "\$*" in *claim-[12]/*) ;; *) exec "\${real[@]}" "\$@" ;; esac
'$place/strike' $1 2-prepare || exit 1
fate=\$((RANDOM % 5))
if ((fate == 0)); then
    echo late >>'$place/fates'
    (sleep \$((3 + RANDOM % 6)) && exec "\${real[@]}" "\$@") </dev/null >/dev/null 2>&1 3>&- &
else
    "\${real[@]}" "\$@" >"\$BASHPID.out" 2>"\$BASHPID.err" </dev/null
    code=\$?
    '$place/strike' $1 2-prepare || exit 1
fi
if ((fate < 2)); then
    ((fate == 0)) || echo lost >>'$place/fates'
    echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2
    exit 1
fi
cat "\$BASHPID.err" >&2
cat "\$BASHPID.out"
exit \$code
END
    cat >"commands-$1/scontrol" <<END
#!/bin/bash
[[ \$1 != release ]] || '$place/strike' $1 4-commit || exit 1
PATH='$PATH' '$parts_dir/slurm' exec '$place' scontrol "\$@"
code=\$?
[[ \$1 != release ]] || '$place/strike' $1 4-commit || exit 1
exit \$code
END
    chmod +x "commands-$1"/*
}

# begin CONTROLLER: its proxy, which strikes at PATCHes, its Bridge, and a loop that starts it again whenever it was killed. Its Lease is
# removed after a kill: how long the next one waits for it is tested elsewhere.
begin() {
    local name=$1
    mkdir "proxy-$name"
    mkfifo "proxy-$name/life"
    # shellcheck disable=SC2034 # it stays open: the proxy ends with its input
    exec {life}<>"proxy-$name/life"
    "$parts_dir/apiserver-proxy" "$place/kubernetes" "$place/proxy-$name" <"proxy-$name/life" >/dev/null 2>"proxy-$name/errors" 3>&- &
    echo $! >"proxy-$name/process"
    wait_for 20 test -e "proxy-$name/kubeconfig"
    cat >"proxy-$name/hook" <<END
#!/bin/bash
case \$2:\$3 in
    */status*:*'"state":"Prepared"'*) exec '$place/strike' $name 3-record ;;
    */status*) exec '$place/strike' $name 5-follow ;;
    */slurmjobs/*'"finalizers"'*) exec '$place/strike' $name 1-claim ;;
esac
END
    chmod +x "proxy-$name/hook"
    sed "s/^name: test/name: $name/; s/^hand-over-patience: .*/hand-over-patience: 6 s/" bridge.yaml >"$name.yaml"
    (
        while [[ -e alive ]]; do
            PATH=$place/commands-$name:$PATH "$CYBELECTL" bridge run --config "$name.yaml" --kubeconfig "proxy-$name/kubeconfig" \
                >>"$name.log" 2>&1 &
            echo $! >"$name.pid"
            while [[ -e alive ]] && ! is_gone $!; do sleep 0.1; done
            kill -TERM $! 2>/dev/null || true
            wait $! 2>/dev/null || true
            kubectl delete lease "cybelectl-bridge-$name" --ignore-not-found >/dev/null 2>&1 || true
        done
    ) 3>&- &
    echo $! >"$name.loop"
}

@test "100 objects, 20 kills at each of five steps, late and lost answers, two controllers: 100 jobs ran, once each, and none is left" {
    local one name wave total
    write_strike
    : >alive
    for name in alpha beta; do write_commands "$name"; done
    begin alpha
    begin beta
    succeeded() { (($(kubectl get slurmjobs -o 'jsonpath={range .items[*]}{.status.status}{"\n"}{end}' | grep -cx Succeeded) == total)); }
    struck_all() { for one in 1-claim 2-prepare 3-record 4-commit 5-follow; do (($(cat "kills/$one" || echo 0) == kills)) || return 1; done; }
    # Ten waves, and one more while a step has not had all its kills.
    for wave in $(seq 15); do
        ((wave <= 10)) || ! struck_all || break
        total=$((wave * count / 10))
        echo $((wave < 10 ? wave * kills / 10 : kills)) >limit
        for one in $(seq $((count / 10))); do
            one=struck-$wave-$one
            printf '%s\n' --- 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $one}" 'spec:' '  batch: |' \
                '    #!/bin/sh' '    #SBATCH --output=/dev/null --mem=10' "    echo $one >>$place/ran" '    sleep 1'
        done | kubectl create -f - >&2
        wait_for 600 succeeded || {
            tail -n 15 ./*.log
            kubectl get slurmjobs | grep -v Succeeded
            return 1
        }
    done
    sleep 12 # the last late submission
    is_idle() { [[ -z $(in_queue) ]]; }
    wait_for 30 is_idle || { slurm squeue -o '%i %T %r %k' && return 1; } # no held twin
    echo "kills $(tail -qn 1 kills/* | tr '\n' ' '), $(sort fates | uniq -c | tr -s ' \n' ' '), twins cancelled: $(grep -c JobState=CANCELLED slurm/log/completed || true)" >&3
    assert_equal "$(sort ran | uniq -c | awk '$1 != 1')" ''
    assert_equal "$(wc -l <ran)" "$total"
    assert_equal "$(grep -c JobState=COMPLETED slurm/log/completed)" "$total"
    struck_all
    (($(grep -c late fates) >= count / 10 && $(grep -c lost fates) >= count / 10))
    # The id in each object is that of the job that ran.
    kubectl get slurmjobs -o 'jsonpath={range .items[*]}{.status.jobId}{"\n"}{end}' | sort >ids
    grep JobState=COMPLETED slurm/log/completed | sed 's/^JobId=\([0-9]*\) .*/\1/' | sort | diff ids -
}
