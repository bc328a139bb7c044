#!/bin/bash
#PBS -N host-mpi
#PBS -l nodes=2:ppn=2
#PBS -l walltime=01:00:00
#PBS -j oe
# From host-mpi.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "$PBS_O_WORKDIR" || exit
job_number=${PBS_JOBID%%[.[]*}
exec >host-mpi-"$job_number".out 2>host-mpi-"$job_number".err
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
mpirun --hostfile "$PBS_NODEFILE" -x OMP_NUM_THREADS -x MKL_NUM_THREADS -x OPENBLAS_NUM_THREADS \
        -x BLIS_NUM_THREADS -x NUMEXPR_NUM_THREADS -np 4 --map-by ppr:2:node --bind-to none ./app
