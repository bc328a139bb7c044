#!/bin/bash
#SBATCH -n 1
  #SBATCH --mem=100G
./run
