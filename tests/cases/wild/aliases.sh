#!/bin/bash
#SBATCH --tasks-per-node=4
#SBATCH -N2
#SBATCH -c4
#SBATCH -pdebug
srun ./run
