#!/bin/bash
#SBATCH --gpus=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-gpu=8
#SBATCH --gpu-bind=closest
srun ./run
