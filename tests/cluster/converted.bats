# SPDX-License-Identifier: Apache-2.0
# Scripts as people write them, run by a real Slurm and by the local scheduler before and after `job convert`: the same outputs.
load ../parts/suite.bash
load nodes.bash
load conversions.bash

setup_file() {
    start_nodes
    copy_fixture
    "$CYBELECTL" install-as apptainer "$place/programs"
}
setup() { enter_nodes; }
teardown_file() { stop_nodes; }

@test "on Slurm" {
    scripts_run_the_same
    [ "$count" -ge 23 ]
}

@test "on the local scheduler" {
    mkdir here && cd here
    ln ../hello-mpi.sif .
    for file in "$repo"/tests/cases/wild/runs/*.sh; do
        name=$(basename "$file" .sh)
        if grep -q 'srun\|scontrol\|SLURM_' "$file"; then # of Slurm alone
            continue
        fi
        mapfile -d '' -t words < <(words_of "$name")
        prepare "$name" before
        prepare "$name" after
        code_before=0 code_after=0
        (cd "$name/before" && "$CYBELECTL" submit --script script.sh --scheduler local --wait -- "${words[@]}") || code_before=$?
        (
            cd "$name/after"
            "$CYBELECTL" job convert script.sh -o job.yaml
            "$CYBELECTL" submit job.yaml --scheduler local --wait -- "${words[@]}"
        ) || code_after=$?
        echo "$name: $code_before and $code_after"
        [ "$code_before" -eq "$code_after" ]
        diff <(shown "$name/before") <(shown "$name/after")
    done
}

@test "the tables by which scripts are read are those of the installed Slurm and Open MPI, and of Apptainer's page" {
    # Of MPICH or Intel MPI, too, where CYBELE_HYDRA_PREFIX names an installed one.
    run slurm "$parts_dir/option-tables" slurm openmpi apptainer ${CYBELE_HYDRA_PREFIX:+"hydra=$CYBELE_HYDRA_PREFIX"}
    assert_success
    assert_output --regexp '[0-9]{3} options compared, 0 differ'
}
