#!/bin/bash
#SBATCH -n 5
mpirun -np 1 ./master : -np 4 ./worker
