# syntax=docker/dockerfile:1
FROM rocm/dev-ubuntu-24.04:7.2.4-complete
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt-get update
apt-get install -y --no-install-recommends \
    cmake
apt-get clean
rm -rf /var/lib/apt/lists/*
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export PATH='/opt/rocm/bin'"${PATH:+:$PATH}"
cd '/'
hipcc --version
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
mkdir -p /opt/cybelectl
cat > '/opt/cybelectl/recipe.yaml' <<'CYBELECTL_END'
kind: Recipe
name: gpu
base: ubuntu:24.04
gpu:
  vendor: rocm
  version: 7.2.4
packages:
  needs:
    - cmake
steps:
  - hipcc --version
run:
  - rocminfo
CYBELECTL_END
)
CYBELECTL_RUN
ENV PATH="/opt/rocm/bin${PATH:+:$PATH}"
RUN <<'CYBELECTL_RUN'
(
set -eu
cmake --version > /dev/null
)
CYBELECTL_RUN
LABEL "cybelectl.libc"="glibc 2.39"
LABEL "cybelectl.recipe"="sha256:388301483949fa41db0d152ff228bf555480b33f48076df5d99199511dfc1c84"
LABEL "org.opencontainers.image.base.name"="rocm/dev-ubuntu-24.04:7.2.4-complete"
LABEL "org.opencontainers.image.title"="gpu"
LABEL "org.opencontainers.image.version"="0"
ENTRYPOINT ["rocminfo"]
