#!/bin/bash
#SBATCH --ntasks=1
#SBATCH --output=run.log
echo "$# arguments"
for word in "$@"; do echo "<$word>"; done
