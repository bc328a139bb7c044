#!/bin/bash
#SBATCH --nodes=1
#DW jobdw capacity=200GB access_mode=striped type=scratch
#SBATCH --time=00:05:00
srun ./write "$DW_JOB_STRIPED"
