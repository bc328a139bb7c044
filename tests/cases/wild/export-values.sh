#!/bin/bash
#SBATCH --export=ALL,LEVEL=3
echo $LEVEL
