// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/quote.hpp"

#include <utility>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::LaunchKind;
using templates::Value;
using templates::Values;

Value verbatim(std::string text) {
    return {Value::Verbatim{std::move(text)}};
}

/// How the words of the program begin: in the container, by the image's runscript, or here.
void add_start(const Rendering& rendering, const ProgramWords& program, Values& values) {
    const bool has_image = rendering.input.job->image.has_value();
    const auto& plan = rendering.plan;
    const bool is_one_of_ours = plan.torch.has_value() || plan.spark.has_value();
    const bool runs = program.action == "run";
    std::string start;
    if (has_image && runs && !plan.bind) {
        start = R"("$runtime" run "${options[@]}" "$image")";
    } else if (has_image) {
        start = runs ? R"("${contained[@]}" /.singularity.d/runscript)" : R"("${contained[@]}" )";
    }
    values["program-start"] = verbatim(std::move(start));
    values["has-program"] = !is_one_of_ours;
    values["has-contained"] =
        has_image && !is_one_of_ours && (!runs || !plan.probe.empty() || plan.bind.has_value());
    values["is-direct"] = !plan.starter && !is_one_of_ours;
    values["has-ranks"] = plan.starter.has_value();
    values["misleading"] = fmt::format("{}", fmt::join(compatibility::misleading_settings(), " "));
}

/// How one process is started on each node.
void add_nodes(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const auto place = rendering.dialect.place();
    const bool is_alone = plan.nodes == 1;
    values["is-alone"] = is_alone;
    values["nodes-direct"] = is_alone;
    values["nodes-by-srun"] = !is_alone && place.has_srun;
    values["nodes-by-node-file"] = !is_alone && !place.has_srun;
    std::string words;
    if (place.has_srun) {
        // The loss of one worker is Spark's to mend; with a torchrun gone the others wait for it.
        words = fmt::format("srun --mpi=none --nodes={0} --ntasks={0} --ntasks-per-node=1 "
                            "--cpus-per-task={1} --kill-on-bad-exit={2} --wait=0",
                            plan.nodes,
                            plan.cpus_per_task,
                            plan.spark ? 0 : 1);
    } else {
        // OpenPBS reads what follows as its own options unless told, and has a line a chunk in the
        // node file; TORQUE has a line a slot.
        words = place.dialect == "torque" ? "pbsdsh -u" : "pbsdsh --";
    }
    values["nodes-launcher"] = words;
}

void add_torch(const Rendering& rendering, const ProgramWords& program, Values& values) {
    const auto& plan = rendering.plan;
    const auto& job = *rendering.input.job;
    values["is-torch"] = plan.torch.has_value();
    if (!plan.torch) {
        return;
    }
    values["torch-processes"] = plan.torch->processes;
    // torchrun's grammar knows one digit (torch/distributed/elastic/multiprocessing/api.py 1.13).
    values["torch-beyond"] = plan.torch->processes > 9 ? Value() : Value(plan.torch->processes);
    values["torch-restarts"] = plan.torch->max_restarts;
    // torchrun puts `python -u` before a script; other programs it starts as they are.
    const bool is_script =
        job.script.empty() && !job.command.empty() && job.command.front().ends_with(".py");
    values["torch-words"] = verbatim((is_script ? "" : "--no_python ") + program.own);
    // What the head-of-script checks count: processes, each with its threads.
    values["ranks-per-node"] = plan.torch->processes;
    values["ranks"] = plan.nodes * plan.torch->processes;
}

void add_spark(const Rendering& rendering, const ProgramWords& program, Values& values) {
    const auto& plan = rendering.plan;
    const auto* site = rendering.input.site;
    values["is-spark"] = plan.spark.has_value();
    if (!plan.spark) {
        return;
    }
    const launchers::SparkPlan& spark = *plan.spark;
    std::vector<std::string> properties{
        fmt::format("spark.driver.memory {}m", spark.driver_mib),
        fmt::format("spark.executor.memory {}m", spark.executor_mib)};
    if (spark.executor_cores > 0) {
        properties.push_back(fmt::format("spark.executor.cores {}", spark.executor_cores));
    }
    for (const auto& [name, value] : spark.properties) {
        std::string line = name;
        line += ' ';
        for (const char letter : value) {
            line.append(letter == '\\' ? 2 : 1, letter);
        }
        properties.push_back(std::move(line));
    }
    values["spark-words"] = verbatim(program.own);
    values["spark-properties"] = verbatim(shell_join(properties));
    values["spark-results"] = path_expression(rendering.input.job->output.to);
    values["spark-daemon-mib"] = spark.daemon_mib;
    values["spark-driver-mib"] = spark.driver_mib;
    values["spark-worker-mib"] = spark.worker_mib;
    values["spark-worker-cores"] = spark.worker_cores;
    values["spark-first-cores"] = spark.first_worker_cores;
    values["spark-ready-seconds"] = static_cast<std::uint64_t>(spark.ready_within.count());
    values["spark-where"] = rendering.input.job->image ? "the image" : "PATH";
    const std::string scratch = site == nullptr ? "" : site->scratch_node;
    values["scratch"] =
        scratch.empty() ? std::string("${TMPDIR:-/tmp}") : scratch_expression(scratch);
    values["threads"] = spark.worker_cores;
}

void add_bind(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    values["bind-model"] = plan.bind.has_value();
    if (!plan.bind) {
        return;
    }
    values["bind-prefix"] = plan.bind->prefix.empty() ? "''" : path_expression(plan.bind->prefix);
    values["bind-library"] =
        plan.bind->library.empty() ? "libmpi.so.[0-9]*" : plan.bind->library + "*";
    values["bind-missing"] =
        fmt::format("the host's MPI is not on this machine{}",
                    plan.bind->prefix.empty() ? std::string()
                                              : " below '" + printable(plan.bind->prefix) + "'");
    values["bind-missing-because"] =
        fmt::format("the image's programs ask for {}, which was not found there",
                    plan.bind->library.empty() ? "an MPI" : plan.bind->library);
}

} // namespace

std::string scratch_expression(std::string_view path) {
    std::string expression;
    while (!path.empty()) {
        bool is_variable = false;
        for (const std::string_view name : {"$USER", "$CYBELE_JOB"}) {
            if (path.starts_with(name)) {
                expression += fmt::format("\"${{{}:-none}}\"", name.substr(1));
                path.remove_prefix(name.size());
                is_variable = true;
            }
        }
        if (!is_variable) {
            const auto next = path.find('$', 1);
            expression += shell_quote(path.substr(0, next));
            path = next == std::string_view::npos ? std::string_view{} : path.substr(next);
        }
    }
    return expression;
}

void add_kind_values(const Rendering& rendering, templates::Values& values) {
    const ProgramWords program = program_words(rendering);
    add_start(rendering, program, values);
    add_nodes(rendering, values);
    // The container's variables that `--env` cannot carry, before a program that is started there.
    values["inside-words"] = verbatim(program.before);
    add_torch(rendering, program, values);
    add_spark(rendering, program, values);
    add_bind(rendering, values);
}

} // namespace cybele::schedulers
