#!/bin/bash
#SBATCH --chdir=/scratch/work
./run
