# SPDX-License-Identifier: Apache-2.0
# From a folder of somebody's source to a job that ran, in three commands: Python with MPI, C++ with OpenMP, an old sbatch script;
# and a library that the image lacks is reported by the build. Three minutes with a warm cache, most of it the builds.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

@test "a Python program with MPI: init --from, build, submit: four ranks" {
    mkdir sums
    cat >sums/sums.py <<'PY'
from mpi4py import MPI
import numpy as np

comm = MPI.COMM_WORLD
total = comm.allreduce(float(np.arange(comm.Get_rank() + 1).sum()))
print(f"rank {comm.Get_rank()} of {comm.Get_size()} total {total}\n", end="", flush=True)
PY
    printf 'mpi4py\nnumpy>=1.20\n' >sums/requirements.txt
    "$CYBELECTL" init --from sums
    "$CYBELECTL" build sums >&2
    # Four ranks on fewer cores share them, as the help of the refusal says.
    "$CYBELECTL" submit sums -n 4 --oversubscribe --scheduler local --wait >&2
    assert_equal "$(cat -- *.out sums/*.out 2>/dev/null | grep '^rank' | sort)" \
        "$(printf 'rank %d of 4 total 10.0\n' 0 1 2 3)"
}

@test "a CMake project in C++ with OpenMP runs, is changed and runs again" {
    mkdir -p heat/src
    cat >heat/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(heat CXX)
find_package(OpenMP REQUIRED)
add_executable(heat src/main.cpp)
target_link_libraries(heat PRIVATE OpenMP::OpenMP_CXX)
add_library(part SHARED src/part.cpp)
target_link_libraries(heat PRIVATE part)
install(TARGETS heat part RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
CMAKE
    echo 'int part() { return 0; }' >heat/src/part.cpp
    cat >heat/src/main.cpp <<'CPP'
#include <cstdio>
#include <omp.h>
int part();
int main() {
    int threads = part();
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    std::printf("first: %d threads\n", threads);
}
CPP
    "$CYBELECTL" init --from heat
    run "$CYBELECTL" build heat
    assert_success
    refute_line --partial 'cannot start'
    "$CYBELECTL" submit heat --scheduler local --wait >&2
    grep -qx 'first: 2 threads' heat/*.out ./*.out 2>/dev/null
    sed -i s/first/second/ heat/src/main.cpp
    "$CYBELECTL" submit heat --scheduler local --wait >&2
    cat heat/*.out ./*.out 2>/dev/null | grep -qx 'second: 2 threads'
    # Without the library of OpenMP the build says so, and what has it.
    sed -i /libgomp1/d heat/heat.yaml
    sed -i 's/^  system:$/  system: [ca-certificates]/' heat/heat.yaml
    run "$CYBELECTL" build heat
    assert_success
    assert_line --partial 'warning: /opt/heat/bin/heat cannot start: the image has no libgomp.so.1; add libgomp1 to'
}

@test "an old sbatch script of a program in C runs as the Job that is made from it" {
    mkdir ring
    cat >ring/ring.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d: %s\n", rank, size, argc > 1 ? argv[1] : "-");
    return MPI_Finalize();
}
C
    cat >ring/run.sh <<'SH'
#!/bin/bash
#SBATCH --job-name=ring
#SBATCH --ntasks=2
#SBATCH --time=00:10:00
module load openmpi
srun ./ring fast
SH
    "$CYBELECTL" init --from ring
    "$CYBELECTL" build ring >&2
    "$CYBELECTL" submit ring --allow-root --scheduler local --wait >&2
    assert_equal "$(cat -- *.out ring/*.out 2>/dev/null | grep '^rank' | sort)" $'rank 0 of 2: fast\nrank 1 of 2: fast'
}

# programs MAP: builds an image of busybox with programs that this machine compiled, and no library of theirs but those of MAP.
programs() {
    mkdir -p root/bin root/etc root/lib64 root/lib/x86_64-linux-gnu
    cp /bin/busybox root/bin
    ln -sf busybox root/bin/sh
    cp /lib64/ld-linux-x86-64.so.2 root/lib64
    cp /lib/x86_64-linux-gnu/libc.so.6 root/lib/x86_64-linux-gnu
    printf 'int one(void) { return 1; }\n' >one.c
    printf 'int one(void); int main(void) { return one() - 1; }\n' >main.c
    gcc -shared -fPIC -Wl,-soname,libone.so.7 -o libone.so.7 one.c
    gcc "$@" -o main main.c -L. -l:libone.so.7
}

@test "a library is found by RPATH, LD_LIBRARY_PATH and ld.so.conf, as the loader finds it" {
    programs -Wl,-rpath,'$ORIGIN/../lib'
    mkdir tree tree/bin tree/lib
    cp main tree/bin
    printf 'Bootstrap: localimage\nFrom: root\n%%files\n  tree /opt/tree\n' >app.def
    run -0 "$CYBELECTL" build app.def
    assert_line --partial 'warning: /opt/tree/bin/main cannot start: the image has no libone.so.7; install what has it'
    cp libone.so.7 tree/lib
    run -0 "$CYBELECTL" build app.def -F
    refute_line --partial 'cannot start'
    run -0 "$CYBELECTL" exec app.sif /opt/tree/bin/main
    # another place, named by the environment
    mkdir tree/other && mv tree/lib/libone.so.7 tree/other
    run -0 "$CYBELECTL" build app.def -F
    assert_line --partial 'cannot start'
    printf '%%environment\n  export LD_LIBRARY_PATH="/opt/tree/other:${LD_LIBRARY_PATH:-}"\n' >>app.def
    run -0 "$CYBELECTL" build app.def -F
    refute_line --partial 'cannot start'
    # and by ld.so.conf
    sed -i '/environment/,$d' app.def
    mkdir -p root/etc/ld.so.conf.d
    echo 'include /etc/ld.so.conf.d/*.conf' >root/etc/ld.so.conf
    printf '# own\n/opt/tree/other # here\n' >root/etc/ld.so.conf.d/own.conf
    run -0 "$CYBELECTL" build app.def -F
    refute_line --partial 'cannot start'
}

@test "the driver of a GPU is the host's, and damaged ELF files stop no build" {
    programs
    gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 one.c
    gcc -o gpu main.c -L. -l:libcuda.so.1
    mkdir tree
    cp gpu tree
    for size in 1 16 63 64 100 300 900 4000; do head -c "$size" main >"tree/cut-$size"; done
    for place in 16 32 40 54 56 64 72 96 200 500; do
        cp main "tree/broken-$place"
        printf '\377\377\377\377\377\377\377\377' | dd of="tree/broken-$place" bs=1 seek="$place" conv=notrunc status=none
    done
    ln -s /etc/passwd tree/link
    printf 'Bootstrap: localimage\nFrom: root\n%%files\n  tree /opt/tree\n' >app.def
    run -0 timeout 60 "$CYBELECTL" build app.def
    refute_line --partial 'libcuda'
    refute_line --partial 'tree/gpu'
}
