// SPDX-License-Identifier: Apache-2.0
#include "compatibility/mpi.hpp"

#include <array>
#include <charconv>

namespace cybele::compatibility {
namespace {

using enum MpiLauncher;
using enum Outcome;

constexpr std::string_view kPmixReason =
    "the image's PMIx client reaches the PMIx server that the launcher offers";
constexpr std::string_view kOpenmpiPmi2 =
    "this Open MPI is built without PMI-1 and PMI-2 (\"OMPI was not built with SLURM's PMI "
    "support\")";
constexpr std::string_view kOpenmpi5Pmi2 =
    "Open MPI 5 and later know no PMI-1 and PMI-2: each rank starts alone, with exit code 0";
constexpr std::string_view kNoServer =
    "without PMIx or PMI from the launcher each rank starts alone, with exit code 0";
constexpr std::string_view kMpichPmix =
    "MPICH speaks PMI-1/2, and this launcher offers PMIx only: each rank starts alone, with exit "
    "code 0";
constexpr std::string_view kOpenmpiHydra =
    "Open MPI wants a PMIx server, and hydra offers PMI-1/2 only: each rank starts alone";
constexpr std::string_view kHydra = "the image's MPICH speaks PMI-1/2, which hydra offers";
constexpr std::string_view kOpenmpi6Network =
    "Open MPI 6 chooses an interface by which the nodes may not reach each other (\"Unable to find "
    "reachable pairing\")";
constexpr std::string_view kUsePmix = "use `mpirun` of Open MPI, or `srun` with pmix";
constexpr std::string_view kUsePmi2 = "use `srun` with pmi2, or an mpirun of MPICH on the host";
constexpr std::string_view kUseOpenmpi = "use an Open MPI on the host, or MPICH in the image";
constexpr std::string_view kSetNetwork = "give the Site's interconnect.network";
constexpr std::string_view kInclude = "OMPI_MCA_btl_tcp_if_include";

constexpr Verdict kPmixWorks{kWorks, kPmixReason, {}, {}};
constexpr Verdict kPmi2Aborts{kAborts, kOpenmpiPmi2, kUsePmix, {}};
constexpr Verdict kPmi2Alone{kSingletons, kOpenmpi5Pmi2, kUsePmix, {}};
constexpr Verdict kNoneAlone{kSingletons, kNoServer, kUsePmix, {}};
constexpr Verdict kNetwork{kWorksWithOptions, kOpenmpi6Network, kSetNetwork, kInclude};
constexpr Verdict kHydraAlone{kSingletons, kOpenmpiHydra, kUseOpenmpi, {}};
constexpr Verdict kMpichAlone{kSingletons, kMpichPmix, kUsePmi2, {}};
constexpr Verdict kMpichNone{kSingletons, kNoServer, kUsePmi2, {}};
constexpr Verdict kHydraWorks{kWorks, kHydra, {}, {}};
constexpr Verdict kPmi2Works{kWorks, "the image's MPICH speaks PMI-2, which srun offers", {}, {}};

/// A column of the measured matrix: the same verdict on one node and on several, or two.
struct Cell {
    std::string_view family;
    std::uint32_t first_major;
    std::uint32_t last_major;
    MpiLauncher launcher;
    Verdict one_node;
    Verdict several_nodes;
};

// Measured with Open MPI 4.1.4 and Slurm 22.05 on the host, two nodes, four ranks; images with Open
// MPI 4.1.0, 4.1.4, 5.0.7, 6.0.0rc2 and MPICH 4.0.2. hydra's rows follow from the protocols.
constexpr std::array kCells{
    Cell{"openmpi", 4, 5, kMpirunOpenmpi, kPmixWorks, kPmixWorks},
    Cell{"openmpi", 4, 5, kSrunPmix, kPmixWorks, kPmixWorks},
    Cell{"openmpi", 4, 4, kSrunPmi2, kPmi2Aborts, kPmi2Aborts},
    Cell{"openmpi", 4, 4, kSrunNone, kPmi2Aborts, kPmi2Aborts},
    Cell{"openmpi", 5, 6, kSrunPmi2, kPmi2Alone, kPmi2Alone},
    Cell{"openmpi", 5, 6, kSrunNone, kNoneAlone, kNoneAlone},
    Cell{"openmpi", 6, 6, kMpirunOpenmpi, kPmixWorks, kNetwork},
    Cell{"openmpi", 6, 6, kSrunPmix, kPmixWorks, kNetwork},
    Cell{"openmpi", 4, 6, kMpirunMpich, kHydraAlone, kHydraAlone},
    Cell{"mpich", 3, 4, kMpirunOpenmpi, kMpichAlone, kMpichAlone},
    Cell{"mpich", 3, 4, kSrunPmix, kMpichAlone, kMpichAlone},
    Cell{"mpich", 3, 4, kSrunPmi2, kPmi2Works, kPmi2Works},
    Cell{"mpich", 3, 4, kSrunNone, kMpichNone, kMpichNone},
    Cell{"mpich", 3, 4, kMpirunMpich, kHydraWorks, kHydraWorks},
};

constexpr auto kRows = [] {
    std::array<Row, 2 * kCells.size()> table{};
    for (std::size_t index = 0; index < kCells.size(); ++index) {
        const Cell& cell = kCells[index];
        table[2 * index] = {
            cell.family, cell.first_major, cell.last_major, cell.launcher, false, cell.one_node};
        table[2 * index + 1] = {cell.family,
                                cell.first_major,
                                cell.last_major,
                                cell.launcher,
                                true,
                                cell.several_nodes};
    }
    return table;
}();

constexpr std::array<std::string_view, 5> kLauncherTexts{
    "mpirun of Open MPI", "mpirun of MPICH (hydra)", "srun with pmix", "srun with pmi2", "srun"};
constexpr std::array<std::string_view, 5> kOutcomeTexts{
    "works", "works with options", "starts N jobs of one rank", "aborts", "unknown"};

} // namespace

std::string MpiVersion::text() const {
    if (!is_known()) {
        return "unknown";
    }
    return version.empty() ? family : family + " " + version;
}

MpiVersion parse_mpi(std::string_view text) {
    MpiVersion mpi;
    const auto blank = text.find(' ');
    mpi.family = text.substr(0, blank);
    if (blank != std::string_view::npos) {
        const auto version = text.substr(blank + 1);
        mpi.version = version;
        // A version that starts with no number leaves 0, "unknown".
        std::from_chars(version.data(), version.data() + version.size(), mpi.major);
    }
    return mpi;
}

std::span<const Row> rows() {
    return kRows;
}

Verdict judge(const MpiVersion& container, MpiLauncher launcher, bool has_several_nodes) {
    for (const Row& row : kRows) {
        if (row.family == container.family && row.launcher == launcher &&
            row.several_nodes == has_several_nodes && container.major >= row.first_major &&
            container.major <= row.last_major) {
            return row.verdict;
        }
    }
    return {kUnknown, "this pair was never measured", "keep the guard on", {}};
}

std::string_view launcher_text(MpiLauncher launcher) {
    return kLauncherTexts[static_cast<std::size_t>(launcher)];
}

std::string_view outcome_text(Outcome outcome) {
    return kOutcomeTexts[static_cast<std::size_t>(outcome)];
}

MpiLauncher mpirun_of(std::string_view host_family) {
    constexpr std::array<std::string_view, 4> kHydras{"mpich", "mvapich2", "mvapich", "intel"};
    for (const auto family : kHydras) {
        if (family == host_family) {
            return kMpirunMpich;
        }
    }
    return kMpirunOpenmpi;
}

} // namespace cybele::compatibility
