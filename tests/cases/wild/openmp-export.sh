#!/bin/bash
#SBATCH --cpus-per-task=8
#SBATCH --time=1-00:00:00
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
./solver
