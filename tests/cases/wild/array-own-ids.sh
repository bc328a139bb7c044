#!/bin/bash
#SBATCH --array=1,3,7
#SBATCH -o %j.out
./run
