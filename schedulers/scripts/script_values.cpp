// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/scripts/output_checks.hpp"
#include "schedulers/scripts/values.hpp"
#include "schedulers/scripts/verification.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

namespace fs = std::filesystem;

using compatibility::MpiLauncher;
using launchers::Job;
using templates::Value;
using templates::Values;

/// The signals that the launchers of ranks pass on; at others mpirun ends them, and srun keeps INT
/// to itself.
constexpr std::array<std::string_view, 3> kForwarded{"USR1", "USR2", "TERM"};

/// Words of an array in the script, each quoted.
Value words_of(const std::vector<std::string>& words) {
    return {Value::Verbatim{shell_join(words)}};
}

/// A program, which may be a path that begins with `~/` or `-`, and its words.
Value command_of(const std::vector<std::string>& words) {
    const std::string rest = shell_join({words.begin() + 1, words.end()});
    return {Value::Verbatim{path_expression(words.front()) + (rest.empty() ? "" : " ") + rest}};
}

/// The file of a pattern, with the job's name, and with what tells elements of an array apart.
std::string file_of(std::string_view pattern, std::string_view name, bool is_array) {
    while (pattern.starts_with("./")) {
        pattern.remove_prefix(2);
    }
    const bool is_split = is_array && pattern.find("%a") == std::string_view::npos;
    std::string file;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const std::string_view key = pattern.substr(at, pattern[at] == '%' ? 2 : 1);
        file += key == "%x" ? name : key;
        file += is_split && key == "%j" ? "-%a" : "";
        at += key.size() - 1;
    }
    return file;
}

/// What `exec` redirects: the streams whose files have the name of the batch system's own log, or
/// the others.
std::string redirections(const Rendering& rendering, bool of_log) {
    const Job& job = *rendering.input.job;
    const bool is_array = !job.array.empty();
    const std::string& output = job.output.standard_output;
    const std::string& error = job.output.standard_error;
    const std::string arrow = job.append_output.value_or(false) ? ">>" : ">";
    std::vector<std::string> words;
    if (has_name_of_log(rendering, output) == of_log) {
        words.push_back(arrow + pattern_expression(rendering, output, is_array));
    }
    if (has_name_of_log(rendering, error) == of_log) {
        words.push_back("2" + (error == output
                                   ? std::string(">&1")
                                   : arrow + pattern_expression(rendering, error, is_array)));
    }
    return text::joined(words, " ");
}

void add_output(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    check_outputs(rendering);
    const bool opens = opens_outputs(rendering);
    const std::string words = opens ? redirections(rendering, false) : std::string();
    // Only in the folder of submission the batch system writes them itself, at the job's end.
    const std::string elsewhere =
        opens && !job.workdir.empty() ? redirections(rendering, true) : std::string();
    values["redirects"] = !words.empty();
    values["redirections"] = Value(Value::Verbatim{words});
    values["redirects-elsewhere"] = !elsewhere.empty();
    values["redirections-elsewhere"] = Value(Value::Verbatim{elsewhere});
    values["names-outputs"] = !words.empty() || !elsewhere.empty();
    values["has-workdir"] = !job.workdir.empty();
    values["workdir"] = path_expression(job.workdir);
    values["array"] = !job.array.empty();
}

void add_signal_handling(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    values["signal-timer"] = false;
    values["signal-trap"] = false;
    values["signal-name"] = "";
    values["signal-delay"] = "";
    values["signals-all"] = rendering.dialect.has("signals-all");
    if (!job.signal) {
        return;
    }
    const auto& name = job.signal->name;
    const bool is_any = contains(kForwarded, name);
    const auto& plan = rendering.plan;
    if (!is_any && (plan.starter || plan.torch || plan.spark)) {
        rendering.faults.add(job.fault_at(
            "signal.name",
            problem("signal-not-passed",
                    fmt::format("signal `{}` does not reach the ranks", printable(name))),
            "the programs that start ranks pass USR1, USR2 and TERM on, and use "
            "others themselves",
            "use `USR1`"));
    }
    values["signal-trap"] = !is_any;
    values["signal-name"] = std::string(name);
    if (job.signal->before < std::chrono::seconds(60)) {
        rendering.faults.add(
            job.fault_at("signal.before",
                         problem("signal-too-late", "the signal would come too late"),
                         "schedulers look at the clock once a minute",
                         "write `before: 60 s` or more"));
    }
    if (rendering.dialect.needs.at("signal").service == Service::kDirective) {
        return;
    }
    if (!rendering.plan.time || *rendering.plan.time <= job.signal->before) {
        rendering.faults.add(
            job.fault_at("signal",
                         problem("signal-without-time", "there is no moment for the signal"),
                         "the job's time is not known, or shorter than `before`",
                         "write `time: 1 h` under `resources`"));
        return;
    }
    // Where TERM is not passed on, HUP makes the script send it.
    const bool is_hidden = rendering.dialect.has("signals-all") && name == "TERM";
    values["signal-timer"] = true;
    values["signal-name"] = is_hidden ? "HUP" : name;
    values["signal-delay"] =
        static_cast<std::uint64_t>((*rendering.plan.time - job.signal->before).count());
}

/// The programs that the script tries, in order; the local scheduler has ours beside it.
void add_runtime(const Rendering& rendering, Values& values) {
    const auto* site = rendering.input.site;
    std::vector<std::string> runtimes;
    if (site != nullptr && !site->runtime.path.empty()) {
        runtimes = {site->runtime.path};
    } else if (site != nullptr && !site->runtime.program.empty()) {
        runtimes = {site->runtime.program};
    } else if (rendering.dialect.name == "local") {
        runtimes = {"cybelectl"};
    } else {
        runtimes = {"apptainer", "singularity", "cybelectl"};
    }
    values["runtimes"] = runtimes.size() == 1 ? command_of(runtimes) : words_of(runtimes);
    values["runtime-help"] = "install one, or name it in the Site (runtime)";
}

void add_resources(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const Job& job = *rendering.input.job;
    values["nodes"] = plan.nodes;
    values["ranks"] = plan.ranks;
    values["ranks-per-node"] = plan.ranks_per_node;
    values["threads"] = plan.threads;
    values["cpus-per-task"] = plan.cpus_per_task;
    values["cpus-because"] = "threads slow each other down on one CPU";
    values["cpus-help"] = plan.kind == launchers::LaunchKind::kMpi
                              ? "ask for fewer, or set launch.oversubscribe"
                              : "ask for fewer threads";
    std::uint64_t memory = 0;
    if (rendering.dialect.needs.at("memory-per-node").service == Service::kScript) {
        const std::uint64_t cpus = std::uint64_t{plan.ranks_per_node} * plan.cpus_per_task;
        memory = std::max(job.resources.memory_per_node_bytes.value_or(0),
                          job.resources.memory_per_cpu_bytes.value_or(0) * cpus);
    }
    values["memory-check"] = memory == 0 ? Value() : Value(memory >> 20U);
    values["memory-what"] = format_size(memory) + " of memory are requested";
}

/// One process a node, by the same launcher: its program and the options that count.
std::vector<std::string> once_a_node(const launchers::LaunchPlan& plan, MpiLauncher starter) {
    const std::string nodes = std::to_string(plan.nodes);
    switch (starter) {
    case MpiLauncher::kMpirunOpenmpi:
        return {plan.launcher.front(), "-np", nodes, "--map-by", "ppr:1:node", "--bind-to", "none"};
    case MpiLauncher::kMpirunMpich:
        return {plan.launcher.front(), "-np", nodes, "-ppn", "1"};
    default:
        return {
            "srun", "--mpi=none", "--nodes=" + nodes, "--ntasks=" + nodes, "--ntasks-per-node=1"};
    }
}

void add_launch(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    values["shares-cores"] = plan.shares_cores;
    values["uses-node-file"] = plan.uses_node_file;
    values["has-launcher"] = plan.starter.has_value();
    if (!plan.starter) {
        return;
    }
    const bool is_openmpi = *plan.starter == MpiLauncher::kMpirunOpenmpi;
    const bool is_hydra = *plan.starter == MpiLauncher::kMpirunMpich;
    values["is-openmpi"] = is_openmpi;
    values["is-srun"] = !is_openmpi && !is_hydra;
    values["gives-cores"] =
        !is_openmpi && !is_hydra &&
        (plan.pmi != "default" || rendering.input.job->says("resources.cpus-per-task"));
    values["allow-root"] = plan.allow_root;
    std::vector<std::string> words{path_expression(plan.launcher.front())};
    for (std::size_t index = 1; index < plan.launcher.size(); ++index) {
        words.push_back(shell_quote(plan.launcher[index]));
    }
    values["launcher"] = wrapped(words, 14);
    values["once-a-node"] = command_of(once_a_node(plan, *plan.starter));
    values["hosts-option"] = is_openmpi ? "--hostfile" : "-f";
    // The probe starts in the image on each node: where there is one, it is the check.
    values["checks-nodes"] =
        plan.nodes > 1 && rendering.input.job->image.has_value() && plan.probe.empty();
    values["probe"] = plan.probe.empty() ? Value() : Value(plan.probe);
}

} // namespace

std::string path_expression(std::string_view path) {
    if (path == "~") {
        return "\"$HOME\"";
    }
    if (path.starts_with("~/")) {
        return "\"$HOME\"/" + (path.size() > 2 ? shell_quote(path.substr(2)) : std::string());
    }
    return shell_quote((path.starts_with('-') ? "./" : "") + std::string(path));
}

bool has_name_of_log(const Rendering& rendering, const std::string& pattern) {
    const Job& job = *rendering.input.job;
    const bool is_array = !job.array.empty();
    const auto& forms = rendering.dialect.forms;
    const auto log = forms.find(is_array ? "element-log" : "log");
    return log != forms.end() &&
           file_of(pattern, job.name, is_array) ==
               file_of(*log->second.words.begin(), name_for(job, rendering.dialect), is_array);
}

std::string
pattern_expression(const Rendering& rendering, const std::string& pattern, bool is_split) {
    std::string expression;
    std::string plain;
    // The elements of an array are told apart by %j where the Job does not do so by %a.
    is_split = is_split && pattern.find("%a") == std::string::npos;
    const auto flush = [&] {
        if (!plain.empty()) {
            expression += expression.empty() ? path_expression(plain) : shell_quote(plain);
            plain.clear();
        }
    };
    for (std::size_t index = 0; index < pattern.size(); ++index) {
        if (pattern[index] != '%') {
            plain += pattern[index];
            continue;
        }
        const char key = index + 1 < pattern.size() ? pattern[++index] : '\0';
        if (key == 'x') {
            plain += rendering.input.job->name;
        } else if (key == '%') {
            plain += '%';
        } else {
            flush();
            expression += key == 'a' ? "\"$array_index\""
                          : is_split ? "\"$job_number-$array_index\""
                                     : "\"$job_number\"";
        }
    }
    flush();
    return expression;
}

templates::Values script_values(const Rendering& rendering) {
    const auto& input = rendering.input;
    Values values;
    const std::string file = fs::path(input.job->source.file()).filename().native();
    values["source-name"] = file.empty() ? "a Job" : printable(file);
    values["version"] = CYBELE_VERSION;
    constexpr std::size_t kColumn = 19; // of what follows "# With the options "
    values["options-of-call"] = lines_of_words(input.options, kColumn);
    values["template-set"] = rendering.dialect.templates.version();
    values["name"] = input.job->name;
    values["job-digest"] = input.job->digest;
    const auto limit = rendering.plan.time.value_or(std::chrono::seconds(0)).count();
    values["time-limit"] = limit > 0;
    values["time-limit-reached"] =
        static_cast<std::uint64_t>(std::max<decltype(limit)>(limit - 2, 0));
    values["starts-once"] = rendering.dialect.name != "local"; // which starts each job once itself
    // What srun starts is no child of the script, nor is what runs on other nodes.
    values["is-measured"] = rendering.plan.nodes == 1 && (rendering.plan.launcher.empty() ||
                                                          rendering.plan.launcher[0] != "srun");
    add_steps(rendering, values);
    add_output(rendering, values);
    add_signal_handling(rendering, values);
    add_runtime(rendering, values);
    add_image(rendering, values);
    add_verification(*input.job, input.site, values, rendering.faults);
    add_resources(rendering, values);
    add_environment(rendering, values);
    add_node_files(rendering, values);
    add_sweep(rendering, values);
    add_launch(rendering, values);
    add_kind_values(rendering, values);
    add_batch(rendering, values);
    add_launch_words(rendering, values);
    return values;
}

} // namespace cybele::schedulers
