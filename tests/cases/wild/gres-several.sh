#!/bin/bash
#SBATCH --gres=gpu:a100:2,lscratch:100
./run
