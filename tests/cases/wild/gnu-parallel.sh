#!/bin/bash
#SBATCH -c 16
ls *.fastq | parallel -j $SLURM_CPUS_PER_TASK gzip {}
