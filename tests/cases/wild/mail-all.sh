#!/bin/bash
#SBATCH --mail-type=ALL
#SBATCH --mail-user=a@b.example
./run
