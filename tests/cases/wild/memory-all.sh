#!/bin/bash
#SBATCH --mem=0
#SBATCH --exclusive
./run
