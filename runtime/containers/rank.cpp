// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/rank.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cybele::runtime {
namespace {

/// A process with one of these is a rank. `with`: only together with that one (a batch script has
/// SLURM_PROCID too, but no step).
struct RankName {
    std::string_view name;
    std::string_view with;
};
constexpr std::array kRankNames = {
    RankName{"PMIX_RANK", ""},            // Open MPI 4 and 5, srun --mpi=pmix
    RankName{"OMPI_COMM_WORLD_RANK", ""}, // Open MPI
    RankName{"PMI_RANK", ""},             // MPICH, Intel MPI, srun --mpi=pmi2
    RankName{"PMI_FD", ""},
    RankName{"MPI_LOCALRANKID", ""},     // hydra
    RankName{"MV2_COMM_WORLD_RANK", ""}, // MVAPICH2
    RankName{"PALS_RANKID", ""},         // HPE's PALS
    RankName{"ALPS_APP_PE", ""},         // Cray's ALPS
    RankName{"JSM_NAMESPACE_RANK", ""},  // IBM's jsrun
    RankName{"FLUX_TASK_RANK", ""},      // Flux
    RankName{"SLURM_PROCID", "SLURM_STEP_ID"},
};

/// Together they name a launch: the scheduler's job and step, then mpirun's own name.
constexpr std::array<std::string_view, 12> kLaunchNames = {"SLURM_JOB_ID",
                                                           "SLURM_STEP_ID",
                                                           "PBS_JOBID",
                                                           "LSB_JOBID",
                                                           "CYBELE_JOB",
                                                           "FLUX_JOB_ID",
                                                           "PMI_JOBID",
                                                           "PALS_APID",
                                                           "ALPS_APP_ID",
                                                           "JSM_JSRUN_ID",
                                                           "PMIX_NAMESPACE",
                                                           "OMPI_MCA_ess_base_jobid"};

/// "1" says that the rank is alone on its node.
constexpr std::array<std::string_view, 3> kLocalSizes = {
    "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNoSingleCopy = {{
    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}, // Open MPI 4
    {"OMPI_MCA_smsc", "^cma"},                            // Open MPI 5
    {"UCX_TLS", "^cma"},                                  // MPICH and Open MPI with UCX
    {"UCX_POSIX_USE_PROC_LINK", "n"},                     // /proc/PID/fd is as closed as memory
    {"MPIR_CVAR_CH4_CMA_ENABLE", "0"},                    // MPICH 5
}};

} // namespace

Rank read_rank(const Environment& environment) {
    Rank rank;
    rank.is_rank = std::ranges::any_of(kRankNames, [&](const RankName& row) {
        return environment.get(row.name) && (row.with.empty() || environment.get(row.with));
    });
    rank.is_alone = std::ranges::any_of(
        kLocalSizes, [&](std::string_view name) { return environment.get_or(name, "") == "1"; });
    for (const std::string_view name : kLaunchNames) {
        if (const auto value = environment.get(name)) {
            rank.launch += std::string(name) + '=' + *value + '\n';
        }
    }
    return rank;
}

void forbid_single_copy(EnvironmentMap& variables) {
    for (const auto& [name, value] : kNoSingleCopy) {
        variables.try_emplace(std::string(name), value);
    }
}

} // namespace cybele::runtime
