#!/bin/bash
#SBATCH -n 1
echo begin
#SBATCH --mem=100G
./run
