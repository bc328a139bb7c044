// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/blocks.hpp"

namespace cybele::recipes {
namespace {

using Kind = BlockKind;

constexpr std::string_view kVendor = "its archive has no checksum that is known";
constexpr std::string_view kHost = "it must fit the driver or kernel of the host";

constexpr BlockRow kBlocks[] = {
    {"gnu", Kind::kCompilers, "gnu", "cc cxx fortran extra_repository source"},
    {"apt_get", Kind::kSystem, "apt", "ospackages"},
    {"yum", Kind::kSystem, "dnf", "ospackages"},
    {"packages", Kind::kSystem, "", "apt yum ospackages"},
    {"cmake", Kind::kNeeds, "cmake", "eula", true},
    {"ninja", Kind::kNeeds, "ninja", "", true},
    {"autotools", Kind::kNeeds, "autotools", "", true},
    {"python", Kind::kNeeds, "python", "python2 python3 devel alternatives"},
    {"ofed", Kind::kNeeds, "verbs", ""},
    {"mlnx_ofed", Kind::kNeeds, "verbs", "oslabel packages"},
    {"rdma_core", Kind::kNeeds, "verbs", ""},
    {"ucx", Kind::kNeeds, "ucx", "cuda gdrcopy knem ofed rdmacm xpmem"},
    {"libfabric", Kind::kNeeds, "libfabric", "cuda ofi"},
    {"pmix", Kind::kNeeds, "pmix-devel", ""},
    {"slurm_pmi2", Kind::kNeeds, "slurm-pmi2-devel", ""},
    {"hwloc", Kind::kNeeds, "hwloc", ""},
    {"libevent", Kind::kNeeds, "libevent", ""},
    {"numa", Kind::kNeeds, "numa", ""},
    {"boost", Kind::kNeeds, "boost", "bootstrap_opts b2_opts python sourceforge"},
    {"fftw", Kind::kNeeds, "fftw", "mpi"},
    {"hdf5", Kind::kNeeds, "hdf5", "mpi"},
    {"netcdf", Kind::kNeeds, "netcdf", "cxx fortran version_cxx version_fortran enable_mpi"},
    {"pnetcdf", Kind::kNeeds, "pnetcdf", ""},
    {"openblas", Kind::kNeeds, "openblas", "make_opts"},
    {"lapack", Kind::kNeeds, "lapack", ""},
    {"scalapack", Kind::kNeeds, "scalapack", ""},
    {"gdal", Kind::kNeeds, "gdal", ""},
    {"proj", Kind::kNeeds, "proj", ""},
    {"geos", Kind::kNeeds, "geos", ""},
    {"eigen", Kind::kNeeds, "eigen", "", true},
    {"gsl", Kind::kNeeds, "gsl", ""},
    {"tbb", Kind::kNeeds, "tbb", ""},
    {"openmpi", Kind::kMpi, "openmpi", "cuda infiniband ucx pmi pmix with_cuda with_ucx with_pmix"},
    {"mpich", Kind::kMpi, "mpich", "with_cuda"},
    {"mvapich2", Kind::kMpi, "mvapich2", "cuda gdrcopy gpu_arch xpmem"},
    {"mvapich", Kind::kMpi, "mvapich", ""},
    {"intel_mpi", Kind::kMpi, "intel", "eula mpivars"},
    {"generic_autotools",
     Kind::kSource,
     "autotools",
     "url git_repository repository commit sha256 name configure_opts devel_environment "
     "runtime_environment"},
    {"generic_cmake",
     Kind::kSource,
     "cmake",
     "url git_repository repository commit sha256 name cmake_opts devel_environment "
     "runtime_environment"},
    {"generic_build",
     Kind::kSource,
     "script",
     "url git_repository repository commit sha256 name build install devel_environment "
     "runtime_environment"},
    {"pip", Kind::kPip, "", "packages requirements pip upgrade args alternatives"},
    {"conda", Kind::kConda, "", "packages channels eula environment python2 python3"},
    {"environment", Kind::kEnvironment, "", "variables"},
    {"label", Kind::kLabels, "", "metadata"},
    {"copy", Kind::kFiles, "", "src dest _from files"},
    {"shell", Kind::kSteps, "", "commands chdir"},
    {"runscript", Kind::kRun, "", "commands"},
    {"comment", Kind::kComment, "", "text string"},
    {"raw", Kind::kLost, "its text is of another format", "docker singularity"},
    {"user", Kind::kLost, "a program runs as who starts it, and steps run as root", "user"},
    {"workdir", Kind::kLost, "a program runs where it is started", "directory"},
    {"arg", Kind::kLost, "a Recipe's arguments are `args`", "variables"},
    {"scif", Kind::kLost, "a Recipe has `apps`", "name entrypoint"},
    {"catalyst", Kind::kLost, kVendor, "edition"},
    {"cgns", Kind::kLost, kVendor, ""},
    {"charm", Kind::kLost, kVendor, "options target"},
    {"gdrcopy", Kind::kLost, kHost, ""},
    {"intel_psxe", Kind::kLost, "it needs a licence", "license tarball eula"},
    {"julia", Kind::kLost, kVendor, "packages cuda"},
    {"knem", Kind::kLost, kHost, ""},
    {"kokkos", Kind::kLost, kVendor, "arch cmake_opts"},
    {"llvm",
     Kind::kLost,
     "the tables know GNU compilers alone",
     "extra_tools toolset upstream openmp"},
    {"magma", Kind::kLost, kVendor, "gpu_target"},
    {"mkl", Kind::kLost, "it comes with the oneAPI images", "eula mklvars"},
    {"multi_ofed", Kind::kLost, "an image has the distribution's own", "inbox mlnx_versions"},
    {"mvapich2_gdr", Kind::kLost, kVendor, "arch cuda_version gnu_version mlnx_ofed_version pgi"},
    {"nccl", Kind::kLost, "it comes with the CUDA images", "cuda build"},
    {"nsight_compute", Kind::kLost, kVendor, "eula"},
    {"nsight_systems", Kind::kLost, kVendor, "cli eula"},
    {"nv_hpc_sdk", Kind::kLost, kVendor, "eula mpi"},
    {"nvhpc", Kind::kLost, kVendor, "eula cuda mpi"},
    {"nvshmem", Kind::kLost, kVendor, "cuda gdrcopy mpi"},
    {"pgi", Kind::kLost, "it needs a licence", "eula mpi"},
    {"sensei", Kind::kLost, kVendor, "catalyst libsim"},
    {"xpmem", Kind::kLost, kHost, "branch"},
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
