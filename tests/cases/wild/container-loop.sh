#!/bin/bash
#SBATCH -n 4
for part in a b c; do
    singularity exec --bind $SCRATCH:/data tools.sif process $part
done
