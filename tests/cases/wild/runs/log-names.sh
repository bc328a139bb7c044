#!/bin/bash
#SBATCH --job-name=names
#SBATCH --array=1-2
#SBATCH --output=%x.%a.log
#SBATCH --error=%x.%a.err
echo "out $SLURM_ARRAY_TASK_ID"
echo "err $SLURM_ARRAY_TASK_ID" >&2
