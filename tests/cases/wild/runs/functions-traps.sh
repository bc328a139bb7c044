#!/bin/bash
#SBATCH --output=run.log
trap 'echo cleaned' EXIT
step() { echo "step $1"; return "$2"; }
step one 0
step two 3
echo "code $?"
