#!/bin/bash
#SBATCH --job-name=wheat
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=3
#SBATCH --time=00:40:00
srun ./grow field.csv
