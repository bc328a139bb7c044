#!/bin/bash
#PBS -N stencil
#PBS -l select=1:ncpus=4:mpiprocs=1:mem=1500mb
#PBS -l walltime=01:30:00
#PBS -j oe
# From openmp.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "$PBS_O_WORKDIR" || exit
job_number=${PBS_JOBID%%[.[]*}
exec >stencil-"$job_number".out 2>stencil-"$job_number".err
export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 BLIS_NUM_THREADS=4
export NUMEXPR_NUM_THREADS=4 OMP_PLACES=cores OMP_PROC_BIND=spread LABEL='a b,c' LEVEL=3
TOKEN=$(<"$HOME"/.token) && export TOKEN
apptainer exec -B "$HOME"/data:/data:ro -B /scratch --env LEVEL="$LEVEL" 'images/sten cil.sif' env \
        'LABEL=a b,c' stencil --size 4096
