# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites of `cybelectl bridge`: a real API server, a real Slurm, and bridges between them.
# shellcheck disable=SC2154 # parts_dir and place are of suite.bash

# start_bridge_parts: both sides. The bridge runs on this machine; Slurm's commands lead into the head node, and are counted.
start_bridge_parts() {
    local name
    start_nodes
    export KUBECONFIG=$place/kubernetes/kubeconfig
    "$parts_dir/kubernetes" start "$place" >&2
    mkdir -p commands work
    for name in sbatch squeue scancel scontrol sacct sinfo; do
        printf '%s\n' '#!/bin/sh' "echo $name >>'$place/calls'" "[ ! -x '$place/before-$name' ] || '$place/before-$name' \"\$@\" || exit" \
            "PATH='$PATH' exec '$parts_dir/slurm' exec '$place' $name \"\$@\"" >"commands/$name"
        chmod +x "commands/$name"
    done
    "$CYBELECTL" kube crd SlurmJob | kubectl apply -f - >&2
    wait_for 30 kubectl wait --for=condition=Established crd/slurmjobs.cybelectl.io --timeout=10s
    export user
    user=$(id -un)
    printf '%s\n' 'kind: Site' 'name: here' 'scheduler: slurm' 'queues: [{name: batch, nodes: 2, max-time: 1 h}]' >site.yaml
    write_bridge
}
stop_bridge_parts() {
    "$parts_dir/kubernetes" stop "$place"
    stop_nodes
}

# write_bridge: bridge.yaml.
write_bridge() { write_plain_bridge; }
write_plain_bridge() {
    printf '%s\n' 'kind: Bridge' 'name: test' 'site: site.yaml' 'poll: 1 s' 'hand-over-patience: 4 s' 'accounts:' \
        "  - {namespace: default, account: $user, workdir: $place/work}" >bridge.yaml
}

kubectl() { "$parts_dir/kubernetes" kubectl 1.34 "$@"; }

# as_bridge COMMAND…: with the commands of Slurm.
as_bridge() { PATH=$place/commands:$PATH "$@"; }

# install_rights: bridges have the rights that `bridge install` prints for bridge.yaml, and no others.
install_rights() {
    "$CYBELECTL" bridge install | kubectl apply -f - >&2
    sed "s|users:.*|users: [{name: admin, user: {token: \"$(kubectl create token cybelectl-bridge -n cybelectl --duration 2h)\"}}]|; \
        s|user: admin}|user: admin, namespace: cybelectl}|" kubernetes/kubeconfig >rights.conf
}

# start_bridge NAME [OPTION…]: in the background, with the kubeconfig `rights`, else rights.conf where it exists; its log is NAME.log,
# its process NAME.pid.
start_bridge() {
    local conf=${rights:-rights.conf} by=()
    [[ ! -e $conf ]] || by=(--kubeconfig "$conf")
    # A command of its own, no function: the id must be that of the bridge.
    PATH=$place/commands:$PATH "$CYBELECTL" bridge run --config bridge.yaml "${by[@]}" "${@:2}" >>"$1.log" 2>&1 3>&- &
    echo $! >"$1.pid"
}
# stop_bridge NAME [SIGNAL]: ends it, if it is there.
stop_bridge() {
    local pid
    [[ -e $1.pid ]] || return 0
    pid=$(cat "$1.pid")
    rm "$1.pid"
    kill -s "${2:-TERM}" "$pid" 2>/dev/null || return 0
    wait "$pid" 2>/dev/null || true
}
stop_bridges() {
    local file
    for file in *.pid; do [[ ! -e $file ]] || stop_bridge "${file%.pid}"; done
}

# job NAME LINE…: creates a SlurmJob whose script has these lines after its directives.
job() {
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1, namespace: ${space:-default}}" \
            'spec:' "  onDelete: ${on_delete:-Cancel}" '  batch: |' '    #!/bin/sh' "    ${directive:-#SBATCH --output=$place/work/$1.out}"
        printf '    %s\n' "echo $1 >>$place/ran" "${@:2}"
    } >"$1.yaml"
    kubectl apply -f "$1.yaml"
}
# field NAME PATH: of the object.
field() { kubectl get slurmjob -n "${space:-default}" "$1" -o "jsonpath={$2}"; }
reaches() { [[ $(field "$1" .status.status) == "$2" ]]; }
# ends NAME PHASE [SECONDS]
ends() {
    wait_for "${3:-40}" reaches "$1" "$2" || { kubectl get slurmjob -n "${space:-default}" "$1" -o yaml && cat ./*.log && return 1; }
}
# is_released NAME: the finalizer is gone; it is removed after the status of the end is written.
is_released() { [[ -z $(field "$1" .metadata.finalizers) ]]; }
condition() { field "$1" ".status.conditions[?(@.type==\"$2\")].$3"; }
runs_of() { grep -cx "$1" ran || true; }
# in_queue: ids of jobs of Slurm that have not ended.
in_queue() { slurm squeue -h -o %i; }
asked() { grep -c "^$1\$" calls || true; }
