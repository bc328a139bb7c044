#!/bin/bash
#SBATCH --mail-type=begin,End,FAIL
#SBATCH --mail-user=a@b.example
./run
