// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "launchers/documents/site.hpp"
#include "launchers/mpi/mpi.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cybele::images {
struct ImageFacts;
}

namespace cybele::launchers {

/// What a launch needs to know of the scheduler; the dialect's table says it.
struct PlaceTraits {
    std::string dialect;
    bool has_srun = false;
    bool has_node_file = false; ///< hosts come from PBS_NODEFILE, ranks start over ssh
    bool has_queues = true;     ///< the Site's queues and their limits count
    bool binds_cores = false;   ///< the scheduler gives whole cores, so ranks may be bound
};

/// When ranks sit in user namespaces of their own, where copying between processes is forbidden.
enum class SingleCopy { kOffForUsers, kOff, kOn };

/// The host's MPI in place of the image's (launch kind mpi-bind).
struct BindPlan {
    std::string prefix;  ///< of the host's MPI; empty: the script finds it
    std::string library; ///< the name that the image's programs ask for; empty: any libmpi
};

/// One torchrun on each node.
struct TorchPlan {
    std::uint32_t processes = 1; ///< of each node
    std::uint32_t max_restarts = 0;
};

/// A Spark of the job's own: a master and the driver on the first node, a worker on each.
struct SparkPlan {
    std::uint32_t worker_cores = 1;
    std::uint32_t first_worker_cores = 1; ///< beside master and driver
    std::uint64_t daemon_mib = 512;       ///< heap of the master, and of a worker's own process
    std::uint64_t worker_mib = 0;         ///< what a worker has for executors
    std::uint64_t executor_mib = 0;       ///< heap of an executor
    std::uint32_t executor_cores = 0;     ///< 0: all of its worker
    std::uint64_t driver_mib = 0;
    std::chrono::seconds ready_within{120};
    std::vector<std::pair<std::string, std::string>> properties;
};

/// How a Job's program is started in an allocation: a plain value that can be printed.
struct LaunchPlan {
    LaunchKind kind = LaunchKind::kSerial;
    std::uint32_t nodes = 1;
    std::uint32_t ranks = 1;
    std::uint32_t ranks_per_node = 1;
    std::uint32_t cpus_per_task = 1;
    std::uint32_t threads = 1;
    bool is_oversubscribed = false;

    std::vector<std::string> launcher; ///< words before the container; empty: started directly
    std::optional<compatibility::MpiLauncher> starter;
    std::string pmi;                     ///< srun's name for it, where srun is chosen
    bool shares_cores = false;           ///< mpirun binds no rank: others may have the node's cores
    bool uses_node_file = false;         ///< hosts and variables must be named to the launcher
    bool allow_root = false;             ///< mpirun of Open MPI may run as root
    compatibility::MpiVersion host_mpi;  ///< of the Site; unknown when it names none
    compatibility::MpiVersion image_mpi; ///< of the image's facts
    std::string verdict;                 ///< of compatibility/: "works (seen): …"; empty: none
    std::string probe;                   ///< the guard's program in the image; empty: no guard
    SingleCopy single_copy = SingleCopy::kOffForUsers;
    std::optional<BindPlan> bind;
    std::optional<TorchPlan> torch;
    std::optional<SparkPlan> spark;

    std::vector<std::pair<std::string, std::string>> variables;   ///< threads', then launch's
    std::vector<std::pair<std::string, std::string>> environment; ///< the Job's plain values
    std::vector<std::pair<std::string, std::string>> secrets;     ///< name, path of `@file:PATH`
    std::set<std::string> expanded; ///< names in `environment` whose values have variables
    std::vector<NodeText> binds;    ///< the Site's, the Job's
    std::vector<std::string> modules;
    std::vector<Setup> setup;       ///< before the program: of the Site, the queue, the Job
    std::vector<Teardown> teardown; ///< after it: of the Job, the queue, the Site

    std::string queue;    ///< the Job's, else the Site's first that the job fits in
    std::string account;  ///< the Job's, else that queue's, else the Site's
    std::string qos;      ///< likewise; of the Site for Slurm only
    std::string gpu_type; ///< the Job's, else that queue's; empty: any
    GpuForm gpu_form = GpuForm::kPerNode;
    std::string gpu_vendor; ///< of that queue, as the Site says: nvidia, amd, intel, or empty
    std::optional<std::chrono::seconds> time;
};

struct PlanInput {
    const Job* job = nullptr;
    const Site* site = nullptr;                ///< may be null
    const images::ImageFacts* facts = nullptr; ///< null: unknown
    PlaceTraits place;
};

/// Plans the launch. What facts, limits of the Site or this version forbid goes into `faults` with
/// its place, all at once; what is only not known goes there as a warning.
[[nodiscard]] LaunchPlan make_plan(const PlanInput& input, Faults& faults);

/// The queue of the Site whose limits, set-up and options count for a job: of those that it names,
/// else of all, the first that it fits in, else the first. Null: the Site has none, or not these.
[[nodiscard]] const SiteQueue* queue_of(const Job& job, const Site* site);

/// A fault of `account` or `qos`: where the Job has it, else where its queue or the Site does.
[[nodiscard]] Fault fault_at_default(const Job& job,
                                     const Site* site,
                                     std::string_view field,
                                     Problem problem,
                                     std::string because,
                                     std::string help);

/// A fault of that queue: where the Job names it, else where the Site does.
[[nodiscard]] Fault fault_at_queue(
    const Job& job, const Site* site, Problem problem, std::string because, std::string help);

/// The kind as a Job writes it: `mpi`.
[[nodiscard]] std::string_view kind_text(LaunchKind kind);

} // namespace cybele::launchers
