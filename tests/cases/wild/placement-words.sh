#!/bin/bash
#SBATCH --hint=nomultithread
#SBATCH --distribution=block:block
#SBATCH --exclude=n[1-3]
#SBATCH --nodelist=n7
#SBATCH --switches=1
#SBATCH --threads-per-core=1
srun ./run
