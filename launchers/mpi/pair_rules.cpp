// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"

namespace cybele::compatibility {
namespace {

using enum MpiLauncher;
using enum Outcome;
using enum Source;

constexpr std::string_view kUsePmix = "use `mpirun` of Open MPI, or `srun` with pmix";
constexpr std::string_view kUsePmi2 = "use `srun` with pmi2, or an mpirun of MPICH on the host";
constexpr std::string_view kUseLauncher = "start the ranks with `mpirun` or `srun`";

// Open MPI
constexpr Rule kPmixServer{"pair/openmpi-pmix",
                           kWorks,
                           kRan,
                           "the image's PMIx client reaches the PMIx server that the launcher "
                           "offers",
                           {}};
constexpr Rule kPmixOld{"pair/openmpi-old-pmix",
                        kWorks,
                        kDoc,
                        "the PMIx client of this older Open MPI reaches the launcher's PMIx "
                        "server",
                        {}};
constexpr Rule kNetwork{"pair/openmpi-6-network",
                        kWorksWithOptions,
                        kRan,
                        "Open MPI 6 chooses an interface by which the nodes may not reach each "
                        "other (\"Unable to find reachable pairing\")",
                        "give the Site's interconnect.network",
                        {{{"OMPI_MCA_btl_tcp_if_include", {}}, {}}}};
constexpr Rule kBuiltWithPmi2{"pair/openmpi-4-with-pmi2",
                              kWorks,
                              kDoc,
                              "this Open MPI is built with PMI-2, which srun offers",
                              {}};
constexpr Rule kNoPmi2{"pair/openmpi-4-pmi2",
                       kAborts,
                       kRan,
                       "this Open MPI is built without PMI-1 and PMI-2 (\"OMPI was not built with "
                       "SLURM's PMI support\")",
                       kUsePmix};
constexpr Rule kNoPmi2Old{"pair/openmpi-3-pmi2",
                          kAborts,
                          kDoc,
                          "this Open MPI is built without PMI-1 and PMI-2, and says so",
                          kUsePmix};
constexpr Rule kNoServer4{"pair/openmpi-4-none",
                          kAborts,
                          kRan,
                          "a rank that srun starts without PMIx or PMI finds no server (\"OPAL "
                          "ERROR: Unreachable\")",
                          kUsePmix};
constexpr Rule kNoServer3{"pair/openmpi-3-none",
                          kAborts,
                          kDoc,
                          "a rank that srun starts without PMIx or PMI finds no server",
                          kUsePmix};
constexpr Rule kNeverPmi2{"pair/openmpi-5-pmi2",
                          kSingletons,
                          kRan,
                          "Open MPI 5 and later know no PMI-1 and PMI-2: each rank starts alone, "
                          "with exit code 0",
                          kUsePmix};
constexpr Rule kNoServer5{"pair/openmpi-5-none",
                          kSingletons,
                          kRan,
                          "without PMIx or PMI from the launcher each rank starts alone, with exit "
                          "code 0",
                          kUsePmix};
constexpr Rule kHydra{"pair/openmpi-hydra",
                      kSingletons,
                      kRan,
                      "Open MPI requires a PMIx server, and hydra offers PMI-1/2 only: each rank "
                      "starts alone, with exit code 0",
                      "use an Open MPI on the host, or MPICH in the image"};
constexpr Rule kAlone{"pair/no-launcher",
                      kSingletons,
                      kDoc,
                      "nothing connects the ranks: each is a job of one rank",
                      kUseLauncher};

// MPICH and its relatives
constexpr Rule kMpichHydra{
    "pair/mpich-hydra", kWorks, kDoc, "the image's MPICH speaks PMI-1/2, which hydra offers", {}};
constexpr Rule kMpich5Hydra{
    "pair/mpich-5-hydra",
    kWorks,
    kRan,
    "the image's MPICH speaks PMI-1/2, which hydra of MPICH and of Intel MPI "
    "offer",
    {}};
constexpr Rule kMpichPmi2{"pair/mpich-pmi2",
                          kWorks,
                          kRan,
                          "the image's MPICH speaks PMI-2, which srun offers",
                          "where UCX says \"Endpoint timeout\", set UCX_TLS to the fabric that the "
                          "nodes share"};
constexpr Rule kMpichPmix{"pair/mpich-pmix",
                          kSingletons,
                          kRan,
                          "MPICH speaks PMI-1/2, and this launcher offers PMIx only: each rank "
                          "starts alone, with exit code 0",
                          kUsePmi2};
constexpr Rule kMpich5Pmix{
    "pair/mpich-5-pmix",
    kAborts,
    kRan,
    "this MPICH speaks PMI-1/2, sees that the launcher offers PMIx only, and ends "
    "(\"Runtime environment uses unsupported PMI version PMIx\")",
    kUsePmi2};
constexpr Rule kMpichWithPmix{
    "pair/mpich-with-pmix", kWorks, kDoc, "this MPICH is built with PMIx, which srun offers", {}};
constexpr Rule kMpichNone{"pair/mpich-none",
                          kSingletons,
                          kRan,
                          "without PMIx or PMI from the launcher each rank starts alone, with exit "
                          "code 0",
                          kUsePmi2};
constexpr Rule kMpichOnlyPmix{"pair/mpich-only-pmix",
                              kSingletons,
                              kDoc,
                              "this MPICH is built for PMIx alone, which the launcher does not "
                              "offer",
                              "use `srun` with pmix"};
constexpr Rule kPmi1Library{"pair/mvapich2-pmi1",
                            kUnknown,
                            kDoc,
                            "Slurm's PMI-1 library in the image must be of the Slurm that starts "
                            "the ranks",
                            "build it with pmi2, and keep the guard on"};
constexpr Rule kRelativeHydra{"pair/relative-hydra",
                              kWorks,
                              kDoc,
                              "the image's MPI is a relative of MPICH and speaks PMI-1/2, which "
                              "hydra offers",
                              {}};
constexpr Rule kRelativePmi2{"pair/relative-pmi2",
                             kWorks,
                             kDoc,
                             "the image's MPI is a relative of MPICH and speaks PMI-2, which srun "
                             "offers",
                             {}};
constexpr Rule kRelativePmix{"pair/relative-pmix",
                             kSingletons,
                             kDoc,
                             "the image's MPI speaks PMI-1/2, and this launcher offers PMIx only",
                             kUsePmi2};
constexpr Rule kRelativeNone{"pair/relative-none",
                             kSingletons,
                             kDoc,
                             "without PMIx or PMI from the launcher each rank starts alone",
                             kUsePmi2};
constexpr Rule kIntelServer{"pair/intel-srun",
                            kWorks,
                            kRan,
                            "this Intel MPI brings a client for PMI-2, which srun offers",
                            {}};
constexpr Rule kIntelPmix{
    "pair/intel-pmix",
    kWorks,
    kRan,
    "this Intel MPI loads the image's PMIx library, which reaches the server that "
    "srun offers",
    {}};
constexpr Rule kIntelNoPmix{
    "pair/intel-no-pmix",
    kSingletons,
    kRan,
    "Intel MPI loads PMIx's library when it starts, and the image has none: each "
    "rank starts alone, with exit code 0",
    "install libpmix in the image, or use srun with pmi2"};
constexpr Rule kIntelMpirun{
    "pair/intel-openmpi",
    kSingletons,
    kRan,
    "Intel MPI does not use the PMIx of Open MPI's mpirun: each rank starts "
    "alone, with exit code 0",
    "use srun, or an mpirun of Intel MPI or MPICH on the host"};
constexpr Rule kIntelNone{"pair/intel-none",
                          kSingletons,
                          kRan,
                          "without PMIx or PMI from the launcher each rank starts alone, with exit "
                          "code 0",
                          kUsePmi2};
constexpr Rule kIntelHydra{"pair/intel-hydra",
                           kWorks,
                           kRan,
                           "hydra of Intel MPI and of MPICH offer each other's programs PMI-1/2",
                           {}};
constexpr Rule kIntelPmi2{"pair/intel-pmi2",
                          kWorksWithOptions,
                          kDoc,
                          "Intel MPI asks Slurm's PMI-2 library, which must be named and be in the "
                          "image",
                          "install libpmi2 in the image; under mpirun leave the variable unset",
                          {{{"I_MPI_PMI_LIBRARY", "/usr/lib/x86_64-linux-gnu/libpmi2.so.0"}, {}}}};

constexpr VersionRange kAll{};
constexpr auto kAny = Speaks::kAnything;
constexpr auto kEach = Nodes::kAny;

// Seen with Open MPI 4.1.4 (PMIx 4.2.2) and Slurm 22.05.8 (pmix_v4) on the host, one and two nodes,
// four ranks; images with Open MPI 4.1.0, 4.1.4, 5.0.7, 6.0.0rc2 and MPICH 4.0.2. hydra 4.0.2
// against Open MPI 4.1.4 was seen without a container, and so were Open MPI 5.0.11, MPICH 5.0.2 and
// Intel MPI 2021.19, each as launcher and as program, with the same Slurm.
constexpr PairRow kPairRows[] = {
    {"openmpi", {"6", "6"}, kAny, kMpirunOpenmpi, Nodes::kSeveral, kNetwork},
    {"openmpi", {"6", "6"}, kAny, kSrunPmix, Nodes::kSeveral, kNetwork},
    {"openmpi", {"4.1", "6"}, kAny, kMpirunOpenmpi, kEach, kPmixServer},
    {"openmpi", {"4.1", "6"}, kAny, kSrunPmix, kEach, kPmixServer},
    {"openmpi", {"3.1", "4.0"}, kAny, kMpirunOpenmpi, kEach, kPmixOld},
    {"openmpi", {"3.1", "4.0"}, kAny, kSrunPmix, kEach, kPmixOld},
    {"openmpi", {"3.1", "4"}, Speaks::kPmi2, kSrunPmi2, kEach, kBuiltWithPmi2},
    {"openmpi", {"4.1", "4"}, kAny, kSrunPmi2, kEach, kNoPmi2},
    {"openmpi", {"3.1", "4.0"}, kAny, kSrunPmi2, kEach, kNoPmi2Old},
    {"openmpi", {"4.1", "4"}, kAny, kSrunNone, kEach, kNoServer4},
    {"openmpi", {"3.1", "4.0"}, kAny, kSrunNone, kEach, kNoServer3},
    {"openmpi", {"5", "6"}, kAny, kSrunPmi2, kEach, kNeverPmi2},
    {"openmpi", {"5", "6"}, kAny, kSrunNone, kEach, kNoServer5},
    {"openmpi", {"3.1", "6"}, kAny, kMpirunMpich, kEach, kHydra},
    {"mpich", {"3", "5"}, Speaks::kPmix, kSrunPmix, kEach, kMpichWithPmix},
    {"mpich", {"3", "4"}, kAny, kMpirunOpenmpi, kEach, kMpichPmix},
    {"mpich", {"5", "5"}, kAny, kMpirunOpenmpi, kEach, kMpich5Pmix},
    {"mpich", {"3", "4"}, kAny, kSrunPmix, kEach, kMpichPmix},
    {"mpich", {"5", "5"}, kAny, kSrunPmix, kEach, kMpich5Pmix},
    {"mpich", {"3", "5"}, Speaks::kNoPmi2, kSrunPmi2, kEach, kMpichOnlyPmix},
    {"mpich", {"3", "5"}, kAny, kSrunPmi2, kEach, kMpichPmi2},
    {"mpich", {"3", "5"}, kAny, kSrunNone, kEach, kMpichNone},
    {"mpich", {"3", "5"}, Speaks::kNoPmi2, kMpirunMpich, kEach, kMpichOnlyPmix},
    {"mpich", {"5", "5"}, kAny, kMpirunMpich, kEach, kMpich5Hydra},
    {"mpich", {"3", "4"}, kAny, kMpirunMpich, kEach, kMpichHydra},
    {"mvapich2", {"2", "2"}, Speaks::kPmix, kSrunPmix, kEach, kMpichWithPmix},
    {"mvapich2", {"2", "2"}, Speaks::kPmi2, kSrunPmi2, kEach, kRelativePmi2},
    {"mvapich2", {"2", "2"}, kAny, kSrunPmi2, kEach, kPmi1Library},
    {"mvapich2", {"2", "2"}, kAny, kMpirunMpich, kEach, kRelativeHydra},
    {"mvapich2", {"2", "2"}, kAny, kMpirunOpenmpi, kEach, kRelativePmix},
    {"mvapich2", {"2", "2"}, kAny, kSrunPmix, kEach, kRelativePmix},
    {"mvapich2", {"2", "2"}, Speaks::kPmi2, kSrunNone, kEach, kRelativeNone},
    {"mvapich2", {"2", "2"}, kAny, kSrunNone, kEach, kPmi1Library},
    {"mvapich", {"3", "4"}, Speaks::kPmix, kSrunPmix, kEach, kMpichWithPmix},
    {"mvapich", {"3", "4"}, kAny, kMpirunMpich, kEach, kRelativeHydra},
    {"mvapich", {"3", "4"}, kAny, kSrunPmi2, kEach, kRelativePmi2},
    {"mvapich", {"3", "4"}, kAny, kMpirunOpenmpi, kEach, kRelativePmix},
    {"mvapich", {"3", "4"}, kAny, kSrunPmix, kEach, kRelativePmix},
    {"mvapich", {"3", "4"}, kAny, kSrunNone, kEach, kRelativeNone},
    {"intel", {"2021.19", "2021"}, kAny, kMpirunMpich, kEach, kIntelHydra},
    {"intel", {"2021.19", "2021"}, kAny, kSrunPmi2, kEach, kIntelServer},
    {"intel", {"2021.19", "2021"}, Speaks::kPmix, kSrunPmix, kEach, kIntelPmix},
    {"intel", {"2021.19", "2021"}, kAny, kSrunPmix, kEach, kIntelNoPmix},
    {"intel", {"2021.19", "2021"}, kAny, kMpirunOpenmpi, kEach, kIntelMpirun},
    {"intel", {"2021.19", "2021"}, kAny, kSrunNone, kEach, kIntelNone},
    {"intel", {"2019", "2021"}, kAny, kMpirunMpich, kEach, kRelativeHydra},
    {"intel", {"2019", "2021"}, kAny, kSrunPmi2, kEach, kIntelPmi2},
    {"intel", {"2019", "2021"}, kAny, kMpirunOpenmpi, kEach, kRelativePmix},
    {"intel", {"2019", "2021"}, kAny, kSrunPmix, kEach, kRelativePmix},
    {"intel", {"2019", "2021"}, kAny, kSrunNone, kEach, kRelativeNone},
    {{}, kAll, kAny, kNoLauncher, kEach, kAlone},
};

} // namespace

std::span<const PairRow> pair_rows() {
    return kPairRows;
}

} // namespace cybele::compatibility
