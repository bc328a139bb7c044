# syntax=docker/dockerfile:1
FROM ubuntu:24.04 AS build
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt-get update
apt-get install -y --no-install-recommends \
    build-essential \
    bzip2 \
    ca-certificates \
    cmake \
    curl \
    libopenblas-dev \
    make \
    unzip \
    xz-utils \
    zstd
apt-get clean
rm -rf /var/lib/apt/lists/*
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export LC_ALL=C.UTF-8
export GREETING='it'"'"'s'
cybelectl_work=$(mktemp -d)
cd "$cybelectl_work"
curl -fsSL --retry 3 -o archive 'https://a.example/tool-1.tar.xz'
echo 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  archive' | sha256sum -c -
mkdir tree
tar -xf archive -C tree
cd tree
set -- ./*
if [ "$#" -eq 1 ] && [ -d "$1" ]; then
    cd "$1"
fi
cmake -S . -B cybelectl-build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/opt/tool -DCMAKE_INSTALL_LIBDIR=lib '-DWITH=a b'
cmake --build cybelectl-build -j"$(nproc)"
cmake --install cybelectl-build
cd /
rm -rf "$cybelectl_work"
)
CYBELECTL_RUN
COPY ["src dir", "/src"]
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export GREETING='it'"'"'s'
export PATH='/opt/tool/bin'"${PATH:+:$PATH}"
export LD_LIBRARY_PATH='/opt/tool/lib'"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
cd '/src'
make -C /src
)
CYBELECTL_RUN

FROM ubuntu:24.04 AS final
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt-get update
apt-get install -y --no-install-recommends \
    libgomp1 \
    python3 \
    python3-pip \
    python3-venv
apt-get clean
rm -rf /var/lib/apt/lists/*
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
export LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
python3 -m venv --system-site-packages /opt/venv
cybelectl_list=$(mktemp)
cat > "$cybelectl_list" <<'CYBELECTL_END'
numpy==2.1.0 --hash=sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
CYBELECTL_END
/opt/venv/bin/python3 -m pip install --no-cache-dir --require-hashes -r "$cybelectl_list"
rm -f "$cybelectl_list"
)
CYBELECTL_RUN
COPY --from=build ["/opt/tool", "/opt/tool"]
COPY ["run.sh", "/opt/run.sh"]
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
chmod -R 0755 '/opt/run.sh'
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
cybelectl_step=$(mktemp)
base64 -d > "$cybelectl_step" <<'CYBELECTL_END'
Y2F0IDw8RSA+L29wdC9ub3RlCiVsYWJlbHMKQm9vdHN0cmFwOiB4Cnt7IGdyZWV0aW5nIH19ICRH
UkVFVElORwpFCg==
CYBELECTL_END
export GREETING='it'"'"'s'
export PATH='/opt/venv/bin'"${PATH:+:$PATH}"
export LC_ALL='C.UTF-8'
export PATH='/opt/tool/bin'"${PATH:+:$PATH}"
cd '/'
sh -eu "$cybelectl_step"
rm -f "$cybelectl_step"
)
CYBELECTL_RUN
RUN <<'CYBELECTL_RUN'
(
set -eu
umask 022
mkdir -p /opt/cybelectl
base64 -d > '/opt/cybelectl/recipe.yaml' <<'CYBELECTL_END'
a2luZDogUmVjaXBlCm5hbWU6IGFwdApiYXNlOiB1YnVudHU6MjQuMDQKc3RhZ2VzOgogIC0gbmFt
ZTogYnVpbGQKICAgIHBhY2thZ2VzOgogICAgICBuZWVkczoKICAgICAgICAtIGNtYWtlCiAgICAg
ICAgLSBvcGVuYmxhcwogICAgICBzb3VyY2U6CiAgICAgICAgLSBuYW1lOiB0b29sCiAgICAgICAg
ICB1cmw6IGh0dHBzOi8vYS5leGFtcGxlL3Rvb2wtMS50YXIueHoKICAgICAgICAgIHNoYTI1Njog
YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh
YWFhYWFhYQogICAgICAgICAgYnVpbGQ6IGNtYWtlCiAgICAgICAgICBvcHRpb25zOgogICAgICAg
ICAgICAtICItRFdJVEg9YSBiIgogICAgZmlsZXM6CiAgICAgIC0gZnJvbTogc3JjIGRpcgogICAg
ICAgIHRvOiAvc3JjCiAgICBzdGVwczoKICAgICAgLSBydW46IG1ha2UgLUMgL3NyYwogICAgICAg
IHdvcmtkaXI6IC9zcmMKcGFja2FnZXM6CiAgc3lzdGVtOgogICAgLSBsaWJnb21wMQogIHBpcDoK
ICAgIC0gbnVtcHk9PTIuMS4wIC0taGFzaD1zaGEyNTY6YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi
YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYgpmaWxlczoKICAtIGZyb206
IC9vcHQvdG9vbAogICAgdG86IC9vcHQvdG9vbAogICAgc3RhZ2U6IGJ1aWxkCiAgLSBmcm9tOiBy
dW4uc2gKICAgIHRvOiAvb3B0L3J1bi5zaAogICAgbW9kZTogMDc1NQplbnZpcm9ubWVudDoKICBQ
QVRIOgogICAgcHJlcGVuZDogL29wdC90b29sL2JpbgogIExDX0FMTDogQy5VVEYtOApzdGVwczoK
ICAtIHwKICAgIGNhdCA8PEUgPi9vcHQvbm90ZQogICAgJWxhYmVscwogICAgQm9vdHN0cmFwOiB4
CiAgICB7eyBncmVldGluZyB9fSAkR1JFRVRJTkcKICAgIEUKcnVuOgogIC0gL29wdC9ydW4uc2gK
ICAtIGEgYgp0ZXN0OiB0ZXN0IC1zIC9vcHQvbm90ZQpoZWxwOiBTaG93cyB3aGF0IGFwdCBkb2Vz
LgpsYWJlbHM6CiAgb3JnLmV4YW1wbGUub3duZXI6IHVzCmFyZ3M6CiAgZ3JlZXRpbmc6ICJpdCdz
Igo=
CYBELECTL_END
)
CYBELECTL_RUN
ENV PATH="/opt/venv/bin${PATH:+:$PATH}"
ENV LC_ALL="C.UTF-8"
ENV PATH="/opt/tool/bin${PATH:+:$PATH}"
RUN <<'CYBELECTL_RUN'
(
set -eu
/opt/venv/bin/python3 -m pip check > /dev/null
/opt/venv/bin/python3 -c 'import numpy' > /dev/null
export GREETING='it'"'"'s'
test -s /opt/note
)
CYBELECTL_RUN
LABEL "cybelectl.libc"="glibc 2.39"
LABEL "cybelectl.recipe"="sha256:b77f9933869ac706629d221be48f523131120b72652c9efd31ed0776de79c044"
LABEL "org.example.owner"="us"
LABEL "org.opencontainers.image.base.name"="ubuntu:24.04"
LABEL "org.opencontainers.image.description"="Shows what apt does."
LABEL "org.opencontainers.image.title"="apt"
LABEL "org.opencontainers.image.version"="0"
ENTRYPOINT ["/opt/run.sh", "a b"]
