#!/bin/bash
#SBATCH -n 1
cat > next.sh <<'EOF2'
#!/bin/bash
#SBATCH --time=1:00
echo next
EOF2
sbatch next.sh
