#!/bin/bash
#PBS -N infer
#PBS -l nodes=1:ppn=1:gpus=2:nvme:ib
#PBS -j oe
# From gpus.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "$PBS_O_WORKDIR" || exit
job_number=${PBS_JOBID%%[.[]*}
exec >infer-"$job_number".out 2>infer-"$job_number".err
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
apptainer exec --nv infer.sif infer
