#!/bin/csh -f
#SBATCH --job-name=seas
#SBATCH --ntasks=1
#SBATCH --time=5
#SBATCH --output=run.log
setenv STEPS 3
set names = (rice wheat)
@ total = 0
foreach name ($names)
    @ total = $total + $STEPS
    echo "grain $name"
end
if ($total == 6 && $?tcsh) echo "the total of $shell:t is $total"
(echo to both; unsetenv STEPS)
exit 5
