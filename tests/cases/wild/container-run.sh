#!/bin/bash
#SBATCH -n 1
singularity run --cleanenv --overlay my.img tools.sif --help
