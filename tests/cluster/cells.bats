# SPDX-License-Identifier: Apache-2.0
# The scripts of the pairs test (tests/unit/pairs) as a real sbatch reads them: each is accepted, or asks for something that this cluster
# does not have. CYBELE_CELLS_STEP is the distance between two scripts that are read; 1 reads all.
load ../parts/suite.bash
load nodes.bash

setup_file() {
    start_nodes
    cp -r "$("$parts_dir/job-cells")/cells" "$place"
    # What the cells name, as far as a configuration can have it: queues, features, licences, more cores and memory than there are.
    stop_and_start_with_more
}
setup() { cd "$place/cells" || return; }
teardown_file() { stop_nodes; }

stop_and_start_with_more() {
    local conf=$place/slurm/slurm.conf
    sed -i 's/^\(NodeName=.*\) CPUs=4 RealMemory=4000/\1 CPUs=2000 RealMemory=999999999 Feature=ib,nvme/; s/ MaxTime=1:00:00/ MaxTime=INFINITE/' "$conf"
    printf '%s\n' 'PartitionName=long Nodes=ALL MaxTime=INFINITE' 'PartitionName=night Nodes=ALL MaxTime=INFINITE' 'Licenses=matlab:9' \
        'MaxArraySize=30000' 'MaxJobCount=40000' >>"$conf"
    slurm bash -c "kill \$(cat '$place/slurm/ctld.pid'); sleep 1; slurmctld"
    # Until a node has registered again, no configuration is available.
    wait_for 60 nodes_have_registered
}
nodes_have_registered() { [[ $(slurm sinfo --noheader --format=%T) == idle ]]; }

# What a cluster can lack; all else that sbatch says is a fault of the script.
lacks='Invalid partition name specified|Requested node configuration is not available|Requested partition configuration not available now|Invalid qos specification|Invalid account or account/partition combination specified|Invalid feature specification|Invalid license specification|Invalid generic resource \(gres\) specification|Requested reservation is invalid|Invalid node name specified|Job dependency problem|Memory required by task is not available|Node count specification invalid|Requested GRES option unsupported by configured SelectType plugin|Required node not available \(down, drained or reserved\)'

# The scripts of Jobs that ask the scheduler for what they write alone (a batch launch, `exact`), as words between `|`.
as_written() {
    { grep -l '^ *# The script, as the Job has it\.' -- *.slurm && printf '%s\n' *.exact | sed 's/exact$/slurm/'; } | paste -sd'|'
}

@test "sbatch --test-only accepts each script, or names what this cluster lacks" {
    # shellcheck disable=SC2016 # for the shell on the head node
    slurm bash -c '
        step=$1 number=0
        for script in *.slurm; do
            ((number++ % step == 0)) || continue
            if said=$(sbatch --ignore-pbs --test-only "$script" 2>&1); then
                echo "accepted"
            else
                printf "%s: %s\n" "$script" "$(tr "\n" " " <<<"$said")"
            fi
        done' cells "${CYBELE_CELLS_STEP:-12}" >../said
    local all accepted
    all=$(wc -l <../said)
    accepted=$(grep -c '^accepted$' ../said)
    sed -nE 's/.*(allocation failure|sbatch: error): (.*[^ ]) *$/# \2/p' ../said | sort | uniq -c >&3
    echo "# sbatch --test-only read $all scripts, accepted $accepted" >&3
    run grep -vE "^accepted$|(allocation failure|sbatch: error): ($lacks)" ../said
    assert_output ''
    run grep -E "Warning: can't run|invalid number of nodes" ../said
    # Where a script asks for no number of nodes, sbatch says itself what the rendering has warned of.
    run grep -vE "^($(as_written)): sbatch: Warning: can't run [0-9]+ processes on [0-9]+ nodes, setting nnodes" <<<"$output"
    assert_output ''
    ((all >= 50 && accepted * 4 >= all))
}
