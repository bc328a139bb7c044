#!/bin/bash
##SBATCH --mem=100G
# SBATCH --time=1
#SBATCH -n 1
./run
