#!/bin/bash
#SBATCH --mail-type=TIME_LIMIT_90,END
./run
