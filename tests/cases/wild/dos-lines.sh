#!/bin/bash
#SBATCH -n 1
#SBATCH --time=10
./run
