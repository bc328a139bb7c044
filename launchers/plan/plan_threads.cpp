// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan_parts.hpp"
#include "support/counted.hpp"
#include "support/find.hpp"

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

/// Whether other jobs cannot have cores of this one. Jobs that share a node without cpusets would
/// all pin their threads to its first cores.
bool is_job_alone(const PlanInput& input) {
    return input.place.binds_cores || input.job->resources.exclusive;
}

/// Of an OpenMP program: where the cores are its own, or the Job says how.
bool places_threads(const PlanInput& input) {
    const auto& marks = input.job->marks;
    return is_job_alone(input) || marks.contains("launch.places") || marks.contains("launch.bind");
}

/// Whether the cores of a rank are its own, so that its threads may be pinned to them: else all
/// ranks of a node would pin theirs to the same first cores.
bool has_own_cores(const PlanInput& input, const LaunchPlan& plan) {
    if (plan.ranks_per_node == 1) {
        return is_job_alone(input);
    }
    const auto& words = plan.launcher;
    return std::ranges::any_of(words,
                               [](const std::string& word) {
                                   return word == "core" || word.starts_with("core:");
                               }) ||
           contains(words, "I_MPI_PIN_DOMAIN") || (!words.empty() && words.front() == "srun");
}

} // namespace

void plan_threads(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    if (job.launch.kind == LaunchKind::kBatch) {
        return; // its script sets what its programs read
    }
    const std::uint32_t share = plan.torch ? plan.torch->processes : 1;
    const std::uint32_t cores = std::max(1U, plan.cpus_per_task / share);
    // Spark runs as many Python workers as it has cores: each takes one.
    plan.threads =
        job.launch.threads.value_or(plan.spark && !job.launch.takes_all_threads ? 1 : cores);
    if (plan.threads > cores && !job.launch.oversubscribe) {
        faults.add(job.fault_at("launch.threads",
                                problem("threads-do-not-fit",
                                        fmt::format("{} threads do not fit on {} per {}",
                                                    plan.threads,
                                                    counted(cores, "CPU"),
                                                    plan.torch ? "process" : "task")),
                                "more threads than cores slow each other down",
                                fmt::format("write `cpus-per-task: {}`", plan.threads * share)));
    }
    std::vector<std::pair<std::string, std::string>> variables;
    const auto set = [&](std::string_view name, const std::string& value) {
        if (!job.environment.contains(std::string(name))) {
            variables.emplace_back(name, value);
        }
    };
    if (job.environment.contains("OMP_NUM_THREADS") && !job.launch.has_own_threads) {
        faults.add(job.fault_at(
            "environment.OMP_NUM_THREADS",
            problem("threads-set-elsewhere", "OMP_NUM_THREADS is set from `launch.threads`"),
            "two places for one number come to differ",
            "remove `OMP_NUM_THREADS`; `threads` under `launch` says the number"));
    }
    for (const auto name : kThreadVariables) {
        if (!job.launch.has_own_threads) {
            set(name, std::to_string(plan.threads));
        }
    }
    if (job.launch.kind == LaunchKind::kOpenmp) {
        plan.is_oversubscribed = job.launch.oversubscribe;
        note_oversubscription(input, faults);
        if (job.launch.bind == "none" || plan.is_oversubscribed) {
            set("OMP_PROC_BIND", "false");
        } else if (places_threads(input)) {
            set("OMP_PLACES", job.launch.places);
            set("OMP_PROC_BIND", job.launch.bind);
        }
    } else if (is_mpi_kind(plan.kind) && plan.threads > 1 && !plan.is_oversubscribed &&
               !job.launch.has_own_threads && plan.pmi != "default" && has_own_cores(input, plan)) {
        set("OMP_PLACES", "cores");
        set("OMP_PROC_BIND", "close");
    }
    plan.variables.insert(plan.variables.begin(), variables.begin(), variables.end());
}

} // namespace cybele::launchers
