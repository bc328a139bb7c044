#!/bin/bash
#SBATCH --output=run.log
echo 'single $HOME `id`' "double \$HOME" Größe	tab
printf '%s|' "a  b" 'c\d' "it's"; echo
