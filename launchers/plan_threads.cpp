// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan_parts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

/// Every library that counts threads by itself gets the same number.
constexpr std::array<std::string_view, 5> kThreadVariables{"OMP_NUM_THREADS",
                                                           "MKL_NUM_THREADS",
                                                           "OPENBLAS_NUM_THREADS",
                                                           "BLIS_NUM_THREADS",
                                                           "NUMEXPR_NUM_THREADS"};

/// Whether the cores of a rank are its own, so that its threads may be pinned to them: else all
/// ranks of a node would pin theirs to the same first cores.
bool has_own_cores(const LaunchPlan& plan) {
    if (plan.ranks_per_node == 1) {
        return true;
    }
    const auto& words = plan.launcher;
    return std::find(words.begin(), words.end(), "core") != words.end() ||
           (!words.empty() && words.front() == "srun");
}

} // namespace

void plan_threads(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    plan.threads = job.launch.threads.value_or(plan.cpus_per_task);
    if (plan.threads > plan.cpus_per_task && !job.launch.oversubscribe) {
        faults.add(job.fault_at("launch.threads",
                                fmt::format("{} threads do not fit on {} CPUs a task",
                                            plan.threads,
                                            plan.cpus_per_task),
                                "more threads than cores slow every rank down",
                                fmt::format("write `cpus-per-task: {}`", plan.threads)));
    }
    std::vector<std::pair<std::string, std::string>> variables;
    const auto set = [&](std::string_view name, const std::string& value) {
        if (!job.environment.contains(std::string(name))) {
            variables.emplace_back(name, value);
        }
    };
    if (job.environment.contains("OMP_NUM_THREADS")) {
        faults.add(job.fault_at("environment.OMP_NUM_THREADS",
                                "OMP_NUM_THREADS is set from `launch.threads`",
                                "two places for one number come to differ",
                                "write `threads` under `launch`"));
    }
    for (const auto name : kThreadVariables) {
        set(name, std::to_string(plan.threads));
    }
    if (job.launch.kind == LaunchKind::kOpenmp) {
        if (job.launch.bind == "none") {
            set("OMP_PROC_BIND", "false");
        } else {
            set("OMP_PLACES", job.launch.places);
            set("OMP_PROC_BIND", job.launch.bind);
        }
    } else if (plan.kind == LaunchKind::kMpi && plan.threads > 1 && !plan.is_oversubscribed &&
               has_own_cores(plan)) {
        set("OMP_PLACES", "cores");
        set("OMP_PROC_BIND", "close");
    }
    plan.variables.insert(plan.variables.begin(), variables.begin(), variables.end());
}

} // namespace cybele::launchers
