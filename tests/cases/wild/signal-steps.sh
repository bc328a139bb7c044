#!/bin/bash
#SBATCH --time=1:00:00
#SBATCH --signal=USR1@120
srun ./run
