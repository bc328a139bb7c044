# syntax=docker/dockerfile:1
# A solver in two stages.
ARG RELEASE=22.04
FROM ubuntu:${RELEASE} AS build
ARG SOLVER_VERSION=1.4.2
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && \
    apt-get install -y --no-install-recommends \
        # compilers
        build-essential gfortran \
        # mpi
        libopenmpi-dev cmake && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /work
COPY src /work/src
COPY CMakeLists.txt .
RUN cmake -S . -B build -DVERSION=$SOLVER_VERSION && cmake --build build
RUN cmake --install build --prefix /opt/solver; strip /opt/solver/bin/* || true

FROM ubuntu:${RELEASE}
LABEL org.opencontainers.image.title="solver" org.opencontainers.image.version=1.4.2
RUN apt-get update && apt-get install -y openmpi-bin && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/solver /opt/solver
ENV PATH=/opt/solver/bin:$PATH LD_LIBRARY_PATH=/opt/solver/lib:${LD_LIBRARY_PATH}
EXPOSE 8080
HEALTHCHECK CMD true
ENTRYPOINT ["solver", "--quiet"]
CMD ["--help"]
