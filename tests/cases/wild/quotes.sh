#!/bin/bash
#SBATCH --job-name="two words"
echo "a: b" '# no comment' \\ `date +%Y` $(( 1 + 2 )) %x @{x}
