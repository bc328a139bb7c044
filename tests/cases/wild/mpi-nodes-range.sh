#!/bin/bash
#SBATCH --nodes=2-4
#SBATCH --ntasks=64
srun ./lattice
