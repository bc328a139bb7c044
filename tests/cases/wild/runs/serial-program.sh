#!/bin/bash
#SBATCH --job-name=plain
#SBATCH --ntasks=1
#SBATCH --time=5
#SBATCH --output=run.log
export LEVEL=3
printenv LEVEL
