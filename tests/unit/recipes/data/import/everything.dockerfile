# escape=`
# check=skip=all
FROM scratch AS empty
COPY a /a

FROM rockylinux/rockylinux:9 AS Base_Image
MAINTAINER who@site.example
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ARG LOWER_case=x
ARG MODE
RUN dnf install -y --setopt=install_weak_deps=False --nodocs gcc gcc-c++ `
    && dnf clean all
RUN echo "$UNSET" | tee /etc/note
SHELL ["/bin/bash", "-lc"]
RUN module load mpi
SHELL ["/bin/sh", "-c"]
CMD ["replaced"]

FROM base_image AS tools
RUN ["touch", "/opt/a file"]
RUN <<EOF
set -e
echo "$LOWER_case $MODE"
EOF
RUN <<'PY'
#!/usr/bin/python3
print("%s {{ name }}" % 1)
PY
RUN cat <<A >/etc/one && cat <<-"B" >/etc/two
one
A
	two
	B
COPY <<-EOT /etc/motd
	hello $MODE
EOT
ADD --checksum=sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa https://files.example/data.bin /opt/data/
ADD https://files.example/unknown.bin /opt/
ADD bundle.tar.gz /opt/bundle/
RUN --mount=type=secret,id=key cat /run/secrets/key
RUN --network=none true

FROM tools
COPY --from=busybox:1.36 /bin/busybox /usr/local/bin/busybox
COPY --from=tools --chmod=755 /etc/one /etc/two /srv/
ONBUILD RUN true
STOPSIGNAL SIGINT
USER root
LABEL "cybelectl.mpi"="no" note="it's @{here} $MODE"
WORKDIR srv
WORKDIR ../opt
ENV A="x y" B='$A' C=${A:-z} D=${NOPE:+q}e
ENV PATH /opt/bin:$PATH
ENV HOME_OF ${SOMEBODY}
CMD exec prog --x "$A"
