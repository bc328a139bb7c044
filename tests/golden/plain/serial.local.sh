#!/bin/bash
# From serial.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "${CYBELE_SUBMIT_DIR:-.}" || exit
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
# shellcheck disable=SC2016 # words of the Job are literal
/bin/echo 'it'\''s $HOME; *' ''
