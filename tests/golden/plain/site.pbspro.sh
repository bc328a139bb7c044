#!/bin/bash
#PBS -N wheat
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l place=scatter:excl
#PBS -l walltime=00:30:00
#PBS -q batch
#PBS -A agro
#PBS -j oe
# From site.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "$PBS_O_WORKDIR" || exit
cd runs/wheat || exit
job_number=${PBS_JOBID%%[.[]*}
exec >logs/wheat-"$job_number".txt 2>&1
module load site/2026 openmpi/5.0.7
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
/opt/openmpi/bin/mpirun --hostfile "$PBS_NODEFILE" -x OMP_NUM_THREADS -x MKL_NUM_THREADS \
        -x OPENBLAS_NUM_THREADS -x BLIS_NUM_THREADS -x NUMEXPR_NUM_THREADS -np 8 --map-by \
        ppr:4:node:PE=1 --bind-to core --verbose singularity run "$HOME"/wheat.sif
