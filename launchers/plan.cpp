// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan.hpp"

#include "images/container.hpp"
#include "launchers/plan_parts.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

constexpr std::string_view kFileValue = "@file:";

struct KindRow {
    std::string_view text;
    bool is_done; ///< else refused with "not yet"
    bool has_ranks;
};

// In the order of LaunchKind.
constexpr std::array<KindRow, 7> kKinds{{
    {"serial", true, false},
    {"openmp", true, false},
    {"mpi", true, true},
    {"mpi-bind", false, true},
    {"horovod", false, true},
    {"torch", false, true},
    {"spark", false, true},
}};

const KindRow& row_of(LaunchKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

Fault not_yet(const Job& job, std::string_view field, const std::string& what, std::string help) {
    Fault fault =
        job.fault_at(field, "not yet: " + what, "this version cannot do it", std::move(help));
    fault.code = ErrorCode::kInput;
    return fault;
}

/// Fields that no room serves yet. They are refused, never passed over.
void refuse_later_fields(const PlanInput& input, Faults& faults) {
    const Job& job = *input.job;
    if (!job.stage_in.empty()) {
        faults.add(not_yet(job, "stage-in", "copying inputs", "copy them before, drop `stage-in`"));
    }
    const bool is_verified = !job.verify_policy.empty() || !job.verify_keys.empty();
    const bool must_be = input.site != nullptr &&
                         (!input.site->verify_policy.empty() || !input.site->verify_keys.empty());
    if (is_verified || must_be) {
        faults.add(not_yet(job,
                           "verify",
                           is_verified ? "verification inside a job"
                                       : "verification inside a job, which the Site demands",
                           "run `cybelectl verify` before, drop `verify`"));
    }
    for (const auto& [name, variant] : job.environment) {
        (void)variant;
        if (name == "HOME" || name == "PATH" || name == "LD_LIBRARY_PATH") {
            faults.add(job.fault_at("environment." + name,
                                    "`environment` cannot set " + name,
                                    "container runtimes set it from the image",
                                    "set it in the Recipe's `environment`"));
        }
    }
}

void plan_kind(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    const KindRow& row = row_of(job.launch.kind);
    if (!row.is_done) {
        faults.add(not_yet(job,
                           "launch.kind",
                           fmt::format("launch kind `{}`", row.text),
                           "use serial, openmp or mpi"));
        return;
    }
    if (!row.has_ranks && plan.ranks > 1) {
        faults.add(job.fault_at(
            job.resources.nodes > 1 ? "resources.nodes" : "resources.tasks-per-node",
            fmt::format("launch `{}` starts one process, and {} are asked", row.text, plan.ranks),
            "the others would never start",
            "write `launch: mpi`, or ask for one task"));
    }
    if (!row.has_ranks && !job.launch.options.empty()) {
        faults.add(job.fault_at("launch.options",
                                fmt::format("launch `{}` has no launcher", row.text),
                                "`options` are words for mpirun or srun",
                                "drop `options`"));
    }
    if (row.has_ranks) {
        plan_mpi(input, plan, faults);
    }
}

SingleCopy single_copy_of(const Site* site) {
    if (site == nullptr || site->runtime.mode.empty()) {
        return SingleCopy::kOffForUsers;
    }
    return site->runtime.mode == "userns" ? SingleCopy::kOff : SingleCopy::kOn;
}

void append_modules(std::vector<std::string>& into, const std::vector<std::string>& modules) {
    into.insert(into.end(), modules.begin(), modules.end());
}

} // namespace

LaunchPlan make_plan(const PlanInput& input, Faults& faults) {
    const Job& job = *input.job;
    LaunchPlan plan;
    plan.kind = job.launch.kind;
    plan.nodes = job.resources.nodes;
    plan.ranks = job.resources.tasks;
    plan.ranks_per_node = job.resources.tasks_per_node;
    plan.cpus_per_task = job.resources.cpus_per_task;
    plan.time = job.resources.time;
    plan.single_copy = single_copy_of(input.site);
    if (input.facts != nullptr) {
        plan.image_mpi = compatibility::parse_mpi(input.facts->mpi);
    }
    if (input.site != nullptr) {
        append_modules(plan.modules, input.site->modules);
        if (!input.site->mpi.empty() && row_of(job.launch.kind).has_ranks) {
            append_modules(plan.modules, input.site->mpi.front().modules);
        }
    }
    for (const auto& [name, value] : job.environment) {
        const bool is_secret = value.starts_with(kFileValue);
        auto& list = is_secret ? plan.secrets : plan.environment;
        list.emplace_back(name, is_secret ? value.substr(kFileValue.size()) : value);
    }
    refuse_later_fields(input, faults);
    check_limits(input, plan, faults);
    plan_kind(input, plan, faults);
    plan_threads(input, plan, faults);
    return plan;
}

std::string_view kind_text(LaunchKind kind) {
    return row_of(kind).text;
}

std::string print_plan(const LaunchPlan& plan) {
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
    line("guard", plan.probe.empty() ? "none" : plan.probe);
    for (const auto& [name, value] : plan.variables) {
        line("variable", name + "=" + value);
    }
    for (const auto& [name, value] : plan.environment) {
        line("environment", name + "=" + value);
    }
    for (const auto& [name, path] : plan.secrets) {
        line("secret", name + " from " + path);
    }
    return text;
}

} // namespace cybele::launchers
