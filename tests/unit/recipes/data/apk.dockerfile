# syntax=docker/dockerfile:1
FROM alpine:3.24
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export LC_ALL=C.UTF-8
apk add --no-cache \
    cmake \
    jq=1.6 \
    openblas-dev \
    samurai
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
cd '/'
cmake --version
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
mkdir -p /opt/cybelectl
cat > '/opt/cybelectl/recipe.yaml' <<'CYBELECTL_END'
kind: Recipe
name: apk
base: alpine:3.24
packages:
  needs:
    - cmake
    - ninja
    - openblas
  system:
    - jq=1.6
steps:
  - cmake --version
run:
  - cmake
CYBELECTL_END
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
cmake --version > /dev/null
ninja --version > /dev/null
)
CYBELECTL_RUN
LABEL "cybelectl.libc"="musl 1.2.6"
LABEL "cybelectl.recipe"="sha256:81c53ff106713dea791cdbe2f8ce080b5c7587b1fa34e2eea6029bf3ad3a9b6c"
LABEL "org.opencontainers.image.base.name"="alpine:3.24"
LABEL "org.opencontainers.image.title"="apk"
LABEL "org.opencontainers.image.version"="0"
ENTRYPOINT ["cmake"]
