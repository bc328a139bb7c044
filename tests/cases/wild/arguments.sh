#!/bin/bash
#SBATCH --job-name=args
echo "first $1, all: $@ ($# words)"
