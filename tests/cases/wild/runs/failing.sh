#!/bin/bash
#SBATCH --output=run.log
echo before
false
echo "after, code $?"
exit 7
