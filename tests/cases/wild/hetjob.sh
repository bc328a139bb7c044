#!/bin/bash
#SBATCH -n 1
#SBATCH hetjob
#SBATCH -n 4
srun ./a : ./b
