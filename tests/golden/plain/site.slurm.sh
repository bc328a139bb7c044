#!/bin/bash
#SBATCH --nodes=2
#SBATCH --job-name=wheat
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --time=00:30:00
#SBATCH --exclusive
#SBATCH --partition=batch
#SBATCH --account=agro
#SBATCH --chdir=runs/wheat
#SBATCH --output=logs/%x-%j.txt
#SBATCH --error=logs/%x-%j.txt
#SBATCH --export=ALL
# From site.job.yaml by cybelectl VERSION, option --plain.
# It starts the program: no record of the end, no check of image, CPUs, GPUs, memory and ranks,
# no signals passed on, nothing cleaned up. See `cybelectl explain scripts`.
cd "${SLURM_SUBMIT_DIR:-.}" || exit
cd runs/wheat || exit
module load site/2026 openmpi/5.0.7
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1
export NUMEXPR_NUM_THREADS=1
export SLURM_PMIX_FENCE=ring
srun --mpi=pmix_v4 --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=1 --kill-on-bad-exit=1 \
        --verbose singularity run "$HOME"/wheat.sif
