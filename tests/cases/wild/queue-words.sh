#!/bin/bash
#SBATCH --partition=short,long
#SBATCH --account=grant-7
#SBATCH --qos=high
#SBATCH --reservation=course
#SBATCH --licenses=matlab:2
#SBATCH --begin=now+1hour
#SBATCH --dependency=afterok:123
#SBATCH --requeue
#SBATCH --open-mode=append
./run
