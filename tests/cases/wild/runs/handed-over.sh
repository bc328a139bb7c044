#!/bin/bash -l
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --hint=nomultithread
#SBATCH --output=log-%u.txt
# Each rank reads values of the run, in a directory that the script has entered.
mkdir -p runs/one
cd runs/one || exit 1
echo here >marker
echo spaces >'a b'
two=$(echo marker marker)
quoted=$(echo 'a b')
export known=./marker
srun sort $two "$quoted" "./$quoted" $known 'a b'
exit $?
