#!/bin/sh
# shellcheck disable=SC2030,SC2031,SC2089,SC2090
# Installs apk 0, as root. The first word is the folder that relative files lie in.
set -eu
umask 022
cybelectl_from=${1:-.}
cybelectl_from=$(cd "$cybelectl_from" && pwd)
export cybelectl_from
cybelectl_release=$(. /etc/os-release && echo "$ID:${VERSION_ID:-sid}")
if [ "$cybelectl_release" != 'alpine:3.24' ]; then
    echo "this script is for alpine:3.24, not $cybelectl_release" >&2
    exit 1
fi

# stage of the image
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
(
set -eu
umask 022
cd '/'
cmake --version
)
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
  - "cmake --version"
run:
  - cmake
CYBELECTL_END
)

# what `run` says
mkdir -p /usr/local/bin
cat > '/usr/local/bin/apk' <<'CYBELECTL_END'
#!/bin/sh
exec 'cmake' "$@"
CYBELECTL_END
chmod 755 '/usr/local/bin/apk'

# test
(
set -eu
cmake --version > /dev/null
ninja --version > /dev/null
)
