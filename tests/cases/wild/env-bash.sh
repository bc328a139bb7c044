#!/usr/bin/env bash
#SBATCH --mem-per-cpu=4000M
values=(1 2 3)
[[ ${#values[@]} -eq 3 ]] && ./run "${values[@]}"
