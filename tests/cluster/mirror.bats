# SPDX-License-Identifier: Apache-2.0
# A mirror Job from its yaml to its end: the objects on a real API server with its controllers, the batch job on a real Slurm. This test is
# the kubelet: it starts what the pod says, as whom it says, and tells the server. Three minutes; the first time on a machine seven more.
load ../parts/suite.bash
load nodes.bash
load jobs.bash

setup_file() {
    start_nodes
    export KUBECONFIG=$place/kubernetes/kubeconfig
    "$parts_dir/kubernetes" start "$place" >&2
    mkdir -m 777 there
    printf '%s\n' 'kind: Site' 'name: hall' "scheduler: {dialect: slurm, through: {slurmrestd: \"$("$parts_dir/slurm" rest "$place")\"}}" \
        'kubernetes: {bridge: cybelectl, connector: {image: "registry.example/mirror:1", credentials: hall-token, monitoring-period: 1 s, grace: 60 s}}' >site.yaml
    cd "$place" && kubectl create -f - <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "here"}}' >&2
}
setup() {
    enter_nodes
    LIBEXEC=$(realpath "$(dirname "$CYBELECTL")/../libexec")
    export LIBEXEC
}
teardown_file() {
    "$parts_dir/kubernetes" stop "$place"
    stop_nodes
}

kubectl() { "$parts_dir/kubernetes" kubectl 1.34 "$@"; }
pods_of() { kubectl get pods -l "job-name=$1" -o name; }
has_pods() { [[ $(pods_of "$1" | wc -l) == "$2" ]]; }
is_ending() { [[ -n $(kubectl get "$1" -o 'jsonpath={.metadata.deletionTimestamp}') ]]; }

# apply_mirror NAME LINE…: the mirror Job of a Job whose program is the host's; its one pod, bound to this node, is in $pod.
apply_mirror() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "workdir: $place/there" "$@" >"$name.yaml"
    "$CYBELECTL" kube render "$name.yaml" --site site.yaml --kind MirrorJob -o "$name.objects.yaml" -q
    kubectl apply -f "$name.objects.yaml"
    wait_for 20 has_pods "$name" 1
    pod=$(pods_of "$name")
    kubectl create --raw "/api/v1/namespaces/default/pods/${pod#pod/}/binding" -f - >/dev/null \
        <<<"{\"apiVersion\": \"v1\", \"kind\": \"Binding\", \"metadata\": {\"name\": \"${pod#pod/}\"}, \"target\": {\"kind\": \"Node\", \"name\": \"here\"}}"
}

# phase PHASE: tells the server how the pod is.
phase() { kubectl patch "$pod" --subresource status --type merge -p "{\"status\": {\"phase\": \"$1\"}}" >/dev/null; }

# start_pod: what a kubelet does: its ConfigMaps and its Secret as folders, its variables, its command, its user, a read-only root.
start_pod() {
    rm -rf volumes pod.pid
    mkdir -m 755 volumes
    kubectl get "$pod" -o json >pod.json
    kubectl get configmap -o json >maps.json
    (umask 077 && mkdir volumes/credentials && slurm scontrol token username=nobody lifespan=600 | sed 's/SLURM_JWT=//' >volumes/credentials/token)
    chown -R 65532 volumes/credentials
    python3 - <<'END' >pod.sh
import json, os, shlex
pod = json.load(open("pod.json"))
maps = {m["metadata"]["name"]: m["data"] for m in json.load(open("maps.json"))["items"]}
spec, one = pod["spec"], pod["spec"]["containers"][0]
user, inside = spec["securityContext"]["runAsUser"], one["securityContext"]
assert spec["securityContext"]["runAsNonRoot"] and inside["readOnlyRootFilesystem"]
assert not inside["allowPrivilegeEscalation"] and inside["capabilities"] == {"drop": ["ALL"]}
volumes = {v["name"]: v for v in spec["volumes"]}
where = {}
for m in one["volumeMounts"]:
    source = volumes[m["name"]]
    folder = os.path.abspath("volumes/" + m["name"])
    if "configMap" in source:
        os.mkdir(folder)
        for key, text in maps[source["configMap"]["name"]].items():
            open(f"{folder}/{key}", "w").write(text)
    where[m["mountPath"]] = folder
def put(text):
    for path, folder in where.items():
        text = text.replace(path, folder)
    return text
env = {"PATH": os.environ["PATH"], "CYBELE_LIBEXEC": os.environ["LIBEXEC"]}
for e in one["env"]:
    if "value" in e:
        env[e["name"]] = put(e["value"])
    else:
        assert e["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['batch.kubernetes.io/controller-uid']"
        env[e["name"]] = pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"]
words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "env", "-i"]
words += [f"{k}={v}" for k, v in env.items()]
words += ["sh", "-c", "touch ./written 2>/dev/null && exit 99; echo $$ >&7; exec \"$@\"", "sh"] + [put(w) for w in one["command"]]
print("mount -o remount,bind,ro /; exec " + shlex.join(words))
END
    phase Running
    slurm unshare --mount sh pod.sh >pod.out 2>pod.said 7>pod.pid 3>&- &
    kubelet=$!
}
# end_pod: the process has ended; the server hears how.
end_pod() {
    code=0
    wait "$kubelet" || code=$?
    if ((code == 0)); then phase Succeeded; else phase Failed; fi
}

@test "a mirror Job runs its course: logs, code, the Job's end" {
    apply_mirror runs 'script: echo from-slurm; exit 0'
    start_pod
    end_pod
    assert_equal "$code" 0
    assert_equal "$(cat pod.out)" from-slurm
    is_complete() { [[ $(kubectl get job runs -o "jsonpath={.status.conditions[?(@.type=='Complete')].status}") == True ]]; }
    wait_for 30 is_complete
    kubectl delete -f runs.objects.yaml
}

@test "the Job is deleted while it runs: TERM, and the Slurm job is gone within the grace period" {
    local before grace
    apply_mirror deleted 'command: [sleep, "600"]'
    start_pod
    wait_for 40 is_in_state deleted RUNNING
    kubectl delete job deleted --wait=false
    wait_for 30 is_ending "$pod"
    grace=$(kubectl get "$pod" -o 'jsonpath={.metadata.deletionGracePeriodSeconds}')
    assert_equal "$grace" 60
    before=$SECONDS
    slurm kill -TERM "$(cat pod.pid)"
    end_pod
    assert_equal "$code" 143
    assert is_in_state deleted CANCELLED
    assert [ $((SECONDS - before)) -lt "$grace" ]
    kubectl delete "$pod" --force --grace-period=0
    assert_equal "$(kubectl get jobs,pods -o name)" ''
}

@test "the pod is killed, another start of the same Job follows the same batch job" {
    apply_mirror again 'script: sleep 8; exit 5'
    start_pod
    wait_for 40 is_in_state again RUNNING
    slurm kill -KILL "$(cat pod.pid)"
    wait_for 10 is_gone "$kubelet"
    start_pod
    end_pod
    assert_equal "$code" 5
    assert_file_contains pod.said 'exists already'
    assert_equal "$(slurm squeue -h -t all --name=again -o %A | wc -l)" 1
    kubectl delete -f again.objects.yaml
}
