#!/bin/bash
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --output=run.log
if [ -n "$SLURM_CPUS_PER_TASK" ]; then export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK; else export OMP_NUM_THREADS=1; fi
for OMP_NUM_THREADS in 1 2; do export OMP_NUM_THREADS; env | grep ^OMP_NUM; done
