#!/bin/bash
#SBATCH -N 1
#SBATCH -n 2
#SBATCH -o run.log
for n in 1 2; do
    srun -n $n bash -c 'echo "step of $SLURM_NTASKS, rank $SLURM_PROCID"' | sort
done
