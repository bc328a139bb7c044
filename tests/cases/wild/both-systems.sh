#!/bin/bash
#SBATCH -n 1
#PBS -l nodes=1:ppn=4
./run
