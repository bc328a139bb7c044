#!/bin/bash
#SBATCH --nodes=1
#SBATCH --job-name=stencil
#SBATCH --ntasks=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=1500M
#SBATCH --time=01:30:00
#SBATCH --output=%x-%j.out
#SBATCH --error=%x-%j.err
#SBATCH --export=ALL
# From openmp.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "${SLURM_SUBMIT_DIR:-.}" || exit
export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 BLIS_NUM_THREADS=4
export NUMEXPR_NUM_THREADS=4 OMP_PLACES=cores OMP_PROC_BIND=spread LABEL='a b,c' LEVEL=3
TOKEN=$(<"$HOME"/.token) && export TOKEN
apptainer exec -B "$HOME"/data:/data:ro -B /scratch --env LEVEL="$LEVEL" 'images/sten cil.sif' env \
        'LABEL=a b,c' stencil --size 4096
