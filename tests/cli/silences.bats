# SPDX-License-Identifier: Apache-2.0
# Nothing takes longer than ten seconds without a line: every kind of waiting is made to last, and all commands wait at the same time.
# Files hang (tests/parts/slow-files.c), servers answer late (tests/parts/slow-proxy), locks are held, and other programs sleep. The clock is
# the real one: half a minute.
load ../parts/suite.bash
load ../parts/serve.bash

seconds=23

setup() {
    own_home
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' 'busybox /bin/true' >base.def
    "$CYBELECTL" build base.def >/dev/null
    cc -shared -fPIC -o slow-files.so "$repo/tests/parts/slow-files.c"
    PATH=$(dirname "$CYBELECTL"):$PATH
    export PATH
}
teardown() {
    [[ ! -e job ]] || "$CYBELECTL" job cancel "$(<job)" --quiet || true
    end_servers
    leave_place
}

row() { printf '%s\t%s\n' "$1" "$2" >>table; }
# hung NAME COMMAND: the first open of a file with `slow` in its name takes long.
hung() { row "$1" "LD_PRELOAD=$place/slow-files.so SLOW_FILES=slow/ SLOW_SECONDS=$seconds $2"; }
# late NAME PORT COMMAND: PORT in the command is that of a proxy before the server, whose first answer is late.
late() {
    local name=late$((++proxies))
    serve "$name" slow-proxy "$2" "$seconds"
    row "$1" "${3//PORT/${!name}}"
}

silences() {
    run "$parts_dir/silences" "$seconds" table
    echo "# ${lines[-1]}" >&3
    assert_success
}

files_hang() {
    mkdir slow project project/recipes project/jobs
    cp base.sif slow/a.sif
    cp base.sif slow/b.sif
    sed "s,^busybox ,$place/busybox ," base.def >slow/base.def
    "$CYBELECTL" key new slow/key.pem >/dev/null
    "$CYBELECTL" sign slow/b.sif --key slow/key.pem >/dev/null
    printf '%s\n' 'kind: Recipe' 'name: word' "base: {image: $place/base.sif}" >slow/word.yaml
    printf '%s\n' 'kind: Job' 'name: say' 'command: [/bin/true]' >slow/job.yaml
    printf '%s\n' 'kind: Site' 'name: hall' 'scheduler: slurm' >slow/site.yaml
    printf '%s\n' '#!/bin/bash' '#SBATCH -n 1' 'hostname' >slow/old.sh
    printf '%s\n' 'FROM debian:12' 'RUN true' >slow/Dockerfile
    "$CYBELECTL" kube render slow/job.yaml --kind TorqueJob -q -o slow/object.yaml
    "$CYBELECTL" image add base.sif first:1
    hung sign 'cybelectl sign slow/a.sif --key slow/key.pem'
    hung verify 'cybelectl verify slow/b.sif --key slow/key.pub'
    hung inspect 'cybelectl inspect slow/a.sif'
    hung 'sif list' 'cybelectl sif list slow/a.sif'
    hung 'sif dump' 'cybelectl sif dump 1 slow/a.sif -o dumped'
    cp base.sif slow/c.sif
    hung 'sif add' 'cybelectl sif add slow/c.sif base.def --datatype 1'
    hung 'image add' 'cybelectl image add slow/a.sif hung:1'
    hung 'image copy' 'cybelectl image copy slow/a.sif copied.sif'
    hung 'image diff' 'cybelectl image diff slow/a.sif base.sif'
    hung 'recipe check' 'cybelectl recipe check slow/word.yaml'
    hung 'recipe render' 'cybelectl recipe render slow/word.yaml'
    hung 'recipe import' 'cybelectl recipe import slow/Dockerfile -o imported.yaml'
    hung 'recipe lock --check' 'cybelectl recipe lock slow/word.yaml --check'
    hung 'def check' 'cybelectl def check slow/base.def --no-shellcheck'
    hung 'def format' 'cybelectl def format slow/base.def'
    hung 'job check' 'cybelectl job check slow/job.yaml'
    hung 'job render' 'cybelectl job render slow/job.yaml'
    hung 'job explain' 'cybelectl job explain slow/old.sh'
    hung 'job convert' 'cybelectl job convert slow/old.sh'
    hung 'kube check' 'cybelectl kube check slow/object.yaml'
    hung 'site check' 'cybelectl site check slow/site.yaml'
    hung 'build of a definition' 'cybelectl build slow/base.def -o made.sif'
    hung 'build of a Recipe' 'cybelectl build slow/word.yaml -o word.sif'
    hung submit 'cybelectl submit slow/job.yaml --scheduler local --dry-run'
    hung generate 'cybelectl generate slow --check'
    hung 'quiet verify' 'cybelectl verify slow/b.sif --key slow/key.pub -q >/dev/null'
}

servers_answer_late() {
    serve registry docker-registry open "$place/r"
    mkdir gpg && chmod 700 gpg
    serve keys key-server "$place/gpg"
    "$CYBELECTL" image push base.sif "oras://127.0.0.1:$registry/base:1" --plain-http -q
    skopeo copy -q --dest-tls-verify=false "docker-archive:$(oci_archive)" "docker://127.0.0.1:$registry/oci:1"
    printf '%s\n' 'kind: Recipe' 'name: based' 'base: debian:12' >based.yaml
    late 'image push' "$registry" 'cybelectl image push base.sif oras://127.0.0.1:PORT/new:1 --plain-http'
    late 'image pull' "$registry" 'cybelectl image pull oras://127.0.0.1:PORT/base:1 --plain-http'
    late 'image copy between registries' "$registry" \
        'cybelectl image copy oras://127.0.0.1:PORT/base:1 oras://127.0.0.1:PORT/copy:1 --plain-http'
    late 'image tags' "$registry" 'cybelectl image tags oras://127.0.0.1:PORT/base --plain-http'
    late 'image login' "$registry" 'echo secret | cybelectl image login 127.0.0.1:PORT -u eve --password-stdin --plain-http --authfile a.json'
    late 'exec of an image of a registry' "$registry" 'cybelectl exec --no-https oras://127.0.0.1:PORT/base:1 true'
    late 'exec of an OCI image' "$registry" 'cybelectl exec --no-https docker://127.0.0.1:PORT/oci:1 /bin/true'
    late 'build of an OCI image' "$registry" 'cybelectl build docker://127.0.0.1:PORT/oci:1 -o oci.sif --plain-http'
    late 'recipe lock' "$registry" 'cybelectl recipe lock based.yaml --mirror http://127.0.0.1:PORT/debian'
    late 'submit with an image of a registry' "$registry" \
        "printf 'kind: Job\nname: far\nimage: oras://127.0.0.1:PORT/base:1\ncommand: [/bin/true]\n' >far.yaml && cybelectl submit far.yaml --scheduler local --plain-http --wait --allow-root"
    late 'key push' "$keys" "$place/bin/apptainer key push --url http://127.0.0.1:PORT $(pgp_key)"
    late 'key search' "$keys" "$place/bin/apptainer key search --url http://127.0.0.1:PORT nobody@example.org"
}

# The responder and the time stamps of an authority, and an API server of Kubernetes, answer late.
authorities_answer_late() {
    mkdir pki
    serve ocsp ocsp pki
    serve responder slow-proxy "$ocsp" "$seconds" # its address is in the certificates
    "$parts_dir/authority" pki "http://127.0.0.1:$responder" >/dev/null 2>&1
    cat pki/good.pem pki/issuing.pem >pki/chain.pem
    cp base.sif signed.sif
    cp base.sif stamped.sif
    "$CYBELECTL" sign signed.sif --key pki/good.key --certificate pki/chain.pem >/dev/null
    row 'verify with a slow responder [20 s]' 'cybelectl verify signed.sif --certificate-roots pki/root.pem --revocation hard'
    serve tsa tsa pki
    late 'sign with a slow time stamp' "$tsa" 'cybelectl sign stamped.sif --key pki/good.key --certificate pki/chain.pem --timestamp-url http://127.0.0.1:PORT/tsa'
}

kubernetes_answers_late() {
    serve server slow-proxy "$registry" "$seconds"
    printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: c' 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:'"$server"'"}}]' \
        'users: [{name: u, user: {token: t}}]' 'contexts: [{name: c, context: {cluster: c, user: u, namespace: n}}]' >kube.conf
    printf '%s\n' 'kind: Bridge' 'name: b' 'site: slow/site.yaml' 'accounts: [{namespace: n, account: nobody, workdir: /var/tmp}]' >bridge.yaml
    row 'bridge status [10 s]' 'cybelectl bridge status --config bridge.yaml --kubeconfig kube.conf'
    printf '#!/bin/sh\nsleep %s\n' "$seconds" >fake/kubectl && chmod +x fake/kubectl
    printf '%s\n' 'kind: Job' 'name: object' 'workdir: /var/tmp' 'command: [/bin/true]' >object.yaml
    row 'submit --kube --apply' "PATH=$place/fake:\$PATH cybelectl submit object.yaml --kube --apply --kind TorqueJob"
}

# oci_archive: a small OCI image in the form of docker.
oci_archive() {
    mkdir -p layer/bin
    cp busybox layer/bin/true
    tar -C layer -cf layer.tar bin
    printf '[{"Config":"config.json","RepoTags":["oci:1"],"Layers":["layer.tar"]}]' >manifest.json
    printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$(sha256sum layer.tar | cut -d ' ' -f 1)" >config.json
    tar -cf oci.tar manifest.json config.json layer.tar
    echo "$place/oci.tar"
}

# pgp_key: a new one in the keyring of Apptainer; prints its fingerprint.
pgp_key() {
    mkdir -p bin
    "$CYBELECTL" install-as apptainer bin >/dev/null 2>&1 || ln -sf "$CYBELECTL" bin/apptainer
    "$CYBELECTL" key new --pgp --name eve --email eve@example.org --no-passphrase >/dev/null
    "$CYBELECTL" key list --format json | jq -r '.. | .fingerprint? // empty' | head -n 1
}

locks_are_held() {
    flock "$CYBELE_STORE/lock" sleep "$((seconds + 5))" 3>&- &
    running+=("$!")
    row 'exec of a stored image behind a lock' 'cybelectl exec store:first:1 /bin/true'
    row 'image prune behind a lock' 'cybelectl image prune --unused 365'
    # The journal and the queue of jobs, each held by another program.
    CYBELE_STATE_DIR=$place/held "$CYBELECTL" submit short.yaml --scheduler local --wait >/dev/null
    local database
    for database in jobs local; do
        python3 -c 'import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("PRAGMA locking_mode=EXCLUSIVE")
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))' "$(find held -name "$database.sqlite")" "$((seconds + 5))" >"$database.held" 3>&- &
        running+=("$!")
        wait_for 10 test -s "$database.held"
    done
    row 'job list behind a lock [15 s]' "CYBELE_STATE_DIR=$place/held cybelectl job list"
    row 'submit behind a lock [15 s]' "CYBELE_STATE_DIR=$place/held cybelectl submit short.yaml --scheduler local"
}

programs_sleep() {
    mkdir fake
    printf '%s\n' '#!/bin/sh' "sleep $seconds" 'exit 1' | tee fake/sbatch fake/squeue fake/sacct fake/ssh >/dev/null
    chmod +x fake/*
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' "/bin/busybox sleep $seconds" >post.def
    printf '%s\n' 'kind: Recipe' 'name: step' 'base: {image: base.sif}' "steps: [/bin/busybox sleep $seconds]" >step.yaml
    printf '%s\n' 'kind: Job' 'name: made' 'image: {recipe: step.yaml}' 'command: [/bin/true]' >made.yaml
    printf '%s\n' 'kind: Job' 'name: long' "command: [sleep, '$seconds']" >long.yaml
    printf '%s\n' 'kind: Job' 'name: short' 'workdir: /var/tmp' 'command: [/bin/true]' >short.yaml
    printf '%s\n' 'kind: Job' 'name: longer' "command: [sleep, '$((seconds + 9))']" >longer.yaml
    printf '%s\n' 'kind: Recipe' 'name: probed' 'base: {image: base.sif}' "test: /bin/busybox sleep $seconds" >probed.yaml
    row 'build of a step' 'cybelectl build post.def --no-cache -o post.sif'
    row 'build with a test' 'cybelectl build probed.yaml'
    row 'build to a sandbox' 'cybelectl build post.def --no-cache --sandbox -o post'
    row 'submit with a build' 'cybelectl submit made.yaml --scheduler local --wait --allow-root'
    row 'submit --wait' 'cybelectl submit long.yaml --scheduler local --wait --allow-root'
    row 'submit --follow' 'cybelectl submit long.yaml --scheduler local --follow --allow-root'
    row 'submit to a slow sbatch' "PATH=$place/fake:\$PATH cybelectl submit short.yaml --scheduler slurm"
    printf '%s\n' 'kind: Job' 'name: staged' 'workdir: /var/tmp' 'command: [/bin/true]' 'stage-in: [{from: base.def, to: in}]' >staged.yaml
    row 'stage-in through a slow ssh' "PATH=$place/fake:\$PATH cybelectl submit staged.yaml --scheduler slurm --host far"
    row 'submit through a slow ssh' "PATH=$place/fake:\$PATH cybelectl submit short.yaml --scheduler slurm --host far"
    CYBELE_STATE_DIR=$place/waited "$CYBELECTL" submit longer.yaml --scheduler local --allow-root >job
    row 'job wait' "CYBELE_STATE_DIR=$place/waited cybelectl job wait $(<job)"
    row 'job logs --follow' "CYBELE_STATE_DIR=$place/waited cybelectl job logs --follow $(<job)"
    rm job
}

@test "files that hang, late servers, held locks and slow programs: a line within ten seconds, and none with -q" {
    proxies=0
    files_hang
    servers_answer_late
    authorities_answer_late
    programs_sleep
    kubernetes_answers_late
    locks_are_held # last: they are held from here
    silences
}

@test "at a terminal the line of a waiting is written over, and none is missing" {
    printf '%s\n' 'kind: Job' 'name: long' 'command: [sleep, "23"]' >long.yaml
    run -0 python3 "$parts_dir/terminal.py" -- "$CYBELECTL" submit long.yaml --scheduler local --wait --allow-root
    local again=$'\r\e\\[K +(9|1[0-9])\\.[0-9] s  job 1 is running\r\n\e\\[1A\r\e\\[K +(1[0-9]|2[0-9])\\.[0-9] s  job 1 is running'
    [[ $output =~ $again ]]
}
