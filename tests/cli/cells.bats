# SPDX-License-Identifier: Apache-2.0
# The scripts of the pairs test (tests/unit/pairs), as other programs read them: shellcheck, the rules of qsub of
# TORQUE and OpenPBS, and our own commands; sbatch: cluster/cells.bats. CYBELE_CELLS_STEP is the distance between two scripts that shellcheck reads; 1 reads all.
load ../parts/suite.bash

setup_file() {
    enter_place
    cp -r "$("$parts_dir/job-cells")/cells" .
    PATH=$(dirname "$CYBELECTL"):$PATH
    export PATH place step=${CYBELE_CELLS_STEP:-40}
}
setup() { cd "$place/cells" || return; }
teardown_file() { leave_place; }

# every STEP FILE…: each STEP-th of the files.
every() {
    local distance=$1 index
    shift
    for ((index = 1; index <= $#; index += distance)); do echo "${!index}"; done
}

@test "shellcheck has no warning for the scripts of the cells" {
    local -a scripts
    mapfile -t scripts < <(every "$step" ./*.slurm ./*.torque ./*.pbspro ./*.slurm-torque ./*.local)
    ((${#scripts[@]} > 20))
    shellcheck -s bash --severity=warning "${scripts[@]}" # info: what a word of the Job looks like
    echo "# shellcheck read ${#scripts[@]} scripts" >&3
}

@test "a cell is the same by job render, submit and generate, byte for byte" {
    run "$parts_dir/run-cells" same . "$step"
    echo "# same: ${lines[-1]}" >&3
    assert_success
}

@test "the local scheduler runs cells, and their programs get the words and the environment of the Job" {
    run "$parts_dir/run-cells" run . 12
    echo "# run: ${lines[-1]}" >&3
    assert_success
}

@test "qsub of TORQUE and OpenPBS reads each head" {
    run python3 - "$parts_dir" ./*.torque ./*.pbspro <<'END'
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from torque_rules_request import Refusal, directives, take_options
for name in sys.argv[2:]:
    product = "torque" if name.endswith(".torque") else "openpbs"
    with open(name, "rb") as file:
        script = file.read()
    job = {"l": {}, "W": {}}
    for words in directives(script, product):
        if take_options(words, product, job, True):
            sys.exit("%s: %s is left" % (name, words))
    asks = any(line.startswith(b"#PBS -l") for line in script.splitlines())
    # `launch: batch` and `exact: true` ask for what is written, which may be nothing.
    is_as_written = b"# The script, as the Job has it." in script or os.path.exists(name.rsplit(".", 1)[0] + ".exact")
    if "N" not in job or asks != bool(job["l"]) or not (asks or is_as_written):
        sys.exit("%s: nothing was read" % name)
print(len(sys.argv) - 2)
END
    assert_success
    ((output > 300))
    echo "# qsub's rules read $output scripts" >&3
}
