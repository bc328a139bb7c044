// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan_parts.hpp"
#include "support/counted.hpp"

#include <fmt/format.h>

namespace cybele::launchers {

void plan_torch(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    TorchPlan torch;
    const std::uint32_t gpus = gpus_of_node(job.resources);
    torch.processes = job.launch.processes_per_node.value_or(gpus > 0 ? gpus : 1);
    torch.max_restarts = job.launch.max_restarts;
    if (torch.processes > plan.cpus_per_task) {
        const bool has_cores = job.says("resources.cpus-per-task");
        faults.add(job.fault_at(
            has_cores                       ? "resources.cpus-per-task"
            : job.launch.processes_per_node ? "launch.processes-per-node"
                                            : field_of_gpus(job.resources),
            problem("torch-processes",
                    fmt::format("{} processes per node do not fit on {}",
                                torch.processes,
                                counted(plan.cpus_per_task, "CPU"))),
            "each of them computes on at least one",
            fmt::format(fmt::runtime(has_cores ? "write `{}`"
                                               : "add `cpus-per-task: {}` under `resources`"),
                        torch.processes)));
    }
    if (job.command.empty() && job.script.empty()) {
        faults.add(
            job.fault_at("launch.kind",
                         problem("torch-without-program", "launch `torch` without a program"),
                         "torchrun needs a program to start",
                         "add `command: [train.py, …]`"));
    }
    plan.torch = torch;
}

} // namespace cybele::launchers
