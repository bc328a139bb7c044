// SPDX-License-Identifier: Apache-2.0
#include "submission/local/demand.hpp"

#include "submission/journal/journal.hpp"
#include "submission/local/dependency.hpp"
#include "submission/local/scheduler.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

using launchers::Job;

/// The field that asks for most of the cores, or of the memory.
std::string_view field_of_cpus(const Job& job) {
    if (job.sweep && job.sweep->pack > 0) {
        return job.marks.contains("sweep.at-once") ? "sweep.at-once" : "sweep.pack";
    }
    if (job.resources.tasks == 1) {
        return "resources.cpus-per-task";
    }
    return job.marks.contains("resources.tasks-per-node") ? "resources.tasks-per-node"
                                                          : "resources.tasks";
}

bool starts_ranks(const Job& job) {
    return job.launch.kind == launchers::LaunchKind::kMpi ||
           job.launch.kind == launchers::LaunchKind::kMpiBind;
}

std::string help_with_cores(const Job& job, const Machine& machine) {
    constexpr std::string_view kShare = "`oversubscribe: true` under `launch` (or --oversubscribe)";
    if (starts_ranks(job)) {
        return fmt::format("ask for fewer tasks, or let ranks share cores to try it here: {}",
                           kShare);
    }
    const std::uint64_t cpus_of_row = std::max(job.resources.cpus_per_task, 1U);
    if (job.sweep && job.sweep->pack > 0 && cpus_of_row <= machine.threads()) {
        return fmt::format("run fewer rows side by side: `at-once: {}` under `sweep`",
                           machine.threads() / cpus_of_row);
    }
    if (job.launch.kind == launchers::LaunchKind::kOpenmp && job.launch.threads) {
        return fmt::format("let the {} threads share cores to try it here: {}, or submit it to a "
                           "cluster",
                           *job.launch.threads,
                           kShare);
    }
    if (job.resources.tasks == 1) {
        return fmt::format("ask for at most {0} (`-c {0}`), or submit it to a cluster",
                           machine.threads());
    }
    return "ask for fewer tasks or threads, or submit it to a cluster";
}

Fault too_much(const Job& job, const Machine& machine, std::string_view what) {
    const Demand demand = demand_of(job);
    if (what == "cpus") {
        return job.fault_at(field_of_cpus(job),
                            problem("machine-cores",
                                    fmt::format("the job needs {} cores, and this machine has {}",
                                                demand.cpus,
                                                machine.threads())),
                            "each CPU of a task is a core of its own, so the job could never start",
                            help_with_cores(job, machine));
    }
    if (what == "memory") {
        return job.fault_at(
            job.resources.memory_per_node_bytes ? "resources.memory-per-node"
                                                : "resources.memory-per-cpu",
            problem("machine-memory",
                    fmt::format("the job needs {} of memory, and this machine has {}",
                                format_size(demand.memory),
                                format_size(machine.memory >> 20U << 20U))),
            "it would wait for ever",
            "ask for less, or submit it to a cluster");
    }
    return job.fault_at(launchers::field_of_gpus(job.resources),
                        problem("machine-gpus",
                                fmt::format("the job needs {} GPUs, and this machine has {}",
                                            demand.gpus,
                                            machine.gpus.size())),
                        "counted are /dev/nvidia0 and its like, else /dev/dri/renderD*",
                        "submit it to a cluster with GPUs");
}

} // namespace

Demand demand_of(const Job& job) {
    Demand demand;
    const auto& resources = job.resources;
    demand.cpus = std::uint64_t{resources.tasks} * resources.cpus_per_task;
    const std::uint64_t a_core = resources.memory_per_cpu_bytes.value_or(0);
    std::uint64_t of_cores = std::numeric_limits<std::uint64_t>::max();
    if (demand.cpus == 0 || a_core <= of_cores / demand.cpus) {
        of_cores = a_core * demand.cpus;
    }
    demand.memory = std::max(resources.memory_per_node_bytes.value_or(0), of_cores);
    demand.gpus = launchers::gpus_of_node(resources);
    demand.seconds = resources.time.value_or(std::chrono::seconds(0)).count();
    demand.is_exclusive = resources.exclusive;
    demand.is_oversubscribed = job.launch.oversubscribe;
    return demand;
}

Result<void> check_local(const Job& job, const Environment& environment) {
    Faults faults;
    const LocalScheduler scheduler(Journal::folder(environment), environment);
    for (Demand left = demand_of(job);;) {
        const std::string what = never_fits(scheduler.machine(), left);
        if (what.empty()) {
            break;
        }
        faults.add(too_much(job, scheduler.machine(), what));
        (what == "cpus" ? left.cpus : what == "memory" ? left.memory : left.gpus) = 0;
    }
    if (!job.after.empty()) {
        CYBELE_TRY(const Queue queue, Queue::open(scheduler.folder()));
        for (std::size_t at = 0; at < job.after.size(); ++at) {
            const auto id = read_local_id(job.after[at].job);
            CYBELE_TRY(const std::vector<LocalPart> parts,
                       id ? queue.parts_of(id->first) : Result<std::vector<LocalPart>>());
            const bool is_known = id && std::ranges::any_of(parts, [&id](const LocalPart& part) {
                                      return id->second < 0 || part.index == id->second;
                                  });
            if (!is_known) {
                faults.add(job.fault_at(
                    fmt::format("after[{}].job", at),
                    problem("local-job-unknown",
                            fmt::format("the local scheduler has no job '{}'",
                                        printable(job.after[at].job))),
                    "this job would wait for ever",
                    "`cybelectl job list --all` shows its ids; submit that job first"));
            }
        }
    }
    return faults.has_errors() ? fail(faults.take()) : Result<void>();
}

} // namespace cybele::submission
