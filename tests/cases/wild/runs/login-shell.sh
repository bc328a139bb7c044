#!/bin/bash -l
#SBATCH --output=run.log
shopt -q login_shell && echo "login shell"
