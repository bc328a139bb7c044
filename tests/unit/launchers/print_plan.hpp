// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/plan/plan.hpp"
#include "support/quote.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace cybele::launchers {

/// The plan as `name: value` lines.
inline std::string print_plan(const LaunchPlan& plan) {
    std::string text;
    const auto line = [&text](std::string_view name, const std::string& value) {
        text += fmt::format("{}: {}\n", name, value);
    };
    line("kind", std::string(kind_text(plan.kind)));
    line("nodes", std::to_string(plan.nodes));
    line("ranks", std::to_string(plan.ranks));
    line("ranks-per-node", std::to_string(plan.ranks_per_node));
    line("cpus-per-task", std::to_string(plan.cpus_per_task));
    line("threads", std::to_string(plan.threads));
    line("launcher", plan.launcher.empty() ? "none" : shell_join(plan.launcher));
    line("host-mpi", plan.host_mpi.text());
    line("image-mpi", plan.image_mpi.text());
    if (!plan.verdict.empty()) {
        line("verdict", plan.verdict);
    }
    line("guard", plan.probe.empty() ? "none" : plan.probe);
    if (plan.bind) {
        line("bound-mpi", plan.bind->prefix.empty() ? "found by the script" : plan.bind->prefix);
    }
    if (plan.torch) {
        line("processes-per-node", std::to_string(plan.torch->processes));
    }
    if (plan.spark) {
        line("worker-cores", std::to_string(plan.spark->worker_cores));
        line("first-worker-cores", std::to_string(plan.spark->first_worker_cores));
        line("worker-memory", fmt::format("{} MiB", plan.spark->worker_mib));
        line("executor-memory", fmt::format("{} MiB", plan.spark->executor_mib));
        line("driver-memory", fmt::format("{} MiB", plan.spark->driver_mib));
    }
    for (const auto& [name, value] : plan.variables) {
        line("variable", fmt::format("{}={}", name, value));
    }
    for (const auto& [name, value] : plan.environment) {
        line("environment", fmt::format("{}={}", name, value));
    }
    for (const auto& [name, path] : plan.secrets) {
        line("secret", fmt::format("{} from {}", name, path));
    }
    return text;
}

} // namespace cybele::launchers
