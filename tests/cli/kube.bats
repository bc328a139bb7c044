# SPDX-License-Identifier: Apache-2.0
# kube render, kube crd, kube check and job convert at the command line. Seconds.
load ../parts/suite.bash

setup() {
    work_place
    write_job demo 'command: [hello-mpi]' 'workdir: /home/eve' 'resources: {time: 90 min}'
    sed -i 's,^image:.*,image: /home/eve/hello.sif,' demo.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: {dialect: slurm, through: {ssh: login.hall.example}}' \
        'kubernetes:' '  bridge: hpc-connector' \
        '  connector: {image: "docker://registry.example/c:1", backend: hall-a, credentials: hall-login}' >site.yaml
}
teardown() { leave_place; }

@test "the object of each kind passes kube check, on standard output alone" {
    for kind in TorqueJob SlurmJob MirrorJob; do
        sed "s/dialect: slurm/dialect: $([[ $kind == TorqueJob ]] && echo torque || echo slurm)/" site.yaml >"$kind.site.yaml"
        run --separate-stderr "$CYBELECTL" kube render demo.yaml --site "$kind.site.yaml" --kind "$kind"
        assert_success
        assert_line --regexp "^kind: (${kind}|Job)\$"
        printf '%s\n' "$output" >"$kind.yaml"
        run "$CYBELECTL" kube check "$kind.yaml"
        assert_success
    done
}

@test "the Site's bridge chooses the kind, -n the namespace" {
    run --separate-stderr "$CYBELECTL" kube render demo.yaml --site site.yaml -n crops
    assert_success
    assert_line 'kind: ConfigMap'
    assert_equal "$(grep -c '^  namespace: crops$' <<<"$output")" 3
    run --separate-stderr "$CYBELECTL" kube render demo.yaml
    assert_line 'kind: TorqueJob'
    refute_line --partial 'namespace:'
}

@test "what a bridge cannot express is refused at its line in the job file" {
    printf '%s\n' 'array: 0-9' >>demo.yaml
    for kind in TorqueJob SlurmJob Pod; do
        refuses 3 "$CYBELECTL" kube render demo.yaml --kind "$kind"
        assert_line --partial "\`array\` cannot be expressed in a $kind"
        assert_line ' --> demo.yaml:7:8'
    done
    refuses 2 "$CYBELECTL" kube render demo.yaml --kind torquejob
    assert_line 'help: did you mean `TorqueJob`?'
    refuses 2 "$CYBELECTL" kube render demo.yaml --kind WlmJob
    assert_line 'error: the kind WlmJob is not supported any more'
    assert_line 'help: use `--kind SlurmJob`'
    refuses 2 "$CYBELECTL" kube render demo.yaml -n No_Space
    assert_line --partial "'No_Space' is not a valid namespace"
    refuses 2 "$CYBELECTL" kube render demo.yaml --kind TorqueJob --scheduler slurm
    assert_line 'because: its bridge speaks torque'
}

@test "a scheduler of another kind, an image of the store and results that stay are named" {
    refuses 3 "$CYBELECTL" kube render demo.yaml --site site.yaml --kind TorqueJob
    assert_line "error: a TorqueJob is for torque, and the Site's scheduler is slurm"
    assert_line ' --> site.yaml:3:22'
    printf '%s\n' 'output: {results: [tiles.csv]}' >>demo.yaml
    run -0 --separate-stderr "$CYBELECTL" kube render demo.yaml
    [[ $stderr == *'`output.results` has no effect in a TorqueJob: the results stay on the cluster'* ]]
    [[ $stderr == *' --> demo.yaml:7:19'* ]]
    printf '%s\n' 'kubernetes: {results: {host-path: /srv/results, path: /home/eve/tiles.csv}}' >>demo.yaml
    run -0 --separate-stderr "$CYBELECTL" kube render demo.yaml
    [[ $stderr != *'output.results'* ]]
    CYBELE_STORE=$place/store run "$CYBELECTL" image add "$(fixture)/hello-mpi.sif" hello:1
    sed -i 's,^image:.*,image: store:hello:1,' demo.yaml
    for kind in TorqueJob SlurmJob; do
        CYBELE_STORE=$place/store refuses 3 "$CYBELECTL" kube render demo.yaml --kind "$kind"
        assert_line "error: \`image\` cannot be expressed in a $kind"
        assert_line ' --> demo.yaml:3:8'
    done
}

@test "render, check and submit --kube say that a bridge must execute the object" {
    local own='a SlurmJob of cybelectl.io runs only where a bridge executes it'
    sed -i '/connector:/d; s/hpc-connector/cybelectl/' site.yaml
    run -0 --separate-stderr "$CYBELECTL" kube render demo.yaml --site site.yaml -o object.yaml
    [[ $stderr == *"warning: $own"* ]]
    run -0 --separate-stderr "$CYBELECTL" submit demo.yaml --site site.yaml --kube
    [[ $stderr == *"warning: $own"* ]]
    run -0 "$CYBELECTL" kube check object.yaml
    assert_line 'note[K43]: a SlurmJob of cybelectl.io needs a running bridge'
    assert_line 'object.yaml: 0 errors, 0 warnings, 1 note'
    sed -i 's/bridge: cybelectl/bridge: wlm-operator/' site.yaml
    run -0 --separate-stderr "$CYBELECTL" kube render demo.yaml --site site.yaml -o object.yaml
    [[ $stderr != *bridge\ executes* ]]
    run -0 "$CYBELECTL" kube check object.yaml
    refute_line --partial K43
}

@test "a volume or selector that the server would refuse is refused here" {
    printf '%s\n' 'kubernetes:' '  node-selector: {disk: "a:b"}' '  results: {host-path: $HOME/r, path: low.out}' >>demo.yaml
    refuses 3 "$CYBELECTL" kube render demo.yaml --kind TorqueJob
    assert_line ' --> demo.yaml:8:25'
    assert_line ' --> demo.yaml:9:24'
    assert_line ' --> demo.yaml:9:39'
}

@test "a name that is no DNS label, and a script over the limit, are refused" {
    sed -i 's/^name:.*/name: Demo_1/' demo.yaml
    refuses 3 "$CYBELECTL" kube render demo.yaml
    assert_line ' --> demo.yaml:2:7'
    sed -i 's/^name:.*/name: demo/' demo.yaml
    { echo '#!/bin/sh' && yes 'echo 0123456789' | head -n 20000; } >big.sh
    refuses 3 "$CYBELECTL" kube render demo.yaml --batch big.sh
    assert_line --partial 'the script has 320010 bytes'
    # 32 KiB and more make each change of the status expensive: a warning.
    { echo '#!/bin/sh' && yes 'echo 0123456789' | head -n 2047 && printf '12345\n'; } >big.sh
    run -0 --separate-stderr "$CYBELECTL" kube render demo.yaml --batch big.sh
    refute [ -n "$stderr" ]
    printf '\n' >>big.sh
    run -0 --separate-stderr "$CYBELECTL" kube render demo.yaml --batch big.sh
    grep -qxF 'warning: the script has 32769 bytes' <<<"$stderr"
}

@test "check tells a trap with its place, reason and remedy, as text, json and sarif" {
    cp "$repo/tests/cases/kubernetes/K31.trip.yaml" trap.yaml
    run "$CYBELECTL" kube check trap.yaml
    assert_equal "$status" 3
    assert_line --partial 'error[K31]'
    assert_line ' --> trap.yaml:9:1'
    run --separate-stderr "$CYBELECTL" kube check trap.yaml --format json
    assert_equal "$status" 3
    jq -e '.files[0].findings[] | select(.rule == "K31") | .line == 9' <<<"$output"
    run --separate-stderr "$CYBELECTL" kube check trap.yaml --format sarif
    assert_equal "$status" 3
    jq -e '.version == "2.1.0" and (.runs[0].tool.driver.rules | length) > 31
        and any(.runs[0].results[]; .ruleId == "K31")' <<<"$output"
    run "$CYBELECTL" explain k31
    assert_success
    assert_line --partial 'K31 (error)'
}

@test "warnings count with --strict alone" {
    cp "$repo/tests/cases/kubernetes/K22.trip.yaml" warned.yaml
    run "$CYBELECTL" kube check warned.yaml
    assert_success
    assert_line --partial 'warning[K22]'
    run "$CYBELECTL" kube check warned.yaml --strict
    assert_equal "$status" 3
}

@test "a Job of Kubernetes that is rendered passes the strict check; one with a Secret may be a connector's" {
    printf '%s\n' 'kind: Job' 'name: plain' 'script: "true"' 'resources: {time: 10 min}' \
        'kubernetes: {image: "registry.example/plain:1"}' >plain.yaml
    "$CYBELECTL" kube render plain.yaml --kind Job -o plain-object.yaml
    run -0 "$CYBELECTL" kube check plain-object.yaml --strict
    sed -i 's|^      containers:|      volumes: [{name: s, secret: {secretName: login}}]\n&|' plain-object.yaml
    run "$CYBELECTL" kube check plain-object.yaml --strict
    assert_equal "$status" 3
    assert_line --partial 'warning[K22]'
}

@test "crd writes our group, or the operator's" {
    run -0 "$CYBELECTL" kube crd TorqueJob
    assert_line '  name: torquejobs.cybelectl.io'
    run -0 "$CYBELECTL" kube crd SlurmJob --group wlm.sylabs.io
    assert_line '  name: slurmjobs.wlm.sylabs.io'
    refuses 2 "$CYBELECTL" kube crd PodJob
}

@test "the schemas are printed for editors, and new files name them" {
    for kind in recipe job site; do
        run -0 "$CYBELECTL" explain "$kind" --schema
        jq -e '."$schema" and .properties' <<<"$output"
    done
    refuses 2 "$CYBELECTL" explain nothing --schema
    assert_line --partial 'job, site, project, policy, bridge'
    "$CYBELECTL" init field >/dev/null
    for file in field/field.yaml field/job.yaml; do
        kind=$(sed -nE 's/^kind: (.*)/\L\1/p' "$file")
        assert_equal "$(head -n 1 "$file")" "# yaml-language-server: \$schema=.schemas/$kind.schema.json"
        "$CYBELECTL" explain "$kind" --schema | cmp - "field/.schemas/$kind.schema.json"
    done
}

@test "the lolcow job of the Torque-Operator paper: every described line is where the paper says" {
    cp "$repo"/docs/examples/lolcow/{job.yaml,site.yaml,cow.sh} .
    "$CYBELECTL" kube render job.yaml --site site.yaml --batch cow.sh -o cow_job.yaml
    mapfile -t -O 1 line <cow_job.yaml
    assert_equal "${#line[@]}" 21
    assert_equal "${line[1]} ${line[2]} ${line[3]}" 'apiVersion: wlm.sylabs.io/v1alpha1 kind: TorqueJob metadata:'
    assert_equal "${line[5]} ${line[6]}" 'spec:   batch: |'
    assert_equal "$(sed -n '7,14s/^    //p' cow_job.yaml)" "$(cat cow.sh)" # the PBS script
    assert_equal "${line[8]}" '    #PBS -l walltime=00:30:00'
    assert_equal "${line[9]}" '    #PBS -l nodes=1'
    [[ ${line[10]} == *low.err && ${line[11]} == *low.out ]]
    assert_equal "${line[12]}" '    export PATH=$PATH:/usr/local/bin'
    assert_equal "${line[14]}" '    singularity run lolcow.sif'
    assert_equal "${line[15]}" '  results:'
    assert_equal "${line[16]}" '    from: "/home/eve/low.out"'
    assert_equal "${line[20]}" '        path: "/home/eve/results"'
    run "$CYBELECTL" kube check cow_job.yaml
    assert_success
    # Ours asks for the same.
    "$CYBELECTL" kube render job.yaml --site site.yaml -o ours.yaml
    for words in 'walltime=00:30:00' 'nodes=1:ppn=1' 'low.out' 'low.err' '/usr/local/bin/singularity' '/home/eve/lolcow.sif' \
        'path: "/home/eve/results"'; do
        assert_file_contains ours.yaml "$words"
    done
}

@test "job convert makes a Job of an ordinary Kubernetes Job, and names what it could not carry" {
    cat >k.yaml <<'END'
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      serviceAccountName: builder
      containers:
        - name: main
          image: python:3.12
          command: [python3, -c, "print(1)"]
          resources: {limits: {cpu: 2, memory: 1Gi}}
END
    run --separate-stderr "$CYBELECTL" job convert k.yaml
    assert_success
    assert_line 'image: "docker://python:3.12"'
    [[ $stderr == *'not converted: `serviceAccountName`'*'--> k.yaml:9:7'* ]]
    printf '%s\n' "$output" >job.yaml
    run "$CYBELECTL" job check job.yaml --scheduler slurm
    assert_success
    run "$CYBELECTL" job convert k.yaml --strict
    assert_equal "$status" 3
}

@test "the caret stands below the fault, also where a byte order mark begins the line" {
    printf '\xef\xbb\xbf{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "X_x"}}\n' >pod.yaml
    run -3 "$CYBELECTL" kube check pod.yaml
    assert_line ' --> pod.yaml:1:58'
    local caret line
    caret=$(grep -o '^  | *^$' <<<"$output")
    line=$(grep 'apiVersion' <<<"$output")
    assert_equal "${line:${#caret}-1:5}" '"X_x"'
}
