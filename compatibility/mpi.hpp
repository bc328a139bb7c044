// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cybele::compatibility {

/// What starts the ranks on the host.
enum class MpiLauncher {
    kMpirunOpenmpi, ///< Open MPI's mpirun or prterun: a PMIx server
    kMpirunMpich,   ///< hydra of MPICH, Intel MPI, MVAPICH2: a PMI-1/2 server
    kSrunPmix,
    kSrunPmi2,
    kSrunNone,
};

enum class Outcome {
    kWorks,
    kWorksWithOptions, ///< right with the options that `help` names
    kSingletons,       ///< every rank says "0 of 1", often with exit code 0
    kAborts,
    kUnknown, ///< never measured: the guard decides at run time
};

/// A family and version as labels and Sites write them: `openmpi 4.1.4`.
struct MpiVersion {
    std::string family; ///< openmpi, mpich, mvapich2, mvapich, intel; empty: unknown
    std::string version;
    std::uint32_t major = 0; ///< 0: unknown

    [[nodiscard]] bool is_known() const {
        return !family.empty();
    }
    /// `openmpi 4.1.4`, or "unknown".
    [[nodiscard]] std::string text() const;
};
[[nodiscard]] MpiVersion parse_mpi(std::string_view text);

struct Verdict {
    Outcome outcome = Outcome::kUnknown;
    std::string_view because;
    std::string_view help;
    std::string_view variable; ///< of kWorksWithOptions: the variable to set
};

/// One row of the table: container's MPI, launcher, one or several nodes.
struct Row {
    std::string_view family;
    std::uint32_t first_major; ///< both inclusive
    std::uint32_t last_major;
    MpiLauncher launcher;
    bool several_nodes; ///< the row is for jobs of two nodes and more, else for one node
    Verdict verdict;
};
[[nodiscard]] std::span<const Row> rows();

/// Whether the image's MPI finds its peers under that launcher.
[[nodiscard]] Verdict
judge(const MpiVersion& container, MpiLauncher launcher, bool has_several_nodes);

[[nodiscard]] std::string_view launcher_text(MpiLauncher launcher);
[[nodiscard]] std::string_view outcome_text(Outcome outcome);

/// The launcher that `mpirun` of that family is; unknown families count as Open MPI.
[[nodiscard]] MpiLauncher mpirun_of(std::string_view host_family);

} // namespace cybele::compatibility
