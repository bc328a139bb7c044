#!/bin/bash
#SBATCH --output=run.log
work=$(mktemp -d "${TMPDIR:-/tmp}/work.XXXXXX")
echo data >input.dat
cp input.dat "$work/"
cd "$work" || exit 1
tr a-z A-Z <input.dat >output.dat
cp output.dat "$SLURM_SUBMIT_DIR/"
cat output.dat
cd / && rm -rf "$work"
