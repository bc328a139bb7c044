#!/bin/bash
#SBATCH --array=0-2
#SBATCH --output=run.%a.log
values=(red "dark green" blue)
echo "element $SLURM_ARRAY_TASK_ID is ${values[$SLURM_ARRAY_TASK_ID]}"
