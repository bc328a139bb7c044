#!/bin/bash
#SBATCH --array=0-9%3
#SBATCH --output=run_%A_%a.out
echo "element $SLURM_ARRAY_TASK_ID"
python3 train.py --seed $SLURM_ARRAY_TASK_ID
