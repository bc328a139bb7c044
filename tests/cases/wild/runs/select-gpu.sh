#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --output=run.log
cat << INNER > select_gpu
#!/bin/bash
export ROCR_VISIBLE_DEVICES=\$SLURM_LOCALID
exec \$*
INNER
chmod +x ./select_gpu
srun ./select_gpu bash -c 'echo "GPU $ROCR_VISIBLE_DEVICES"' | sort
rm -f ./select_gpu
