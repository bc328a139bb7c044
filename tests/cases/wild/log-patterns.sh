#!/bin/bash
#SBATCH --output=%u_%N_%x.%A.log
#SBATCH --error=/dev/null
./run
