// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/blocks.hpp"

namespace cybele::recipes {
namespace {

constexpr std::string_view kNoChecksum = "its archive has no checksum that is known";
constexpr std::string_view kFitsHost = "it must fit the driver or kernel of the host";

constexpr BlockRow kBlocks[] = {
    {"gnu", BlockKind::kCompilers, "gnu", "cc cxx fortran extra_repository source"},
    {"apt_get", BlockKind::kSystem, "apt", "ospackages"},
    {"yum", BlockKind::kSystem, "dnf", "ospackages"},
    {"packages", BlockKind::kSystem, "", "apt yum ospackages"},
    {"cmake", BlockKind::kNeeds, "cmake", "eula", true},
    {"ninja", BlockKind::kNeeds, "ninja", "", true},
    {"autotools", BlockKind::kNeeds, "autotools", "", true},
    {"python", BlockKind::kNeeds, "python", "python2 python3 devel alternatives"},
    {"ofed", BlockKind::kNeeds, "verbs", ""},
    {"mlnx_ofed", BlockKind::kNeeds, "verbs", "oslabel packages"},
    {"rdma_core", BlockKind::kNeeds, "verbs", ""},
    {"ucx", BlockKind::kNeeds, "ucx", "cuda gdrcopy knem ofed rdmacm xpmem"},
    {"libfabric", BlockKind::kNeeds, "libfabric", "cuda ofi"},
    {"pmix", BlockKind::kNeeds, "pmix-devel", ""},
    {"slurm_pmi2", BlockKind::kNeeds, "slurm-pmi2-devel", ""},
    {"hwloc", BlockKind::kNeeds, "hwloc", ""},
    {"libevent", BlockKind::kNeeds, "libevent", ""},
    {"numa", BlockKind::kNeeds, "numa", ""},
    {"boost", BlockKind::kNeeds, "boost", "bootstrap_opts b2_opts python sourceforge"},
    {"fftw", BlockKind::kNeeds, "fftw", "mpi"},
    {"hdf5", BlockKind::kNeeds, "hdf5", "mpi"},
    {"netcdf", BlockKind::kNeeds, "netcdf", "cxx fortran version_cxx version_fortran enable_mpi"},
    {"pnetcdf", BlockKind::kNeeds, "pnetcdf", ""},
    {"openblas", BlockKind::kNeeds, "openblas", "make_opts"},
    {"lapack", BlockKind::kNeeds, "lapack", ""},
    {"scalapack", BlockKind::kNeeds, "scalapack", ""},
    {"gdal", BlockKind::kNeeds, "gdal", ""},
    {"proj", BlockKind::kNeeds, "proj", ""},
    {"geos", BlockKind::kNeeds, "geos", ""},
    {"eigen", BlockKind::kNeeds, "eigen", "", true},
    {"gsl", BlockKind::kNeeds, "gsl", ""},
    {"tbb", BlockKind::kNeeds, "tbb", ""},
    {"openmpi",
     BlockKind::kMpi,
     "openmpi",
     "cuda infiniband ucx pmi pmix with_cuda with_ucx with_pmix"},
    {"mpich", BlockKind::kMpi, "mpich", "with_cuda"},
    {"mvapich2", BlockKind::kMpi, "mvapich2", "cuda gdrcopy gpu_arch xpmem"},
    {"mvapich", BlockKind::kMpi, "mvapich", ""},
    {"intel_mpi", BlockKind::kMpi, "intel", "eula mpivars"},
    {"generic_autotools",
     BlockKind::kSource,
     "autotools",
     "url git_repository repository commit sha256 name configure_opts devel_environment "
     "runtime_environment"},
    {"generic_cmake",
     BlockKind::kSource,
     "cmake",
     "url git_repository repository commit sha256 name cmake_opts devel_environment "
     "runtime_environment"},
    {"generic_build",
     BlockKind::kSource,
     "script",
     "url git_repository repository commit sha256 name build install devel_environment "
     "runtime_environment"},
    {"pip", BlockKind::kPip, "", "packages requirements pip upgrade args alternatives"},
    {"conda", BlockKind::kConda, "", "packages channels eula environment python2 python3"},
    {"environment", BlockKind::kEnvironment, "", "variables"},
    {"label", BlockKind::kLabels, "", "metadata"},
    {"copy", BlockKind::kFiles, "", "src dest _from files"},
    {"shell", BlockKind::kSteps, "", "commands chdir"},
    {"runscript", BlockKind::kRun, "", "commands"},
    {"comment", BlockKind::kComment, "", "text string"},
    {"raw", BlockKind::kLost, "its text is of another format", "docker singularity"},
    {"user", BlockKind::kLost, "a program runs as who starts it, and steps run as root", "user"},
    {"workdir", BlockKind::kLost, "a program runs where it is started", "directory"},
    {"arg", BlockKind::kLost, "a Recipe's arguments are `args`", "variables"},
    {"scif", BlockKind::kLost, "a Recipe has `apps`", "name entrypoint"},
    {"catalyst", BlockKind::kLost, kNoChecksum, "edition"},
    {"cgns", BlockKind::kLost, kNoChecksum, ""},
    {"charm", BlockKind::kLost, kNoChecksum, "options target"},
    {"gdrcopy", BlockKind::kLost, kFitsHost, ""},
    {"intel_psxe", BlockKind::kLost, "it needs a licence", "license tarball eula"},
    {"julia", BlockKind::kLost, kNoChecksum, "packages cuda"},
    {"knem", BlockKind::kLost, kFitsHost, ""},
    {"kokkos", BlockKind::kLost, kNoChecksum, "arch cmake_opts"},
    {"llvm",
     BlockKind::kLost,
     "the tables know GNU compilers alone",
     "extra_tools toolset upstream openmp"},
    {"magma", BlockKind::kLost, kNoChecksum, "gpu_target"},
    {"mkl", BlockKind::kLost, "it comes with the oneAPI images", "eula mklvars"},
    {"multi_ofed", BlockKind::kLost, "an image has the distribution's own", "inbox mlnx_versions"},
    {"mvapich2_gdr",
     BlockKind::kLost,
     kNoChecksum,
     "arch cuda_version gnu_version mlnx_ofed_version pgi"},
    {"nccl", BlockKind::kLost, "it comes with the CUDA images", "cuda build"},
    {"nsight_compute", BlockKind::kLost, kNoChecksum, "eula"},
    {"nsight_systems", BlockKind::kLost, kNoChecksum, "cli eula"},
    {"nv_hpc_sdk", BlockKind::kLost, kNoChecksum, "eula mpi"},
    {"nvhpc", BlockKind::kLost, kNoChecksum, "eula cuda mpi"},
    {"nvshmem", BlockKind::kLost, kNoChecksum, "cuda gdrcopy mpi"},
    {"pgi", BlockKind::kLost, "it needs a licence", "eula mpi"},
    {"sensei", BlockKind::kLost, kNoChecksum, "catalyst libsim"},
    {"xpmem", BlockKind::kLost, kFitsHost, "branch"},
};

} // namespace

std::string_view common_options() {
    return "version prefix ospackages environment configure_opts toolchain check ldconfig baseurl "
           "enable disable without with directory make upstream epel extra powertools";
}

std::span<const BlockRow> blocks() {
    return kBlocks;
}

const BlockRow* find_block(std::string_view name) {
    for (const auto& row : kBlocks) {
        if (row.name == name) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace cybele::recipes
