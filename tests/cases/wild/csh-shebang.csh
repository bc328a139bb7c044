#!/bin/csh -f
#SBATCH --time=5:00
setenv MODE fast
if ( $?MODE ) echo $MODE
