// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_script.hpp"

#include "schedulers/reading/convert_batch.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// A shell that reads a text after `-c` as it reads a file: with options such as `-l` and `-ex`.
bool is_shell_of_text(const BatchScript& script) {
    constexpr std::array<std::string_view, 5> kShells{"bash", "sh", "dash", "ksh", "zsh"};
    const std::vector<std::string> words = shell_words_of(script);
    const std::string name = shell_name_of(script);
    const bool has_option = words.size() == 2 && name_of_path(words[0]) == name;
    const bool is_known =
        !has_option || words[1] == "--login" ||
        (words[1].starts_with('-') && words[1].find_first_not_of("-leuvx") == std::string::npos &&
         words[1].find('-', 1) == std::string::npos);
    return is_known && (has_option || words.size() == 1 || is_plain_shell(script)) &&
           is_one_of(name, kShells) && script.lines.front().starts_with("#!");
}

/// Lines that a batch system would take for directives, in the text of a `script`. `##SBATCH` and
/// `# SBATCH` are comments for each of them.
bool has_directives(std::string_view text) {
    constexpr std::array<std::string_view, 3> kMarks{"#SBATCH", "#PBS", "#BSUB"};
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (std::ranges::any_of(kMarks,
                                [line](std::string_view mark) { return line.starts_with(mark); })) {
            return true;
        }
    }
    return false;
}

/// Whether a word of the command may start tasks of the allocation, which is then not left to one
/// process: a launcher, or a name that is known in the job only.
bool may_start_tasks(const ShellCommand& command) {
    const auto names_launcher = [](std::string_view text) { // also within `sh -c '…'`
        while (!text.empty()) {
            const std::string_view word = text.substr(0, text.find_first_of(" \n;&|"));
            text.remove_prefix(std::min(word.size() + 1, text.size()));
            if (is_launcher_name(name_of_path(word))) {
                return true;
            }
        }
        return false;
    };
    return command.program().find_first_of("$`") != std::string_view::npos ||
           std::ranges::any_of(command.words,
                               [&](const ShellWord& word) { return names_launcher(word.text); });
}

/// Whether a line starts tasks itself, in a function or a loop, too.
bool calls_launcher(const BatchScript& script) {
    constexpr std::array<std::string_view, 4> kPrinting{"echo", "printf", "module", "ml"};
    return std::ranges::any_of(script.commands, [&](const ShellCommand& command) {
        return !is_one_of(command.program(), kPrinting) &&
               std::ranges::any_of(command.words, [](const ShellWord& word) {
                   return is_launcher_name(name_of_path(word.text));
               });
    });
}

/// Options that a Job's own array, folder or submission would contradict.
bool is_own_word(const std::string& word) {
    constexpr std::array<std::string_view, 13> kOwn{"--array",
                                                    "--wrap",
                                                    "--parsable",
                                                    "--test-only",
                                                    "--input",
                                                    "--chdir",
                                                    "--export-file",
                                                    "-J ",
                                                    "-t ",
                                                    "-d ",
                                                    "-w ",
                                                    "-I",
                                                    "-X"};
    return std::ranges::any_of(kOwn,
                               [&word](std::string_view own) { return word.starts_with(own); });
}

} // namespace

bool has_outputs_in_folder(const BatchScript& script, const BatchOptions& options) {
    const auto out = options.fields.find("output.stdout");
    const auto error = options.fields.find("output.stderr");
    const bool has_both = out != options.fields.end() && error != options.fields.end();
    return is_of_pbs(script) && has_both &&
           (out->second + error->second).find('/') != std::string::npos;
}

bool has_numbers_of_default(const BatchScript& script, const BatchOptions& options) {
    constexpr std::array<std::string_view, 5> kTasks{
        "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE", "srun"};
    const auto has = [&](const char* field) {
        return options.fields.contains(std::string("resources.") + field);
    };
    const auto reads = [&](std::string_view name) {
        return std::ranges::any_of(script.lines, [&](const std::string& line) {
            return !line.starts_with('#') && mentions(line, name);
        });
    };
    if (is_of_pbs(script)) {
        return !has("nodes");
    }
    const bool has_gpus = has("gpus") || has("gpus-per-node") || has("gpus-per-task");
    const bool has_tasks = has("tasks") || has("tasks-per-node");
    return (!has("cpus-per-task") && (has_gpus || reads("SLURM_CPUS_PER_TASK"))) ||
           (!has_tasks && std::ranges::any_of(kTasks, reads));
}

bool has_slots_of_cores(const BatchScript& script,
                        const BatchOptions& options,
                        const Place& place) {
    return script.reader == Reader::kTorque && place.nodes == 1 && place.tasks > 1 &&
           options.fields.contains("resources.tasks-per-node") &&
           !options.fields.contains("resources.cpus-per-task") &&
           !options.fields.contains("resources.tasks");
}

bool is_more_than_one(const BatchScript& script, const BatchOptions& options, const Place& place) {
    // `-n 1 --ntasks-per-node=12` is a contradiction, which Slurm settles.
    const auto each = options.fields.find("resources.tasks-per-node");
    const bool is_odd = place.tasks == 1 && each != options.fields.end() && each->second != "1";
    const bool is_one = place.tasks == 1 || has_slots_of_cores(script, options, place);
    return place.nodes != 1 || !is_one || !place.is_exact || is_odd ||
           has_numbers_of_default(script, options);
}

bool leaves_rest_unused(const BatchScript& script,
                        const BatchOptions& options,
                        const ShellCommand& command) {
    constexpr std::array<std::string_view, 2> kShells{"bash", "sh"};
    const std::string_view program = name_of_path(command.program());
    // Another script may start as many processes as there are tasks.
    const bool is_script = is_one_of(program, kShells) || program.ends_with(".sh");
    return !is_script && !may_start_tasks(command) && !calls_launcher(script) &&
           std::ranges::none_of(options.words, is_own_word);
}

bool is_no_function(std::string_view program) {
    constexpr std::array<std::string_view, 13> kPrograms{"python",
                                                         "python2",
                                                         "python3",
                                                         "R",
                                                         "Rscript",
                                                         "julia",
                                                         "perl",
                                                         "ruby",
                                                         "java",
                                                         "matlab",
                                                         "octave",
                                                         "snakemake",
                                                         "nextflow"};
    return program.find('/') != std::string_view::npos || is_one_of(program, kPrograms);
}

bool is_launcher_name(std::string_view name) {
    constexpr std::array<std::string_view, 8> kLaunchers{
        "srun", "orterun", "prun", "ibrun", "aprun", "jsrun", "pbsdsh", "mpibind"};
    return name.starts_with("mpirun") || name.starts_with("mpiexec") || is_one_of(name, kLaunchers);
}

bool is_plain_shell(const BatchScript& script) {
    const std::vector<std::string> words = shell_words_of(script);
    const std::string name = shell_name_of(script);
    const bool is_env = words.size() == 2 && name_of_path(words[0]) == "env" && words[1] == name;
    return (words.size() == 1 || is_env) && (name == "bash" || name == "sh") &&
           script.lines.front().starts_with("#!");
}

std::optional<std::string> start_of_shell(const BatchScript& script) {
    const std::vector<std::string> words = shell_words_of(script);
    if (is_plain_shell(script)) {
        return "";
    }
    if (words.size() != 2 || name_of_path(words[0]) != "bash" ||
        (words[1] != "--login" && words[1].find_first_not_of("-el") != std::string::npos) ||
        !script.lines.front().starts_with("#!")) {
        return std::nullopt;
    }
    std::string text;
    if (words[1] == "--login" || words[1].find('l') != std::string::npos) {
        text = "# as bash -l starts a script\n"
               "if [ -r /etc/profile ]; then . /etc/profile; fi\n"
               "if [ -r ~/.bash_profile ]; then . ~/.bash_profile\n"
               "elif [ -r ~/.bash_login ]; then . ~/.bash_login\n"
               "elif [ -r ~/.profile ]; then . ~/.profile\n"
               "fi\n";
    }
    return words[1] == "--login" || words[1].find('e') == std::string::npos ? text
                                                                            : "set -e\n" + text;
}

std::string shell_without_launch(const BatchScript& script) {
    const std::vector<std::string> words = shell_words_of(script);
    if (words.empty() || !script.lines.front().starts_with("#!")) {
        return "no first line names the shell that reads the script";
    }
    return words.size() > 1 && name_of_path(words[0]) != "env"
               ? fmt::format("the first line gives `{}` to {}, which no typed launch does",
                             words[1],
                             shell_name_of(script))
               : fmt::format("the script is for {}, not for bash or sh", shell_name_of(script));
}

std::optional<TypedLaunch> launch_of_script(const BatchScript& script,
                                            const BatchOptions& options,
                                            const Body& body,
                                            const Place& place,
                                            bool is_bound) {
    constexpr std::array<std::string_view, 2> kShells{"bash", "sh"};
    constexpr std::size_t kMostText = std::size_t{64} << 10U;
    const std::string_view program = name_of_path(body.launch->program());
    std::string text = body_of(script);
    text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
    const std::vector<std::string> shell = shell_words_of(script);
    const bool folds_slots = has_slots_of_cores(script, options, place);
    const bool is_exact = is_bound || has_outputs_in_folder(script, options) ||
                          is_more_than_one(script, options, place);
    const bool is_right = !is_exact || (!may_start_tasks(*body.launch) &&
                                        std::ranges::none_of(options.words, is_own_word));
    // Another script may start as many processes as there are tasks: with one there are none.
    const bool is_script = is_one_of(program, kShells) || program.ends_with(".sh");
    if (!is_right || text.size() > kMostText || (is_script && is_exact) || calls_launcher(script) ||
        !is_shell_of_text(script) || has_directives(text) ||
        signal_not_passed_on(script, LaunchOf::kTyped) != nullptr || is_in_private_folder(script)) {
        return std::nullopt;
    }
    TypedLaunch launch;
    launch.is_exact = is_exact;
    launch.folds_slots = folds_slots && !is_exact;
    launch.kind = "serial";
    launch.script = starts_at_home_of(script) ? "cd # as qsub starts a script\n" + text : text;
    launch.shell = shell;
    launch.threads = "own"; // the script may start processes with threads of their own
    return launch;
}

} // namespace cybele::schedulers
