#!/bin/sh
# shellcheck disable=SC2030,SC2031,SC2089,SC2090
# Installs dnf 0, as root. The first word is the folder that relative files lie in.
set -eu
umask 022
cybelectl_from=${1:-.}
cybelectl_from=$(cd "$cybelectl_from" && pwd)
export cybelectl_from
cybelectl_release=$(. /etc/os-release && echo "$ID:${VERSION_ID%%.*}")
if [ "$cybelectl_release" != 'rocky:9' ]; then
    echo "this script is for rocky:9, not $cybelectl_release" >&2
    exit 1
fi

# stage build
(
set -eu
umask 022
dnf install -y dnf-plugins-core epel-release
dnf config-manager --set-enabled crb
export LC_ALL=C.UTF-8
dnf install -y --setopt=install_weak_deps=False --nodocs --allowerasing \
    ca-certificates \
    cmake \
    curl \
    eigen3-devel \
    gcc \
    gcc-c++ \
    gcc-gfortran \
    git \
    hdf5-devel \
    make
dnf clean all
rm -rf /var/cache/dnf
)
(
set -eu
umask 022
export LC_ALL=C.UTF-8
export CC=gcc CXX=g++ FC=gfortran
export CFLAGS='-O2 -march=x86-64-v3'
export CXXFLAGS='-O2 -march=x86-64-v3'
export FCFLAGS='-O2 -march=x86-64-v3'
export FFLAGS='-O2 -march=x86-64-v3'
cybelectl_work=$(mktemp -d)
cd "$cybelectl_work"
git init -q tree
cd tree
git remote add origin 'https://a.example/lib'
if ! git fetch -q --depth 1 origin cccccccccccccccccccccccccccccccccccccccc; then
    git fetch -q --tags origin '+refs/heads/*:refs/remotes/origin/*'
fi
git checkout -q --detach cccccccccccccccccccccccccccccccccccccccc
[ "$(git rev-parse HEAD)" = cccccccccccccccccccccccccccccccccccccccc ]
rm -rf .git
make -j"$(nproc)" PREFIX=/opt/lib 'CC=gcc'
make install PREFIX=/opt/lib 'CC=gcc'
cd /
rm -rf "$cybelectl_work"
)
(
set -eu
umask 022
cybelectl_step=$(mktemp)
cat > "$cybelectl_step" <<'CYBELECTL_END'
[[ -d /opt/lib ]]
CYBELECTL_END
export CC=gcc CXX=g++ FC=gfortran
export CFLAGS='-O2 -march=x86-64-v3'
export CXXFLAGS='-O2 -march=x86-64-v3'
export FCFLAGS='-O2 -march=x86-64-v3'
export FFLAGS='-O2 -march=x86-64-v3'
export PATH='/opt/lib/bin'"${PATH:+:$PATH}"
export LD_LIBRARY_PATH='/opt/lib/lib'"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
cd '/'
bash -eu -o pipefail "$cybelectl_step"
rm -f "$cybelectl_step"
)

# stage final
(
set -eu
umask 022
export LC_ALL=C.UTF-8
dnf install -y --setopt=install_weak_deps=False --nodocs \
    jq-1.6 \
    make
dnf clean all
rm -rf /var/cache/dnf
)
(
set -eu
umask 022
mkdir -p /opt/cybelectl
cat > '/opt/cybelectl/recipe.yaml' <<'CYBELECTL_END'
kind: Recipe
name: dnf
base: rocky:9
compilers:
  target: x86-64-v3
stages:
  -
    name: build
    packages:
      needs:
        - cmake
        - eigen
        - hdf5
        - curl
      source:
        -
          name: lib
          git: https://a.example/lib
          commit: cccccccccccccccccccccccccccccccccccccccc
          build: make
          options:
            - CC=gcc
    steps:
      -
        run: "[[ -d /opt/lib ]]"
        shell: bash
packages:
  needs:
    - make
  system:
    - jq=1.6
files:
  -
    from: /opt/lib
    to: /opt/lib
    stage: build
environment:
  LD_LIBRARY_PATH:
    append: /opt/lib/lib
run: |
  exec make "$@"
CYBELECTL_END
)

# environment, at each login
cat > '/etc/profile.d/dnf.sh' <<'CYBELECTL_END'
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}"'/opt/lib/lib'
CYBELECTL_END

# what `run` says
mkdir -p /usr/local/bin
cat > '/usr/local/bin/dnf' <<'CYBELECTL_END'
#!/bin/sh
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}"'/opt/lib/lib'
set -eu
exec make "$@"
CYBELECTL_END
chmod 755 '/usr/local/bin/dnf'

# test
(
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}"'/opt/lib/lib'
set -eu
make --version > /dev/null
)
