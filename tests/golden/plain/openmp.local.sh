#!/bin/bash
# From openmp.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "${CYBELE_SUBMIT_DIR:-.}" || exit
export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 BLIS_NUM_THREADS=4
export NUMEXPR_NUM_THREADS=4 OMP_PLACES=cores OMP_PROC_BIND=spread LABEL='a b,c' LEVEL=3
TOKEN=$(<"$HOME"/.token) && export TOKEN
cybelectl exec -B "$HOME"/data:/data:ro -B /scratch --env LEVEL="$LEVEL" 'images/sten cil.sif' env \
        'LABEL=a b,c' stencil --size 4096
