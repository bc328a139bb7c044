#!/bin/bash
#SBATCH -N 1
#SBATCH -n 2
./left & ./right &
wait
echo both ended
