// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using launchers::LaunchKind;
using templates::Value;
using templates::Values;

struct SaidField {
    const char* name;
    std::string_view field;
};
constexpr std::array kSaidFields{
    SaidField{"says-nodes", "resources.nodes"},
    SaidField{"says-tasks", "resources.tasks"},
    SaidField{"says-tasks-per-node", "resources.tasks-per-node"},
    SaidField{"says-cpus-per-task", "resources.cpus-per-task"},
    SaidField{"says-stdout", "output.stdout"},
    SaidField{"says-stderr", "output.stderr"},
};

constexpr std::string_view kLineMark = "|"; ///< before each line of a script that has such lines

std::string with_marks(std::string_view text) {
    std::string marked;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        marked += fmt::format("{}{}\n", kLineMark, line);
    }
    return marked;
}

/// A line that the text does not have.
std::string end_mark(std::string mark, const std::string& text) {
    while (text.find("\n" + mark + "\n") != std::string::npos || text.starts_with(mark + "\n")) {
        mark += "-X";
    }
    return mark;
}

/// `bash` and `sh` are the ones that scripts name in their first lines.
std::string shell_of(const Job& job) {
    const std::string& first = job.shell.front();
    const bool is_short = first == "bash" || first == "sh";
    std::string text = is_short ? "/bin/" + first : path_expression(first);
    for (std::size_t index = 1; index < job.shell.size(); ++index) {
        text += " " + shell_quote(job.shell[index]);
    }
    return text;
}

/// PBS Pro asks for memory together with the cores of a chunk.
bool has_memory_of_chunk(const Rendering& rendering) {
    const auto& resources = rendering.input.job->resources;
    const std::string& dialect = rendering.dialect.name;
    return (dialect == "pbspro" || dialect == "slurm-torque") &&
           (resources.memory_per_node_bytes || resources.memory_per_cpu_bytes);
}

/// Tasks on any nodes: PBS has a form for tasks on each node only.
void check_tasks_anywhere(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const launchers::Resources& asked = job.resources;
    const bool is_anywhere = job.says("resources.tasks") && !job.says("resources.tasks-per-node");
    const std::string& dialect = rendering.dialect.name;
    if (is_anywhere && dialect != "slurm" && dialect != "local") {
        rendering.faults.add(job.fault_at(
            "resources.tasks",
            problem(
                "tasks-without-tasks-per-node",
                fmt::format("`tasks` without `tasks-per-node` cannot be expressed in {}", dialect)),
            "it is asked for tasks on each node",
            asked.tasks % asked.nodes == 0
                ? fmt::format("write `tasks-per-node: {}` in place of `tasks: {}`",
                              asked.tasks / asked.nodes,
                              asked.tasks)
                : "write `tasks-per-node`, the same for all nodes, in its place"));
    }
}

bool has_setup_here(const launchers::LaunchPlan& plan) {
    return std::ranges::any_of(plan.setup,
                               [](const launchers::Setup& step) { return !step.is_on_each_node; });
}

Values values_of_setup(const launchers::Setup& step) {
    const std::string& text = step.run;
    const std::string body = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
    return {{"text", Value(Value::Verbatim{body})},
            {"end", Value(end_mark("END-OF-SETUP", body + "\n"))}};
}

/// The steps in their order: neighbours on the first node share one change to the variables of the
/// submission.
std::vector<Values> setup_steps(const launchers::LaunchPlan& plan) {
    std::vector<Values> steps;
    std::vector<Values> here;
    bool continues = false;
    const auto end_here = [&] {
        if (!here.empty()) {
            steps.push_back({{"code", Value()},
                             {"continues", Value(continues)},
                             {"setup", Value(std::exchange(here, {}))}});
            continues = true;
        }
    };
    for (const launchers::Setup& step : plan.setup) {
        if (step.is_on_each_node) {
            end_here();
            steps.push_back({{"code", Value(Value::Verbatim{shell_quote(step.run)})}});
        } else {
            here.push_back(values_of_setup(step));
        }
    }
    end_here();
    return steps;
}

/// How a step runs once on each node. A batch launch may leave the number of nodes to the
/// directives, and its chunks may share a node.
void add_setup(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const auto place = rendering.dialect.place();
    const bool is_on_nodes = std::ranges::any_of(
        plan.setup, [](const launchers::Setup& step) { return step.is_on_each_node; });
    const bool may_be_several = plan.nodes > 1 || rendering.input.job->launch.asks_as_written();
    std::vector<Values> here;
    here.reserve(plan.setup.size());
    for (const launchers::Setup& step : plan.setup) {
        here.push_back(values_of_setup(step));
    }
    values["has-setup"] = has_setup_here(plan);
    values["setup"] = std::move(here);
    values["setup-steps"] = setup_steps(plan);
    values["sets-up-nodes"] = is_on_nodes;
    values["sets-up-by-srun"] = may_be_several && place.has_srun;
    values["sets-up-by-node-file"] = may_be_several && place.has_node_file;
    values["pbsdsh"] = place.dialect == "torque" ? "pbsdsh -u" : "pbsdsh --";
}

} // namespace

bool has_plain_outputs(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    if (!job.launch.asks_as_written() || !rendering.dialect.has_head ||
        job.append_output.value_or(false)) {
        return false;
    }
    const auto is_plain = [&](std::string_view field, const std::string& path) {
        return !job.says(field) ||
               (path.find_first_of("%~") == std::string::npos && is_carried(rendering, path));
    };
    return job.says("output.stdout") && is_plain("output.stdout", job.output.standard_output) &&
           is_plain("output.stderr", job.output.standard_error);
}

bool opens_outputs(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const bool is_left_to_scheduler = job.launch.asks_as_written() &&
                                      (!job.says("output.stdout") || has_plain_outputs(rendering));
    return rendering.dialect.needs.at("stdout").service == Service::kScript &&
           !is_left_to_scheduler;
}

void add_batch_head(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    // Programs such as PyTorch Lightning behave otherwise where the batch system says how many
    // tasks there are: a program that counts for itself gets the numbers that the Job states, and
    // no more.
    const bool is_left = job.launch.kind == LaunchKind::kSerial && job.launch.has_own_threads &&
                         rendering.plan.ranks == 1; // rows of a sweep are several
    const bool is_as_written = job.launch.asks_as_written();
    for (const SaidField& row : kSaidFields) {
        values[row.name] = job.says(row.field) || !(is_as_written || is_left);
    }
    // From Slurm 24.11 on srun takes a number of cores over, and then binds to so many; the srun by
    // which mpirun starts its daemons has done so before, too.
    const bool counts_itself =
        job.launch.pmi == "default" || (job.launch.has_own_threads && job.launch.binding == "none");
    if (counts_itself && !job.says("resources.cpus-per-task")) {
        values["says-cpus-per-task"] = false;
    }
    if (!is_as_written) {
        return;
    }
    const auto& resources = job.resources;
    values["says-place"] = job.says("resources.nodes") || job.says("resources.tasks-per-node") ||
                           job.says("resources.cpus-per-task") ||
                           launchers::gpus_of_node(resources) > 0 || !resources.hosts.empty() ||
                           !resources.constraint.empty() || has_memory_of_chunk(rendering);
    const bool is_plain = has_plain_outputs(rendering);
    const bool is_joined =
        job.says("output.stderr") && job.output.standard_error == job.output.standard_output;
    values["plain-stdout"] = is_plain;
    values["joins-logs"] = (is_plain && is_joined) || opens_outputs(rendering);
    values["plain-stderr"] = is_plain && !is_joined && job.says("output.stderr");
    check_tasks_anywhere(rendering);
}

void add_steps(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    values["has-modules"] = !plan.modules.empty();
    values["own-modules"] = !rendering.input.job->modules.empty();
    values["modules"] = Value(Value::Verbatim{shell_join(plan.modules)});
    add_setup(rendering, values);
    values["has-user-code"] = has_setup_here(plan) || !plan.modules.empty();
    std::vector<Values> teardown;
    teardown.reserve(plan.teardown.size());
    for (const launchers::Teardown& item : plan.teardown) {
        const char* condition = item.when == "failure"   ? "[ \"$1\" -ne 0 ]"
                                : item.when == "success" ? "[ \"$1\" -eq 0 ]"
                                                         : "true";
        teardown.push_back({{"condition", Value(condition)},
                            {"text", Value(Value::Verbatim{shell_quote(item.run)})}});
    }
    values["has-teardown"] = !teardown.empty();
    values["teardown"] = std::move(teardown);
}

void add_batch(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    const bool is_batch = rendering.plan.kind == LaunchKind::kBatch;
    values["is-batch"] = is_batch;
    if (!is_batch) {
        return;
    }
    const bool is_marked = !directive_in(job.script).empty();
    std::string body = is_marked ? with_marks(job.script) : job.script;
    if (!body.ends_with('\n')) {
        body += '\n';
    }
    values["is-marked"] = is_marked;
    values["body-end"] = end_mark("END-OF-SCRIPT", body);
    body.pop_back();
    values["body"] = Value(Value::Verbatim{std::move(body)});
    values["shell"] = Value(Value::Verbatim{shell_of(job)});
    values["arguments"] = Value(
        Value::Verbatim{(job.arguments.empty() ? "" : " ") + word_expressions(job, job.arguments)});
    values["probe"] = rendering.input.facts == nullptr || rendering.input.facts->mpi_probe.empty()
                          ? Value(Value::Verbatim{"''"})
                          : Value(Value::Verbatim{shell_quote(rendering.input.facts->mpi_probe)});
    values["ranks-may-copy"] = rendering.plan.single_copy == launchers::SingleCopy::kOn;
    // Counted and chosen by the script itself.
    values["gpu-variable"] = false;
    values["is-measured"] = rendering.plan.nodes == 1 && !rendering.dialect.has("srun");
}

} // namespace cybele::schedulers
