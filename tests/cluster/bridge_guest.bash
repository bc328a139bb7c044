# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites of `cybelectl bridge` whose jobs are those of guest, an account that is not the one that runs the bridge.
# shellcheck disable=SC2154 # place is of suite.bash

# job NAME LINE…: creates a SlurmJob of guest whose script has these lines.
job() {
    {
        printf '%s\n' 'apiVersion: cybelectl.io/v1alpha1' 'kind: SlurmJob' "metadata: {name: $1}" 'spec:' '  batch: |' '    #!/bin/sh' \
            "    #SBATCH --output=$place/slurm/guest/$1.out" "    ${directive:-#}"
        printf '    %s\n' "echo $1 >>$place/slurm/guest/ran" "${@:2}"
    } | kubectl create -f -
}
runs_of() { grep -cx "$1" slurm/guest/ran || true; }
# is_hindered NAME CONDITION: it is False because the account's key or token is not accepted.
is_hindered() { [[ $(condition "$1" "$2" status) == False && $(condition "$1" "$2" reason) == CredentialsFailed ]]; }
