// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan.hpp"

#include "images/inspection/facts.hpp"
#include "launchers/documents/expand_help.hpp"
#include "launchers/plan/plan_parts.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

constexpr std::string_view kFileValue = "@file:";

/// What a launch starts, and where.
enum class Starts {
    kOne,   ///< one process
    kRanks, ///< one a task, by mpirun or srun
    kNodes, ///< one a node, which starts the others there
    kOnce,  ///< a script on the first node, which starts what it likes
};

struct KindRow {
    std::string_view text;
    Starts starts;
    void (*plan)(const PlanInput&, LaunchPlan&, Faults&); ///< null: nothing more to plan
};

// In the order of LaunchKind.
constexpr std::array<KindRow, 8> kKindRows{{
    {"serial", Starts::kOne, nullptr},
    {"openmp", Starts::kOne, nullptr},
    {"mpi", Starts::kRanks, plan_mpi},
    {"mpi-bind", Starts::kRanks, plan_mpi},
    {"horovod", Starts::kRanks, plan_mpi},
    {"torch", Starts::kNodes, plan_torch},
    {"spark", Starts::kNodes, plan_spark},
    {"batch", Starts::kOnce, nullptr},
}};

const KindRow& row_of(LaunchKind kind) {
    return kKindRows[static_cast<std::size_t>(kind)];
}

constexpr std::array<std::string_view, 2> kReserved{"HOME", "PATH"};

/// What no container runtime lets a job set.
void check_environment(const PlanInput& input, Faults& faults) {
    const Job& job = *input.job;
    if (job.launch.kind == LaunchKind::kBatch && !job.image) {
        return; // no runtime comes between
    }
    const std::string because = "container runtimes set it from the image";
    const std::string help = "set it in the Recipe's `environment`";
    for (const std::string_view name : kReserved) {
        const std::string field = fmt::format("environment.{}", name);
        const Problem reserved =
            problem("environment-reserved", fmt::format("`environment` cannot set {}", name));
        if (job.environment.contains(std::string(name))) {
            faults.add(job.fault_at(field, reserved, because, help));
        } else if (input.site != nullptr && input.site->environment.contains(std::string(name))) {
            faults.add(document::fault_at(input.site->source,
                                          document::mark_of(input.site->marks, field),
                                          reserved,
                                          because,
                                          help));
        }
    }
}

/// The Site's values, then the Job's, which count more.
void add_environment(const PlanInput& input, LaunchPlan& plan) {
    const Job& job = *input.job;
    std::map<std::string, NodeText> values;
    if (input.site != nullptr) {
        values = input.site->environment;
        plan.binds = input.site->binds;
    }
    for (const auto& [name, value] : job.environment) {
        values[name] = {value, job.expanded.contains("environment." + name)};
    }
    for (const auto& [name, value] : values) {
        const bool is_secret = !value.expands && value.text.starts_with(kFileValue);
        auto& list = is_secret ? plan.secrets : plan.environment;
        list.emplace_back(name, is_secret ? value.text.substr(kFileValue.size()) : value.text);
        if (value.expands) {
            plan.expanded.insert(name);
        }
    }
    for (std::size_t index = 0; index < job.binds.size(); ++index) {
        plan.binds.push_back(
            {job.binds[index], job.expanded.contains(fmt::format("binds[{}]", index))});
    }
}

/// `$USER` in the path of a bind, which only `expand` makes a variable.
void note_binds(const PlanInput& input, const LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    if (!job.image) {
        return;
    }
    const std::size_t of_site = plan.binds.size() - job.binds.size();
    for (std::size_t at = 0; at < plan.binds.size(); ++at) {
        const NodeText& bind = plan.binds[at];
        const std::string help = expand_help(bind.text);
        if (bind.expands || help.empty()) {
            continue;
        }
        const bool is_of_site = at < of_site;
        Fault note = document::fault_at(
            is_of_site ? input.site->source : job.source,
            document::mark_of(is_of_site ? input.site->marks : job.marks,
                              fmt::format("binds[{}]", is_of_site ? at : at - of_site)),
            problem(
                "bind-not-expanded",
                fmt::format("the `$` in this bind is not expanded: '{}'", printable(bind.text))),
            "a folder with exactly this name would be looked for on the nodes",
            help);
        note.is_warning = true;
        faults.add(std::move(note));
    }
}

/// The same in a value of the environment.
void note_environment(const PlanInput& input, Faults& faults) {
    const auto note = [&faults](const yaml::Source& source,
                                const auto& marks,
                                const std::string& name,
                                const std::string& value) {
        const std::string help = expand_help(value);
        if (help.empty() || value.find("CYBELE_") != std::string::npos) { // an error of its own
            return;
        }
        Fault fault = document::fault_at(
            source,
            document::mark_of(marks, "environment." + name),
            problem("variable-not-expanded",
                    fmt::format("the `$` in this value is not expanded: '{}'", printable(value))),
            "the program would get exactly this text",
            help);
        fault.is_warning = true;
        faults.add(std::move(fault));
    };
    const Job& job = *input.job;
    if (input.site != nullptr) {
        for (const auto& [name, value] : input.site->environment) {
            if (!value.expands && !job.environment.contains(name)) {
                note(input.site->source, input.site->marks, name, value.text);
            }
        }
    }
    for (const auto& [name, value] : job.environment) {
        if (!job.expanded.contains("environment." + name)) {
            note(job.source, job.marks, name, value);
        }
    }
}

void check_one_process(const Job& job, const LaunchPlan& plan, Faults& faults) {
    const bool has_rows = job.sweep && job.sweep->pack > 0; // side by side, each in one task
    if (plan.ranks > 1 && !has_rows && !job.launch.is_exact) {
        faults.add(job.fault_at(
            job.resources.nodes > 1 ? "resources.nodes" : "resources.tasks-per-node",
            problem("launch-single-process",
                    fmt::format("`launch: {}` starts one process, but {} tasks are requested",
                                kind_text(plan.kind),
                                plan.ranks)),
            "the rest would never start",
            "write `launch: mpi`, or ask for one task"));
    }
}

void check_one_task_a_node(const Job& job, Faults& faults) {
    const Resources& resources = job.resources;
    const bool is_packed = job.sweep && !job.says("resources.tasks-per-node");
    if (resources.tasks_per_node > 1) {
        faults.add(job.fault_at(
            is_packed ? "sweep.pack" : "resources.tasks-per-node",
            problem("launch-one-task-a-node",
                    fmt::format("launch `{}` is one task per node, but {} are requested",
                                kind_text(job.launch.kind),
                                resources.tasks_per_node)),
            "what it starts on a node shares that task's cores",
            is_packed ? std::string("remove `pack`: each row is then an element of an array")
                      : fmt::format("write `tasks-per-node: 1` and `cpus-per-task: {}`",
                                    resources.tasks_per_node * resources.cpus_per_task)));
    } else if (resources.tasks < resources.nodes) {
        faults.add(job.fault_at(
            "resources.tasks",
            problem("launch-needs-task-a-node",
                    fmt::format("launch `{}` is one task per node", kind_text(job.launch.kind))),
            "a node without a task would do nothing",
            "drop `tasks`"));
    }
}

/// What has a meaning in a container only.
void check_without_image(const Job& job, Faults& faults) {
    if (job.image) {
        return;
    }
    if (!job.binds.empty()) {
        faults.add(job.fault_at("binds",
                                problem("binds-without-image", "`binds` without an image"),
                                "the program is the host's and sees its files as they are",
                                "add `image`, or drop `binds`"));
    }
    if (job.launch.kind == LaunchKind::kMpiBind) {
        faults.add(
            job.fault_at("launch.kind",
                         problem("mpi-bind-without-image", "launch `mpi-bind` without an image"),
                         "a program of the host calls the host's MPI anyway",
                         "write `launch: mpi`"));
    }
}

/// Programs of another architecture start nowhere, whatever starts them.
void check_architecture(const PlanInput& input, Faults& faults) {
    if (!input.job->image || input.facts == nullptr || input.site == nullptr) {
        return;
    }
    const std::string& made_for = input.facts->architecture;
    const std::string& there = input.site->node_arch;
    if (!made_for.empty() && !there.empty() && made_for != there) {
        faults.add(input.job->fault_at(
            "image",
            problem("image-architecture", fmt::format("the image is made for {}", made_for)),
            fmt::format("the nodes of site '{}' are {}", input.site->name, there),
            fmt::format(
                "use an image for {}: pull one (`cybelectl image pull --arch {}`), or build "
                "it on such a machine",
                there,
                there)));
    }
}

void plan_kind(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    const KindRow& row = row_of(job.launch.kind);
    if (row.starts == Starts::kOne) {
        check_one_process(job, plan, faults);
    } else if (row.starts == Starts::kNodes) {
        check_one_task_a_node(job, faults);
    }
    check_without_image(job, faults);
    check_architecture(input, faults);
    if (row.plan != nullptr) {
        row.plan(input, plan, faults);
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

/// What runs before and after the program: set-up from outside inwards, teardown the other way.
void add_steps(const PlanInput& input, LaunchPlan& plan) {
    const Job& job = *input.job;
    const auto add_setup = [&plan](const std::vector<Setup>& setup) {
        plan.setup.insert(plan.setup.end(), setup.begin(), setup.end());
    };
    const auto add_teardown = [&plan](const std::vector<Teardown>& teardown) {
        plan.teardown.insert(plan.teardown.end(), teardown.begin(), teardown.end());
    };
    const SiteQueue* queue = input.place.has_queues ? queue_of(job, input.site) : nullptr;
    if (input.site != nullptr) {
        add_setup(input.site->setup);
    }
    if (queue != nullptr) {
        append_modules(plan.modules, queue->modules);
        add_setup(queue->setup);
    }
    append_modules(plan.modules, job.modules);
    add_setup(job.setup);
    add_teardown(job.teardown);
    if (queue != nullptr) {
        add_teardown(queue->teardown);
    }
    if (input.site != nullptr) {
        add_teardown(input.site->teardown);
    }
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
        if (!input.site->mpi.empty() && is_mpi_kind(job.launch.kind)) {
            append_modules(plan.modules, input.site->mpi.front().modules);
        }
    }
    add_steps(input, plan);
    add_environment(input, plan);
    note_binds(input, plan, faults);
    note_environment(input, faults);
    check_environment(input, faults);
    check_index(job, faults);
    check_batch_options(job, faults);
    check_starter(job, faults);
    check_limits(input, plan, faults);
    plan_kind(input, plan, faults);
    plan_threads(input, plan, faults);
    return plan;
}

bool is_mpi_kind(LaunchKind kind) {
    return row_of(kind).starts == Starts::kRanks;
}

std::string_view kind_text(LaunchKind kind) {
    return row_of(kind).text;
}

} // namespace cybele::launchers
