#!/bin/bash
#SBATCH -n 1
cp -r data "$TMPDIR"
cd "$TMPDIR" && ./run
cp result "$SLURM_SUBMIT_DIR"
