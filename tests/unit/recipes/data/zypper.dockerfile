# syntax=docker/dockerfile:1
FROM opensuse/leap:15.6
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export LC_ALL=C.UTF-8
zypper --non-interactive --gpg-auto-import-keys refresh
zypper --non-interactive install --no-recommends \
    gcc \
    gcc-c++ \
    gcc-fortran \
    jq=1.6 \
    make \
    python3
zypper clean --all
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
mkdir -p /opt/cybelectl
cat > '/opt/cybelectl/recipe.yaml' <<'CYBELECTL_END'
kind: Recipe
name: zypper
base: opensuse-leap:15.6
packages:
  needs:
    - toolchain-c++
    - fortran
    - python
  system:
    - jq=1.6
run:
  - python3
CYBELECTL_END
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
python3 --version > /dev/null
)
CYBELECTL_RUN
LABEL "cybelectl.recipe"="sha256:d8f2c8ca5a4c8d9caa2fa320ce6f170fc4e7cd06c2e4235be8a1e217679f1c4e"
LABEL "org.opencontainers.image.base.name"="opensuse/leap:15.6"
LABEL "org.opencontainers.image.title"="zypper"
LABEL "org.opencontainers.image.version"="0"
ENTRYPOINT ["python3"]
