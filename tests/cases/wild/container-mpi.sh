#!/bin/bash
#SBATCH -N 2
#SBATCH --ntasks-per-node=4
#SBATCH -t 1:00:00
srun --mpi=pmix apptainer exec solver.sif solve case.in
