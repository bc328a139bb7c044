#!/bin/bash
#SBATCH -J out_put
#SBATCH -o logs/%x-%j.out
#SBATCH -e logs/%x-%j.err
#SBATCH -t 90
./simulate input.dat > result.txt
