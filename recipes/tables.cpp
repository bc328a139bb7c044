// SPDX-License-Identifier: Apache-2.0
#include "recipes/tables.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

constexpr DistributionRow kDistributions[] = {
    {"debian:11", "bullseye", "debootstrap", "apt", "glibc 2.31"},
    {"debian:12", "bookworm", "debootstrap", "apt", "glibc 2.36"},
    {"debian:13", "trixie", "debootstrap", "apt", "glibc 2.41"},
};

// Open MPI's run packages hold openmpi-bin: an Open MPI 4 that finds no launcher starts its orted
// from there, so that the guard gets an answer instead of an abort.
constexpr MpiRow kMpis[] = {
    {"debian:11",
     "openmpi",
     "4.1.0",
     "pmix 4.0.0",
     "/usr",
     "mpicc.openmpi",
     "libopenmpi3 openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"debian:12",
     "openmpi",
     "4.1.4",
     "pmix 4.2.2",
     "/usr",
     "mpicc.openmpi",
     "libopenmpi3 openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"debian:13",
     "openmpi",
     "5.0.7",
     "pmix 5.0.7",
     "/usr",
     "mpicc.openmpi",
     "libopenmpi40 openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"debian:11",
     "mpich",
     "3.4.1",
     "pmi2",
     "/usr",
     "mpicc.mpich",
     "libmpich12 mpich",
     "gcc libc6-dev libmpich-dev mpich"},
    {"debian:12",
     "mpich",
     "4.0.2",
     "pmi2",
     "/usr",
     "mpicc.mpich",
     "libmpich12 mpich",
     "gcc libc6-dev libmpich-dev mpich"},
    {"debian:13",
     "mpich",
     "4.2.1",
     "pmi2",
     "/usr",
     "mpicc.mpich",
     "libmpich12 mpich",
     "gcc libc6-dev libmpich-dev mpich"},
};

constexpr NeedRow kNeeds[] = {
    {"archives", "apt", "bzip2 xz-utils unzip zstd"},
    {"autotools", "apt", "autoconf automake libtool"},
    {"boost", "apt", "libboost-all-dev"},
    {"boost-mpi", "apt", "libboost-mpi-dev"},
    {"ca-certificates", "apt", "ca-certificates"},
    {"cmake", "apt", "cmake"},
    {"compression-devel", "apt", "libzstd-dev libbz2-dev liblzma-dev"},
    {"curl", "apt", "curl"},
    {"debug", "apt", "gdb valgrind strace"},
    {"eigen", "apt", "libeigen3-dev"},
    {"fftw", "apt", "libfftw3-dev"},
    {"fftw-mpi", "apt", "libfftw3-mpi-dev"},
    {"fortran", "apt", "gfortran"},
    {"gdal", "apt", "libgdal-dev gdal-bin"},
    {"geos", "apt", "libgeos-dev"},
    {"git", "apt", "git"},
    {"gsl", "apt", "libgsl-dev"},
    {"hdf5", "apt", "libhdf5-dev"},
    {"hdf5-mpi", "apt", "libhdf5-openmpi-dev"},
    {"hwloc", "apt", "libhwloc-dev hwloc-nox"},
    {"hypre", "apt", "libhypre-dev"},
    {"java-headless", "apt", "default-jre-headless"},
    {"lapack", "apt", "liblapack-dev"},
    {"libarchive", "apt", "libarchive-dev"},
    {"libcurl", "apt", "libcurl4-openssl-dev"},
    {"libevent", "apt", "libevent-dev"},
    {"libfabric", "apt", "libfabric-dev"},
    {"libxml2", "apt", "libxml2-dev"},
    {"locale-utf8", "apt", "locales"},
    {"make", "apt", "make"},
    {"metis", "apt", "libmetis-dev"},
    {"modules", "apt", "environment-modules"},
    {"mpi-default", "apt", "mpi-default-dev"},
    {"mpi4py", "apt", "python3-mpi4py"},
    {"mpich-devel", "apt", "libmpich-dev mpich"},
    {"mpich-run", "apt", "mpich"},
    {"mumps", "apt", "libmumps-dev"},
    {"munge", "apt", "munge"},
    {"netcdf", "apt", "libnetcdf-dev"},
    {"netcdf-fortran", "apt", "libnetcdff-dev"},
    {"ninja", "apt", "ninja-build"},
    {"numa", "apt", "libnuma-dev"},
    {"numpy-scipy", "apt", "python3-numpy python3-scipy"},
    {"openblas", "apt", "libopenblas-dev"},
    {"opencl", "apt", "ocl-icd-opencl-dev"},
    {"openmpi-devel", "apt", "libopenmpi-dev openmpi-bin"},
    {"openmpi-run", "apt", "openmpi-bin"},
    {"openssl", "apt", "libssl-dev"},
    {"patch", "apt", "patch file"},
    {"perl", "apt", "perl"},
    {"petsc", "apt", "petsc-dev"},
    {"pkg-config", "apt", "pkg-config"},
    {"pmix-devel", "apt", "libpmix-dev"},
    {"pnetcdf", "apt", "libpnetcdf-dev"},
    {"proj", "apt", "libproj-dev"},
    {"protobuf", "apt", "libprotobuf-dev protobuf-compiler"},
    {"ps", "apt", "procps"},
    {"python", "apt", "python3 python3-venv"},
    {"python-devel", "apt", "python3-dev"},
    {"python-gdal", "apt", "python3-gdal"},
    {"python-pip", "apt", "python3-pip"},
    {"r", "apt", "r-base-core"},
    {"scalapack", "apt", "libscalapack-openmpi-dev"},
    {"scotch", "apt", "libscotch-dev libptscotch-dev"},
    {"slurm-client", "apt", "slurm-client"},
    {"slurm-pmi2-devel", "apt", "libpmi2-0-dev"},
    {"sqlite", "apt", "libsqlite3-dev"},
    {"ssh-client", "apt", "openssh-client"},
    {"suitesparse", "apt", "libsuitesparse-dev"},
    {"tbb", "apt", "libtbb-dev"},
    {"toolchain-c++", "apt", "build-essential"},
    {"tzdata", "apt", "tzdata"},
    {"ucx", "apt", "libucx-dev ucx-utils"},
    {"verbs", "apt", "libibverbs-dev librdmacm-dev"},
    {"wget", "apt", "wget"},
    {"yaml-cpp", "apt", "libyaml-cpp-dev"},
    {"zlib", "apt", "zlib1g-dev"},
};

} // namespace

std::span<const DistributionRow> distributions() {
    return kDistributions;
}
std::span<const MpiRow> mpis() {
    return kMpis;
}
std::span<const NeedRow> needs() {
    return kNeeds;
}

const DistributionRow* find_distribution(std::string_view id) {
    for (const auto& row : kDistributions) {
        if (row.id == id) {
            return &row;
        }
    }
    return nullptr;
}

const MpiRow* find_mpi(std::string_view distribution, std::string_view family) {
    for (const auto& row : kMpis) {
        if (row.distribution == distribution && row.family == family) {
            return &row;
        }
    }
    return nullptr;
}

const NeedRow* find_need(std::string_view manager, std::string_view need) {
    for (const auto& row : kNeeds) {
        if (row.manager == manager && row.need == need) {
            return &row;
        }
    }
    return nullptr;
}

std::vector<std::string_view> need_names() {
    std::vector<std::string_view> names;
    for (const auto& row : kNeeds) {
        names.push_back(row.need);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<std::string> words_of(std::string_view cell) {
    std::vector<std::string> words;
    while (!cell.empty()) {
        const auto blank = cell.find(' ');
        words.emplace_back(cell.substr(0, blank));
        cell = blank == std::string_view::npos ? std::string_view{} : cell.substr(blank + 1);
    }
    return words;
}

} // namespace cybele::recipes
