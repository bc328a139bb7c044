#!/bin/sh
#SBATCH --output=run.log
x=5
[ "$x" -eq 5 ] && echo "five" || echo "other"
echo "$(( x * 2 ))"
