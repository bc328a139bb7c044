#!/bin/sh
#SBATCH --time=10
test -f input && ./a.out < input
