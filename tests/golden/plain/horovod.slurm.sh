#!/bin/bash
#SBATCH --nodes=2
#SBATCH --job-name=horovod
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out
#SBATCH --error=%x-%j.err
#SBATCH --export=ALL
# From horovod.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "${SLURM_SUBMIT_DIR:-.}" || exit
export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 BLIS_NUM_THREADS=2
export NUMEXPR_NUM_THREADS=2 OMP_PLACES=cores OMP_PROC_BIND=close HOROVOD_CONTROLLER=mpi
export HOROVOD_CPU_OPERATIONS=mpi
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma UCX_TLS=^cma
export UCX_POSIX_USE_PROC_LINK=n MPIR_CVAR_CH4_CMA_ENABLE=0
mpirun -np 4 --map-by ppr:2:node:PE=2 --bind-to core apptainer exec horovod.sif python3 train.py
