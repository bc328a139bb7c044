#!/bin/bash --login
#SBATCH --ntasks=1
module purge
module load gcc
make -j
