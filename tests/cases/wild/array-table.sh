#!/bin/bash
#SBATCH -a 1-4
line=$(sed -n "${SLURM_ARRAY_TASK_ID}p" table.txt)
set -- $line
./run "$1" "$2"
