#!/bin/bash
#SBATCH --ntasks=1
#SBATCH --output=run.log
cat >env.sh <<'INNER'
activate() { export ACTIVE=$1; PS1="($1)"; }
INNER
source ./env.sh
activate wheat
echo "active: $ACTIVE $PS1 $UNSET_VARIABLE"
