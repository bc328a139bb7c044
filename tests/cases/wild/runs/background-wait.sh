#!/bin/bash
#SBATCH --job-name=bg
#SBATCH --ntasks=2
#SBATCH --output=run.log
for i in 1 2 3; do
    (sleep $i; echo "part $i") &
done
wait
echo "all ended"
