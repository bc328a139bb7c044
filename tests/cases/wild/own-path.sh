#!/bin/bash
#SBATCH -n 1
cd "$(dirname "$0")"
./run
