# SPDX-License-Identifier: Apache-2.0
# Loaded by suites of Slurm: what scontrol shows of the directives that a Job is rendered with.

# plain_job NAME FIELD...: a Job of the host.
plain_job() { printf '%s\n' 'kind: Job' "name: $1" "${@:2}" >"$1.yaml"; }

# seen NAME OPTION|TEXT...: submits NAME.yaml; each option stands in its script, and Slurm shows the text. Adds to $seen.
seen() {
    local name=$1 id pair
    shift
    "$CYBELECTL" job render "$name.yaml" --scheduler slurm -o "$name.sh" || return
    id=$(slurm sbatch --ignore-pbs --parsable "$name.sh") || return
    slurm scontrol show job -d "$id" >"$name.seen"
    slurm scancel "$id"
    for pair; do
        grep -qF -- "#SBATCH ${pair%%|*}" "$name.sh" || { echo "$name.sh has no ${pair%%|*}" && return 1; }
        grep -qF -- "${pair#*|}" "$name.seen" || { echo "scontrol shows no ${pair#*|}" && cat "$name.seen" && return 1; }
        seen=$((seen + 1))
    done
}

# directives_are_seen [OPTION|TEXT...]: of two Jobs, by fields and by `directives`; further ones are of this version alone.
directives_are_seen() {
    local seen=0 other
    local -a further=("$@")
    slurm scontrol create reservation ReservationName=school StartTime=now Duration=30 Users=root Nodes=n2 Flags=ignore_jobs
    plain_job asked 'launch: batch' 'script: echo' 'queue: batch' 'begin: 2037-02-03T04:05' "comment: it's mine" \
        'requeue: true' 'append-output: true' 'array: 3-9:2%2' 'account: crops' 'job-name: Wheat_1' \
        'output: {stdout: "o-%j-%a", stderr: "e-%a"}' 'mail: {to: a@b.example, on: [end, fail]}' \
        'signal: {name: USR2, before: 2 min}' 'directives: {slurm: [--nice=7, --spread-job, --wait-all-nodes=1]}' \
        'resources: {nodes: 1, tasks: 2, cpus-per-task: 1, memory: all, time: 5 min, hosts: [n1], exclude: [n2], exclusive: true}'
    seen asked '--job-name=Wheat_1|JobName=Wheat_1' '--array=3-9:2%2|ArrayTaskId=3,5,7,9%2' '--begin=2037-02-03T04:05|StartTime=2037-02-03T04:05:00' \
        '--requeue|Requeue=1' '--account=crops|Account=crops' '--partition=batch|Partition=batch' '--nodelist=n1|ReqNodeList=n1' \
        '--exclude=n2|ExcNodeList=n2' '--ntasks=2|NumTasks=2' '--nodes=1|NumNodes=1' '--cpus-per-task=1|CPUs/Task=1' '--time=00:05:00|TimeLimit=00:05:00' \
        '--mem=0|MinMemoryNode=0' '--exclusive|OverSubscribe=NO' '--nice=7|Nice=7' "--comment=\"it's mine\"|Comment=it's mine" \
        '--mail-user=a@b.example|MailUser=a@b.example' '--mail-type=END,FAIL|MailType=END,FAIL' '--spread-job|SpreadJob=Yes' \
        "--output=o-|StdOut=$PWD/o-" "--error=e-|StdErr=$PWD/e-"
    plain_job other 'launch: batch' 'script: echo' 'directives: {slurm: [--hold]}'
    "$CYBELECTL" job render other.yaml --scheduler slurm -o other.sh
    other=$(slurm sbatch --ignore-pbs --parsable other.sh)
    plain_job wide 'launch: batch' 'script: echo' 'reservation: school' "after: [{job: '$other', when: any}]" \
        'resources: {tasks: 2, tasks-per-node: 2, memory-per-cpu: 300 MiB, time: 20 min, threads-per-core: 1}' \
        'directives:' '  slurm:' '    - --contiguous' '    - --tmp=5' '    - --mincpus=2' '    - --time-min=5' '    - --deadline=2037-01-01T00:00' \
        '    - --kill-on-invalid-dep=yes' '    - --switches=1@4:00' '    - --reboot' '    - --ntasks-per-socket=1' '    - --ntasks-per-core=1' \
        '    - --sockets-per-node=2' '    - --cores-per-socket=2' '    - --network=ib' '    - --cpu-freq=high' '    - --mcs-label=x' '    - --delay-boot=3' \
        '    - --bb=x' '    - --cluster-constraint=x' '    - --gpu-freq=low' '    - --hold' \
        "${further[@]/#/    - }"
    sed -i '/^    - .*|/s/|.*//' wide.yaml
    seen wide '--reservation=school|Reservation=school' "--dependency=afterany:$other|Dependency=afterany:$other" '--ntasks-per-node=2|PerN:B:S:C=2:' \
        '--mem-per-cpu=300|MinMemoryCPU=300M' '--threads-per-core=1|B:S:C:T=0:0:2:1' '--contiguous|Contiguous=1' '--tmp=5|MinTmpDiskNode=5M' \
        '--mincpus=2|MinCPUsNode=2' '--time-min=5|TimeMin=00:05:00' '--deadline=2037-01-01T00:00|Deadline=2037-01-01T00:00:00' \
        '--kill-on-invalid-dep=yes|Dependent=Yes' '--switches=1@4:00|Switches=1@00:04:00' '--reboot|Reboot=1' \
        '--ntasks-per-socket=1|PerN:B:S:C=2:0:1:' '--ntasks-per-core=1|PerN:B:S:C=2:0:1:1' '--sockets-per-node=2|Socks/Node=2' \
        '--cores-per-socket=2|ReqB:S:C:T=0:0:2:' '--network=ib|Network=ib' '--cpu-freq=high|CPU_max_freq=High' '--mcs-label=x|MCS_label=x' \
        '--delay-boot=3|DelayBoot=00:03:00' '--bb=x|BurstBuffer=x' '--cluster-constraint=x|ClusterFeatures=x' '--gpu-freq=low|TresFreq=gpu:low' \
        '--hold|Reason=JobHeldUser' "${further[@]}"
    slurm scancel "$other"
    slurm scontrol delete reservation school
    run slurm sbatch --ignore-pbs --test-only -vv asked.sh
    assert_output --regexp 'open-mode +: a'
    echo "# $seen directives are seen by scontrol" >&3
    assert [ "$seen" -ge 40 ]
}
