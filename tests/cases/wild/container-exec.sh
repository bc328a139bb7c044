#!/bin/bash
#SBATCH --gpus-per-node=1
apptainer exec --nv tools.sif python train.py
