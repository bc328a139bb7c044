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
a2luZDogUmVjaXBlCm5hbWU6IGFwdApiYXNlOiB1YnVudHU6MjQuMDQKc3RhZ2VzOgogIC0KICAg
IG5hbWU6IGJ1aWxkCiAgICBwYWNrYWdlczoKICAgICAgbmVlZHM6CiAgICAgICAgLSBjbWFrZQog
ICAgICAgIC0gb3BlbmJsYXMKICAgICAgc291cmNlOgogICAgICAgIC0KICAgICAgICAgIG5hbWU6
IHRvb2wKICAgICAgICAgIHVybDogaHR0cHM6Ly9hLmV4YW1wbGUvdG9vbC0xLnRhci54egogICAg
ICAgICAgc2hhMjU2OiBhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh
YWFhYWFhYWFhYWFhYWFhYWFhYWFhCiAgICAgICAgICBidWlsZDogY21ha2UKICAgICAgICAgIG9w
dGlvbnM6CiAgICAgICAgICAgIC0gIi1EV0lUSD1hIGIiCiAgICBmaWxlczoKICAgICAgLQogICAg
ICAgIGZyb206ICJzcmMgZGlyIgogICAgICAgIHRvOiAvc3JjCiAgICBzdGVwczoKICAgICAgLQog
ICAgICAgIHJ1bjogIm1ha2UgLUMgL3NyYyIKICAgICAgICB3b3JrZGlyOiAvc3JjCnBhY2thZ2Vz
OgogIHN5c3RlbToKICAgIC0gbGliZ29tcDEKICBwaXA6CiAgICAtICJudW1weT09Mi4xLjAgLS1o
YXNoPXNoYTI1NjpiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi
YmJiYmJiYmJiYmJiYmJiYmJiIgpmaWxlczoKICAtCiAgICBmcm9tOiAvb3B0L3Rvb2wKICAgIHRv
OiAvb3B0L3Rvb2wKICAgIHN0YWdlOiBidWlsZAogIC0KICAgIGZyb206IHJ1bi5zaAogICAgdG86
IC9vcHQvcnVuLnNoCiAgICBtb2RlOiAwNzU1CmVudmlyb25tZW50OgogIFBBVEg6CiAgICBwcmVw
ZW5kOiAvb3B0L3Rvb2wvYmluCiAgTENfQUxMOiBDLlVURi04CnN0ZXBzOgogIC0gfAogICAgY2F0
IDw8RSA+L29wdC9ub3RlCiAgICAlbGFiZWxzCiAgICBCb290c3RyYXA6IHgKICAgIHt7IGdyZWV0
aW5nIH19ICRHUkVFVElORwogICAgRQpydW46CiAgLSAvb3B0L3J1bi5zaAogIC0gImEgYiIKdGVz
dDogInRlc3QgLXMgL29wdC9ub3RlIgpoZWxwOiAiU2hvd3Mgd2hhdCBhcHQgZG9lcy4iCmxhYmVs
czoKICBvcmcuZXhhbXBsZS5vd25lcjogdXMKYXJnczoKICBncmVldGluZzogIml0J3MiCg==
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
