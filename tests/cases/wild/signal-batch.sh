#!/bin/bash
#SBATCH --time=1:00:00
#SBATCH --signal=B:USR1@120
trap 'echo saving' USR1
./run &
wait
