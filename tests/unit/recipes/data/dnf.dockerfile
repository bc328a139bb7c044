# syntax=docker/dockerfile:1
FROM rockylinux/rockylinux:9 AS build
RUN <<'CYBELECTL_RUN'
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
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
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
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
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
CYBELECTL_RUN

FROM rockylinux/rockylinux:9 AS final
RUN <<'CYBELECTL_RUN'
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
CYBELECTL_RUN
COPY --from=build ["/opt/lib", "/opt/lib"]
RUN <<'CYBELECTL_RUN'
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
  - name: build
    packages:
      needs:
        - cmake
        - eigen
        - hdf5
        - curl
      source:
        - name: lib
          git: https://a.example/lib
          commit: cccccccccccccccccccccccccccccccccccccccc
          build: make
          options:
            - CC=gcc
    steps:
      - run: "[[ -d /opt/lib ]]"
        shell: bash
packages:
  needs:
    - make
  system:
    - jq=1.6
files:
  - from: /opt/lib
    to: /opt/lib
    stage: build
environment:
  LD_LIBRARY_PATH:
    append: /opt/lib/lib
run: |
  exec make "$@"
CYBELECTL_END
)
CYBELECTL_RUN
ENV LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/opt/lib/lib"
RUN <<'CYBELECTL_RUN'
(
set -eu
make --version > /dev/null
)
CYBELECTL_RUN
LABEL "cybelectl.libc"="glibc 2.34"
LABEL "cybelectl.recipe"="sha256:856588af3c4bdbcca7f629ed939dcfed971cbb282ba1c9c9700754fe05cbbfa4"
LABEL "org.opencontainers.image.base.name"="rockylinux/rockylinux:9"
LABEL "org.opencontainers.image.title"="dnf"
LABEL "org.opencontainers.image.version"="0"
ENTRYPOINT ["/bin/sh", "-euc", "exec make \"$@\"\n", "dnf"]
