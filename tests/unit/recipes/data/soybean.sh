#!/bin/sh
# shellcheck disable=SC2030,SC2031,SC2089,SC2090
# Installs soybean 0, as root. The first word is the folder that relative files lie in.
set -eu
umask 022
cybelectl_from=${1:-.}
cybelectl_from=$(cd "$cybelectl_from" && pwd)
export cybelectl_from
cybelectl_release=$(. /etc/os-release && echo "$ID:${VERSION_ID:-sid}")
if [ "$cybelectl_release" != 'debian:12' ]; then
    echo "this script is for debian:12, not $cybelectl_release" >&2
    exit 1
fi

# stage of the image
(
set -eu
umask 022
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt-get update
apt-get install -y --no-install-recommends \
    python3-gdal \
    python3-numpy \
    python3-openpyxl \
    python3-pandas \
    python3-scipy \
    python3-sklearn \
    python3-xlrd
apt-get clean
rm -rf /var/lib/apt/lists/*
)
(
set -eu
umask 022
mkdir -p /opt/cybelectl
cat > '/opt/cybelectl/recipe.yaml' <<'CYBELECTL_END'
kind: Recipe
name: soybean
base: debian:12
packages:
  system:
    - python3-numpy
    - python3-pandas
    - python3-gdal
    - python3-scipy
    - python3-sklearn
    - python3-openpyxl
    - python3-xlrd
environment:
  LC_ALL: C.UTF-8
run:
  - python3
help: "Python with NumPy, Pandas, GDAL, SciPy, scikit-learn, openpyxl and xlrd, for yield maps of soybean."
CYBELECTL_END
)

# environment, at each login
cat > '/etc/profile.d/soybean.sh' <<'CYBELECTL_END'
export LC_ALL='C.UTF-8'
CYBELECTL_END

# what `run` says
mkdir -p /usr/local/bin
cat > '/usr/local/bin/soybean' <<'CYBELECTL_END'
#!/bin/sh
export LC_ALL='C.UTF-8'
exec 'python3' "$@"
CYBELECTL_END
chmod 755 '/usr/local/bin/soybean'

# test
(
export LC_ALL='C.UTF-8'
set -eu
python3 -c 'import numpy' > /dev/null
python3 -c 'import pandas' > /dev/null
python3 -c 'import osgeo.gdal' > /dev/null
python3 -c 'import scipy' > /dev/null
python3 -c 'import sklearn' > /dev/null
python3 -c 'import openpyxl' > /dev/null
python3 -c 'import xlrd' > /dev/null
)
