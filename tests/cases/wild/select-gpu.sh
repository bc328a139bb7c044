#!/bin/bash
#SBATCH --nodes=1 --gpus-per-node=8 --ntasks-per-node=8
cat << EOF2 > select_gpu
#!/bin/bash
export ROCR_VISIBLE_DEVICES=\$SLURM_LOCALID
exec \$*
EOF2
chmod +x ./select_gpu
srun --cpu-bind=map_cpu:49,57,17,25,1,9,33,41 ./select_gpu ./run
rm -rf ./select_gpu
