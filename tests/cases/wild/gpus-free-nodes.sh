#!/bin/bash
#SBATCH -G 8
#SBATCH -c 4
#SBATCH -t 10
python train.py
