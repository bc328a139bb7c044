#!/bin/bash
#SBATCH --job-name=plain
#SBATCH --time=00:10:00
#SBATCH --mem=2G
./simulate --steps 100
