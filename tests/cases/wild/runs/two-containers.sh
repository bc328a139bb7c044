#!/bin/bash
#SBATCH --output=run.log
#SBATCH --ntasks=1
apptainer exec app.sif sh -c 'echo one in "$(cat /etc/os-release | sed -n s/^ID=//p)"'
for n in 1 2; do
    apptainer exec --bind "$PWD:/here" app.sif sh -c "echo again $n; test -e /here/app.sif && echo bound"
done
