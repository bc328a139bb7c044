#!/bin/bash
#SBATCH --time=1:00:00 # one hour
#SBATCH --comment="for the paper # 3"
./run
