#!/bin/bash
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -o run.log
srun echo "one program"
