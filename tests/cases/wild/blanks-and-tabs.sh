#!/bin/bash
#SBATCH -n 1

	echo 'a tab'   
   echo three blanks  


echo end

