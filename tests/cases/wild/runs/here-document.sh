#!/bin/bash
#SBATCH --output=run.log
#SBATCH --time=00:02:00
name=field
cat >input.txt <<END
name = $name
 #SBATCH is text here
END
cat input.txt
