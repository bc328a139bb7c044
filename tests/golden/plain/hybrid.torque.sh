#!/bin/bash
#PBS -N soybean
#PBS -l nodes=2:ppn=4
#PBS -l mem=8192mb
#PBS -l walltime=49:00:00
#PBS -j oe
# From hybrid.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "$PBS_O_WORKDIR" || exit
job_number=${PBS_JOBID%%[.[]*}
exec >soybean-"$job_number".out 2>soybean-"$job_number".err
export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 BLIS_NUM_THREADS=2
export NUMEXPR_NUM_THREADS=2
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma UCX_TLS=^cma
export UCX_POSIX_USE_PROC_LINK=n MPIR_CVAR_CH4_CMA_ENABLE=0
mpirun --hostfile "$PBS_NODEFILE" -x OMP_NUM_THREADS -x MKL_NUM_THREADS -x OPENBLAS_NUM_THREADS \
        -x BLIS_NUM_THREADS -x NUMEXPR_NUM_THREADS -np 4 --map-by ppr:2:node --bind-to none \
        apptainer exec soybean.sif preprocess --years 2017,2018,2019
