#!/bin/bash
#SBATCH --mail-type=FAIL
#SBATCH --mail-type=BEGIN
#SBATCH --mail-type=END
#SBATCH --mail-user=grain@mill.example
#SBATCH --time=00:05:00
./mill wheat "$SCRATCH" &
wait
