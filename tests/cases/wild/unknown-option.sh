#!/bin/bash
#SBATCH --ntask=1
#SBATCH --frobnicate
./run
