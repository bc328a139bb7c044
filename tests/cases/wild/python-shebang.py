#!/usr/bin/env python3
#SBATCH --job-name=py
#SBATCH --time=5:00
import os
print("task", os.environ.get("SLURM_PROCID"))
