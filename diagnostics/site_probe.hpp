// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/site.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::diagnostics {

/// A Site as this machine shows it, with where each fact comes from.
struct ProbedSite {
    launchers::Site site;
    std::string libpmix; ///< version of the machine's PMIx library; no field of a Site holds it
    std::vector<std::pair<std::string, std::string>> origins; ///< field → `srun --mpi=list`, …
    std::vector<std::string> notes; ///< what was not found, and what that means
};

/// Asks the programs of this machine (sbatch, qsub, sinfo, srun, mpirun, ompi_info, the container
/// runtime) and looks at its files. Nothing is changed; what does not answer within five seconds
/// is not known.
[[nodiscard]] ProbedSite probe_site(const Environment& environment);

/// A Site document: fields in the order of the reference, each with its origin as a comment.
[[nodiscard]] std::string write_site(const ProbedSite& probed);

/// Where a written Site says otherwise than this machine, each at its place; what the Site leaves
/// out is a warning.
[[nodiscard]] Faults compare_site(const launchers::Site& site, const ProbedSite& probed);

// What the programs print, read; empty texts and lists for what is not in it.

/// `mpirun --version` of Open MPI, hydra (MPICH) and Intel MPI: family and version.
[[nodiscard]] launchers::SiteMpi read_mpirun_version(std::string_view text);
/// `srun --mpi=list` of Slurm 19 to 26.
[[nodiscard]] std::vector<std::string> read_pmi_list(std::string_view text);
/// `sinfo -h -o '%P|%D|%c|%m|%l|%G|%f'`: a partition's nodes of several kinds are one queue with
/// the most of each.
[[nodiscard]] std::vector<launchers::SiteQueue> read_partitions(std::string_view text);
/// `apptainer --version`, `singularity --version`, `sbatch --version`, `qsub --version`: the first
/// word that begins with a digit.
[[nodiscard]] std::string read_version(std::string_view text);

} // namespace cybele::diagnostics
