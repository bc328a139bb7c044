#!/bin/bash
#SBATCH -n 1
export API_TOKEN=abcdef0123456789
python upload.py
