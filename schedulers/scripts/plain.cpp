// SPDX-License-Identifier: Apache-2.0
// `job render --plain`: directives, the folder, exports and the launch.
#include "schedulers/scripts/plain.hpp"

#include "launchers/mpi/mpi.hpp"
#include "schedulers/scripts/image_place.hpp"
#include "schedulers/scripts/verification.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using launchers::LaunchKind;
using templates::Value;
using templates::Values;

/// As `shell` or the script's first line names it.
bool is_bash(const std::vector<std::string>& shell) {
    return shell.size() == 1 && (shell.front() == "bash" || shell.front() == "/bin/bash" ||
                                 shell.front() == "/usr/bin/bash");
}

struct Limit {
    bool is_reached;
    const char* field;
    Problem problem;
    const char* because;
};

/// The program that starts containers: the first that the complete script would look for.
std::string runtime_of(const Rendering& rendering) {
    const auto* site = rendering.input.site;
    if (site != nullptr && !site->runtime.path.empty()) {
        return site->runtime.path;
    }
    if (site != nullptr && !site->runtime.program.empty()) {
        return site->runtime.program;
    }
    return rendering.dialect.name == "local" ? "cybelectl" : "apptainer";
}

bool is_cybelectl(const std::string& runtime) {
    return runtime == "cybelectl" || runtime.ends_with("/cybelectl");
}

void add_launcher(const Rendering& rendering, std::vector<std::string>& words) {
    const auto& plan = rendering.plan;
    for (std::size_t index = 0; index < plan.launcher.size(); ++index) {
        words.push_back(index == 0 ? path_expression(plan.launcher[0])
                                   : shell_quote(plan.launcher[index]));
        if (index != 0 || !plan.uses_node_file) {
            continue;
        }
        // ssh brings no environment: each variable is named.
        const bool is_openmpi = plan.starter == compatibility::MpiLauncher::kMpirunOpenmpi;
        words.emplace_back(is_openmpi ? "--hostfile" : "-f");
        words.emplace_back("\"$PBS_NODEFILE\"");
        std::vector<std::string> names;
        for (const auto* list : {&plan.variables, &plan.environment, &plan.secrets}) {
            for (const auto& [name, value] : *list) {
                names.push_back(name);
            }
        }
        if (!rendering.input.job->array.empty()) {
            names.emplace_back("CYBELE_ARRAY_INDEX");
        }
        if (!is_openmpi && !names.empty()) {
            words.push_back(fmt::format("-genvlist {}", fmt::join(names, ",")));
            continue;
        }
        for (const std::string& name : names) {
            words.push_back("-x " + name);
        }
    }
}

void add_container(const Rendering& rendering,
                   const ProgramWords& program,
                   Values& values,
                   std::vector<std::string>& words) {
    const Job& job = *rendering.input.job;
    words.push_back(path_expression(runtime_of(rendering)));
    words.push_back(program.action);
    if (const auto* option = std::get_if<std::string>(&values["gpu-option"].held())) {
        words.push_back(*option);
    }
    for (const auto& bind : rendering.plan.binds) {
        words.push_back("-B " + node_expression(job, bind));
    }
    // What the Job and the Site give counts more than what the image sets.
    for (const std::string& name : program.container_variables) {
        const auto& given = rendering.plan.environment;
        if (std::ranges::any_of(given,
                                [&name](const auto& entry) { return entry.first == name; })) {
            words.push_back(fmt::format("--env {0}=\"${0}\"", name));
        }
    }
    words.push_back((is_beside_workdir(rendering.input) ? "\"$submitted\"/" : "") +
                    path_expression(rendering.input.image));
}

std::vector<std::string> plain_launch(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const ProgramWords program = program_words(rendering);
    std::vector<std::string> words;
    add_launcher(rendering, words);
    if (rendering.input.job->image) {
        add_container(rendering, program, values, words);
        words.insert(words.end(), program.before.begin(), program.before.end());
    }
    if (plan.torch) {
        for (const std::string& word :
             {std::string("python3 -m torch.distributed.run"),
              std::string("--standalone --nnodes=1"),
              fmt::format("--nproc_per_node={}", plan.torch->processes),
              fmt::format("--max_restarts={}", plan.torch->max_restarts)}) {
            words.push_back(word);
        }
        const std::vector<std::string>& command = rendering.input.job->command; // none: a script
        if (command.empty() || !command.front().ends_with(".py")) {
            words.emplace_back("--no_python");
        }
    }
    words.insert(words.end(), program.own.begin(), program.own.end());
    return words;
}

void check_setup(const Rendering& rendering) {
    const auto& setup = rendering.plan.setup;
    if (std::ranges::any_of(setup,
                            [](const launchers::Setup& step) { return step.is_on_each_node; })) {
        rendering.faults.add(rendering.input.job->fault_at(
            "setup",
            problem("plain-setup-on-nodes", "a plain script has no set-up on each node"),
            "it runs its own lines on the first node only",
            "render the Job without --plain"));
    }
}

} // namespace

void check_plain(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const auto& plan = rendering.plan;
    const bool is_batch = plan.kind == LaunchKind::kBatch;
    const std::string node_field{field_of_node_files(job)};
    const std::array limits{
        Limit{plan.spark.has_value(),
              "launch",
              problem("plain-spark", "a plain script cannot run Spark"),
              "its master and workers have to be started, awaited and ended"},
        Limit{plan.torch && plan.nodes > 1,
              "launch",
              problem("plain-torch-nodes", "a plain script cannot start torchrun on several nodes"),
              "a place to meet has to be found, and all of them have to end with the first"},
        Limit{plan.bind.has_value(),
              "launch",
              problem("plain-mpi-bind", "a plain script cannot bind the host's MPI"),
              "its libraries are found and tried when the job runs"},
        Limit{is_batch && job.image.has_value(),
              "image",
              problem("plain-batch-image", "a plain script cannot give a batch launch its image"),
              "the script uses the programs `$CYBELE_CONTAINER` and `$CYBELE_GUARD`"},
        Limit{is_batch && !is_bash(job.shell),
              job.says("shell") ? "shell" : "script",
              problem("plain-batch-shell", "a plain script is read by bash"),
              "the lines of the Job's script become its own"},
        Limit{!verification_demands(job, rendering.input.site).empty(),
              "verify",
              problem("plain-verify", "a plain script cannot verify the image"),
              "an image that was not verified must not run"},
        Limit{rendering.input.image_digest.has_value(),
              "image",
              problem("plain-image-digest", "a plain script cannot compare the image's digest"),
              "another image than the one that is named must not run"},
        Limit{job.signal.has_value(),
              "signal",
              problem("plain-signal", "a plain script passes no signal on to the program"),
              "the shell does not run a trap before the program ends"},
        Limit{job.sweep.has_value(),
              "sweep",
              problem("plain-sweep", "a plain script has no rows of a sweep"),
              "it starts one program, with the same words in each element"},
        Limit{!node_field.empty(),
              node_field.empty() ? "name" : node_field.c_str(),
              problem("plain-node-files",
                      "a plain script cannot use `" + node_field + "` as it is written here"),
              "it does not check variables, make folders or move files"},
        Limit{!plan.teardown.empty(),
              "teardown",
              problem("plain-teardown", "a plain script has no teardown"),
              "it would be left out when the job is cancelled"},
    };
    for (const Limit& limit : limits) {
        if (limit.is_reached) {
            rendering.faults.add(job.fault_at(
                limit.field, limit.problem, limit.because, "render the Job without --plain"));
        }
    }
    check_setup(rendering);
}

void add_plain_values(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    values["no-copies"] = rendering.input.job->image.has_value() && !plan.launcher.empty() &&
                          plan.single_copy != launchers::SingleCopy::kOn &&
                          !is_cybelectl(runtime_of(rendering));
    values["runs-as-root"] =
        plan.allow_root && plan.starter == compatibility::MpiLauncher::kMpirunOpenmpi;
    values["has-arguments"] = !rendering.input.job->arguments.empty();
    if (plan.kind != launchers::LaunchKind::kBatch) {
        values["plain-launch"] = wrapped(plain_launch(rendering, values), 0);
    }
}

} // namespace cybele::schedulers
