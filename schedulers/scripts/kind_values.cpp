// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/quote.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::schedulers {
namespace {

using launchers::LaunchKind;
using templates::Value;
using templates::Values;

Value verbatim(std::string text) {
    return {Value::Verbatim{std::move(text)}};
}

/// The settings of both runtimes that would hide from the ranks what their launcher gives them.
std::string misleading_names() {
    constexpr std::string_view kPrefix = "APPTAINER_"; // each is there for SINGULARITY_, too
    std::vector<std::string> names;
    for (const std::string& name : compatibility::misleading_settings()) {
        if (name.starts_with(kPrefix)) {
            names.push_back(name.substr(kPrefix.size()));
        }
    }
    return fmt::format("{{APPTAINER,SINGULARITY}}_{{{}}}", fmt::join(names, ","));
}

/// Names the files and the port of a launch per node: the job's number in letters that all accept.
std::string job_token(const Rendering& rendering) {
    const std::string& dialect = rendering.dialect.name;
    if (dialect.starts_with("slurm")) {
        return "${SLURM_JOB_ID:-$$}";
    }
    const std::string job = dialect == "local" ? "${CYBELE_JOB:-$$}" : "$job_number";
    return rendering.input.job->array.empty() ? job : job + "-$array_index";
}

/// What is defined for the program's start: the container, and what misleads ranks in it.
void add_start(const Rendering& rendering, const ProgramWords& program, Values& values) {
    const bool has_image = rendering.input.job->image.has_value();
    const auto& plan = rendering.plan;
    const bool is_one_of_ours = plan.torch.has_value() || plan.spark.has_value();
    const bool runs = program.action == "run";
    values["has-contained"] =
        has_image && !is_one_of_ours && (!runs || !plan.probe.empty() || plan.bind.has_value());
    values["is-direct"] = !plan.starter && !is_one_of_ours;
    values["has-ranks"] = plan.starter.has_value();
    values["misleading"] = verbatim(misleading_names());
}

/// How one process is started on each node.
void add_nodes(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const auto place = rendering.dialect.place();
    const bool is_alone = plan.nodes == 1;
    values["is-alone"] = is_alone;
    values["is-per-node"] = plan.torch.has_value() || plan.spark.has_value();
    values["work-name"] = plan.spark ? "Spark's worker" : "torchrun";
    // What runs in steps of Slurm: ranks, by mpirun too, and a process on each of several nodes.
    values["starts-steps"] = plan.starter || ((plan.torch || plan.spark) && !is_alone);
    // Where it is asked for as it is written, chunks may share a node.
    values["counts-nodes"] = !is_alone && !rendering.input.job->launch.asks_as_written();
    values["nodes-direct"] = is_alone;
    values["nodes-by-srun"] = !is_alone && place.has_srun;
    values["nodes-by-node-file"] = !is_alone && !place.has_srun;
    std::string words;
    if (place.has_srun) {
        // The loss of one worker is Spark's to mend; with a torchrun gone the others wait for it.
        words = fmt::format("srun --mpi=none --nodes={0} --ntasks={0} --ntasks-per-node=1 "
                            "\\\n        --cpus-per-task={1} --kill-on-bad-exit={2} --wait=0",
                            plan.nodes,
                            plan.cpus_per_task,
                            plan.spark ? 0 : 1);
    } else {
        // OpenPBS reads what follows as its own options unless told, and has a line a chunk in the
        // node file; TORQUE has a line a slot.
        words = place.dialect == "torque" ? "pbsdsh -u" : "pbsdsh --";
    }
    values["nodes-launcher"] = verbatim(words);
    values["job-token"] = verbatim(job_token(rendering));
}

void add_torch(const Rendering& rendering, const ProgramWords& program, Values& values) {
    const auto& plan = rendering.plan;
    const auto& job = *rendering.input.job;
    values["is-torch"] = plan.torch.has_value();
    if (!plan.torch) {
        return;
    }
    std::vector<std::string> words{"python3",
                                   "-m",
                                   "torch.distributed.run",
                                   fmt::format("--nnodes={}", plan.nodes),
                                   fmt::format("--nproc_per_node={}", plan.torch->processes),
                                   fmt::format("--max_restarts={}", plan.torch->max_restarts),
                                   "--rdzv_backend=c10d",
                                   R"("--rdzv_endpoint=$rendezvous")",
                                   R"("--rdzv_id=$name-$job_token")"};
    // PyTorch before 2 under Python 3.11 fails at its own default here; this names no process that
    // there is. torchrun's grammar knows one digit
    // (torch/distributed/elastic/multiprocessing/api.py 1.13).
    if (plan.torch->processes <= 9) {
        words.push_back(fmt::format("--redirects={}:1", plan.torch->processes));
        words.push_back(fmt::format("--tee={}:1", plan.torch->processes));
    }
    // torchrun puts `python -u` before a script; other programs it starts as they are.
    if (!job.script.empty() || job.command.empty() || !job.command.front().ends_with(".py")) {
        words.emplace_back("--no_python");
    }
    words.insert(words.end(), program.own.begin(), program.own.end());
    values["torch"] = wrapped(words, 11);
    std::vector<std::string> container;
    if (job.image) {
        container = {R"("$runtime")", "exec", R"("${options[@]}")", R"("$image")"};
    }
    container.insert(container.end(), program.before.begin(), program.before.end());
    if (!container.empty()) {
        container.emplace_back();
    }
    values["on-node"] = verbatim(fmt::format("{}", fmt::join(container, " ")));
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
    values["spark-words"] = wrapped(program.own, 24);
    for (std::string& property : properties) {
        property = shell_quote(property);
    }
    values["spark-properties"] = wrapped(properties, 24);
    const std::string& to = rendering.input.job->output.to;
    const bool is_relative = !to.starts_with('/') && !to.starts_with('~');
    values["spark-results"] = (is_relative ? "\"$PWD\"/" : "") + path_expression(to);
    values["spark-daemon-mib"] = spark.daemon_mib;
    values["spark-worker-mib"] = spark.worker_mib;
    values["spark-worker-cores"] = spark.worker_cores;
    values["spark-first-cores"] = spark.first_worker_cores;
    values["spark-ready-seconds"] = static_cast<std::uint64_t>(spark.ready_within.count());
    values["spark-where"] = rendering.input.job->image ? "the image" : "PATH";
    const launchers::NodeText scratch =
        site == nullptr ? launchers::NodeText{} : site->scratch_node;
    const std::string folder = scratch.expands
                                   ? expansion_expression(*rendering.input.job, scratch.text)
                                   : scratch_expression(scratch.text);
    values["scratch-template"] =
        verbatim(folder.empty() ? R"("${TMPDIR:-/tmp}/cybelectl-spark.XXXXXX")"
                                : folder + "/cybelectl-spark.XXXXXX");
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
            const auto piece = path.substr(0, next);
            expression += expression.empty() ? path_expression(piece) : shell_quote(piece);
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
    values["has-inside"] = !program.before.empty();
    values["inside-words"] = verbatim(fmt::format("{}", fmt::join(program.before, " ")));
    add_torch(rendering, program, values);
    add_spark(rendering, program, values);
    add_bind(rendering, values);
}

} // namespace cybele::schedulers
