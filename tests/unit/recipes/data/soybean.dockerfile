# syntax=docker/dockerfile:1
FROM debian:12
RUN <<'CYBELECTL_RUN'
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
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
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
help: Python with NumPy, Pandas, GDAL, SciPy, scikit-learn, openpyxl and xlrd, for yield maps of soybean.
CYBELECTL_END
)
CYBELECTL_RUN
ENV LC_ALL="C.UTF-8"
RUN <<'CYBELECTL_RUN'
(
set -eu
python3 -c 'import numpy' > /dev/null
python3 -c 'import pandas' > /dev/null
python3 -c 'import osgeo.gdal' > /dev/null
python3 -c 'import scipy' > /dev/null
python3 -c 'import sklearn' > /dev/null
python3 -c 'import openpyxl' > /dev/null
python3 -c 'import xlrd' > /dev/null
)
CYBELECTL_RUN
LABEL "cybelectl.libc"="glibc 2.36"
LABEL "cybelectl.recipe"="sha256:55ef09587087cab4ceb914fb9fd5be0ec0ef5a32a2f1cbbd72068e0818785415"
LABEL "org.opencontainers.image.description"="Python with NumPy, Pandas, GDAL, SciPy, scikit-learn, openpyxl and xlrd, for yield maps of soybean."
LABEL "org.opencontainers.image.title"="soybean"
LABEL "org.opencontainers.image.version"="0"
ENTRYPOINT ["python3"]
