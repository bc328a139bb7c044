#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=run.log
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR=$(echo "$hosts" | head -n 1)
srun bash -c 'echo "rank $SLURM_PROCID meets at $MASTER_ADDR"' | sort
