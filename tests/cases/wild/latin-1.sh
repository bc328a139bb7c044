#!/bin/bash
#SBATCH -n 1
# Größe
./run
