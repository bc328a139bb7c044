// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan.hpp"
#include "launchers/plan/plan_parts.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

/// Programs that start the tasks of a launch, which the script does itself.
constexpr std::array<std::string_view, 12> kStarters{"mpirun",
                                                     "mpiexec",
                                                     "mpiexec.hydra",
                                                     "mpiexec.mpirun_rsh",
                                                     "orterun",
                                                     "prterun",
                                                     "srun",
                                                     "aprun",
                                                     "jsrun",
                                                     "torchrun",
                                                     "horovodrun",
                                                     "spark-submit"};

} // namespace

void check_starter(const Job& job, Faults& faults) {
    const LaunchKind kind = job.launch.kind;
    const bool is_one =
        kind == LaunchKind::kSerial || kind == LaunchKind::kOpenmp || kind == LaunchKind::kBatch;
    if (is_one || job.command.empty()) {
        return;
    }
    const std::string name = std::filesystem::path(job.command.front()).filename();
    if (!contains(kStarters, name)) {
        return;
    }
    faults.add(job.fault_at(
        "command",
        problem("starter-in-command",
                fmt::format("`{}` starts what `launch: {}` starts already",
                            printable(name),
                            kind_text(job.launch.kind))),
        "each task would start all others again",
        fmt::format("remove `{}` and its options: write the program and its arguments", name)));
}

void check_batch_options(const Job& job, Faults& faults) {
    const Resources& wanted = job.resources;
    if (job.launch.kind == LaunchKind::kBatch) {
        return;
    }
    if (wanted.cpus_per_gpu) {
        faults.add(
            job.fault_at("resources.cpus-per-gpu",
                         problem("cpus-per-gpu-batch", "`cpus-per-gpu` needs `launch: batch`"),
                         "other launches count the cores of each task",
                         "write `cpus-per-task` in place of `cpus-per-gpu`"));
    }
    if (wanted.gpus > 0 && wanted.nodes > 1) {
        faults.add(
            job.fault_at("resources.gpus",
                         problem("gpus-batch", "`gpus` on several nodes needs `launch: batch`"),
                         "the batch system may spread them unevenly, and other launches "
                         "check the GPUs of each node",
                         fmt::format("write `gpus-per-node: {}` in place of `gpus: {}`",
                                     (wanted.gpus + wanted.nodes - 1) / wanted.nodes,
                                     wanted.gpus)));
    }
    const bool is_even = wanted.tasks == std::uint64_t{wanted.nodes} * wanted.tasks_per_node;
    if (wanted.gpus_per_task > 0 && !is_even) {
        faults.add(job.fault_at(
            "resources.gpus-per-task",
            problem("gpus-per-task-uneven", "`gpus-per-task` needs as many tasks on each node"),
            "`tasks` is less than nodes × tasks-per-node",
            fmt::format("write `gpus-per-node: {}` in place of `gpus-per-task: {}`",
                        std::uint64_t{wanted.gpus_per_task} * wanted.tasks_per_node,
                        wanted.gpus_per_task)));
    }
}

} // namespace cybele::launchers
