#!/bin/bash
#SBATCH -n 1
if [ -d /opt/modules ]; then module load tools; fi
export OMP_NUM_THREADS=1
for n in 1 2 4; do export OMP_NUM_THREADS=$n; ./run; done
