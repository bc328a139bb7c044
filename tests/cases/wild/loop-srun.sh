#!/bin/bash
#SBATCH --nodes=1 --ntasks=4
for temperature in 280 290 300; do
    srun -n 4 ./md --temperature $temperature
done
