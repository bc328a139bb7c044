#!/bin/bash
#PBS -N hello
#PBS -l select=1:ncpus=1:mpiprocs=1
#PBS -j oe
# From serial.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "$PBS_O_WORKDIR" || exit
job_number=${PBS_JOBID%%[.[]*}
exec >hello-"$job_number".out 2>hello-"$job_number".err
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
# shellcheck disable=SC2016 # words of the Job are literal
/bin/echo 'it'\''s $HOME; *' ''
