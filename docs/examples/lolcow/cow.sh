#!/bin/sh
#PBS -l walltime=00:30:00
#PBS -l nodes=1
#PBS -e /home/eve/low.err
#PBS -o /home/eve/low.out
export PATH=$PATH:/usr/local/bin
cd /home/eve
singularity run lolcow.sif
