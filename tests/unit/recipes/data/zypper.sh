#!/bin/sh
# shellcheck disable=SC2030,SC2031,SC2089,SC2090
# Installs zypper 0, as root. The first word is the folder that relative files lie in.
set -eu
umask 022
cybelectl_from=${1:-.}
cybelectl_from=$(cd "$cybelectl_from" && pwd)
export cybelectl_from
cybelectl_release=$(. /etc/os-release && echo "$ID:${VERSION_ID:-sid}")
if [ "$cybelectl_release" != 'opensuse-leap:15.6' ]; then
    echo "this script is for opensuse-leap:15.6, not $cybelectl_release" >&2
    exit 1
fi

# stage of the image
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

# what `run` says
mkdir -p /usr/local/bin
cat > '/usr/local/bin/zypper' <<'CYBELECTL_END'
#!/bin/sh
exec 'python3' "$@"
CYBELECTL_END
chmod 755 '/usr/local/bin/zypper'

# test
(
set -eu
python3 --version > /dev/null
)
