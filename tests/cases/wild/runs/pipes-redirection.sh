#!/bin/bash
#SBATCH --output=run.log
printf '3\n1\n2\n' | sort -n >sorted.txt
while read -r line; do echo "line $line"; done <sorted.txt
ls /nowhere 2>/dev/null || echo "not there"
