#!/bin/bash
#SBATCH --output=run.log
set -- alpha beta
case $1 in
    a*) echo "first: $1" ;;
    *) echo "?" ;;
esac
shift
echo "then: $*"
