#!/bin/bash
#SBATCH --export=NONE
#SBATCH --get-user-env
./run
