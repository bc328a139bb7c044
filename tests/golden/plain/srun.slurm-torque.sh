#!/bin/bash
#PBS -N steps
#PBS -l select=2:ncpus=4:mpiprocs=2:mem=4096mb
#PBS -l walltime=49:00:00
#PBS -o %x-%j.out
#PBS -e %x-%j.err
# From srun.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "${SLURM_SUBMIT_DIR:-.}" || exit
export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 BLIS_NUM_THREADS=2
export NUMEXPR_NUM_THREADS=2 OMP_PLACES=cores OMP_PROC_BIND=close
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma UCX_TLS=^cma
export UCX_POSIX_USE_PROC_LINK=n MPIR_CVAR_CH4_CMA_ENABLE=0
export SLURM_PMIX_FENCE=ring
srun --mpi=pmix --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=2 --kill-on-bad-exit=1 \
        apptainer exec soybean.sif preprocess
