#!/bin/bash
#SBATCH -n 1
cat > input.txt <<END
temperature = 300
#SBATCH --not-mine
END
./md input.txt
