// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/mpi/version.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::compatibility {

/// What starts the ranks on the host.
enum class MpiLauncher {
    kMpirunOpenmpi, ///< Open MPI's mpirun or prterun: a PMIx server
    kMpirunMpich,   ///< hydra of MPICH, Intel MPI, MVAPICH2: a PMI-1/2 server
    kSrunPmix,
    kSrunPmi2,
    kSrunNone,
    kNoLauncher, ///< the program itself
};

enum class Outcome {
    kWorks,
    kWorksWithOptions, ///< right with the options that are named
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

/// How an image's MPI finds its peers, as the label `cybelectl.pmi` says it: `pmix 4.2.2`, `pmi2`,
/// `pmix 3.2.5 pmi2`.
struct PmiSupport {
    bool has_pmix = false;
    bool has_pmi1 = false;
    bool has_pmi2 = false;
    std::string pmix; ///< version of the PMIx client; empty: unknown
};
/// Without a label: what the family has when nothing else was configured.
[[nodiscard]] PmiSupport pmi_of(std::string_view label, const MpiVersion& mpi);

/// The PMIx that an Open MPI release brings along, as version; empty: unknown.
[[nodiscard]] std::string_view bundled_pmix(const MpiVersion& mpi);

/// The library's name that programs built with that MPI ask for: `libmpi.so.40`; empty: unknown.
[[nodiscard]] std::string_view library_of(const MpiVersion& mpi);

[[nodiscard]] std::string_view launcher_text(MpiLauncher launcher);
[[nodiscard]] std::string_view outcome_text(Outcome outcome);

/// The launcher that `mpirun` of that family is; unknown families count as Open MPI.
[[nodiscard]] MpiLauncher mpirun_of(std::string_view host_family);

/// The launcher for a Recipe's or Job's words (`mpirun`, `srun`, `none`; `pmix`, `pmix_v4`, `pmi2`,
/// `none`). `pmi` empty under srun: what the image's MPI wants is taken.
[[nodiscard]] MpiLauncher launcher_of(std::string_view launcher,
                                      std::string_view host_family,
                                      std::string_view pmi,
                                      const PmiSupport& image);

} // namespace cybele::compatibility
