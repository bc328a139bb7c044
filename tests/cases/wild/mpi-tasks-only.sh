#!/bin/bash
#SBATCH -n 1024
#SBATCH -t 2:00:00
#SBATCH -p normal
mpirun ./lattice
