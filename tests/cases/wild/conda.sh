#!/bin/bash -l
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=4
source ~/miniconda3/etc/profile.d/conda.sh
conda activate analysis
python train.py
