// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/break_rules.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// Whether `set -e` (or -eu …) and, asked for, `pipefail` are on.
bool sets(const RuleContext& judging, char letter, std::string_view word) {
    for (const ShellCommand& command : judging.script.commands) {
        if (command.program() != "set") {
            continue;
        }
        for (const auto& each : command.words) {
            const bool has_letter = each.text.size() > 1 && each.text[0] == '-' &&
                                    each.text[1] != '-' &&
                                    each.text.find(letter) != std::string::npos;
            if (has_letter || each.text == word) {
                return true;
            }
        }
    }
    return false;
}

void judge_strict(const RuleContext& judging) {
    if (judging.script.commands.empty()) {
        return;
    }
    if (!sets(judging, 'e', "errexit")) {
        judging.tell("B1",
                     0,
                     "a command that fails does not end the script",
                     "write `set -euo pipefail` before the first command");
    } else if (!sets(judging, 'u', "nounset")) {
        judging.tell("B1",
                     0,
                     "a variable that is not set counts as empty",
                     "write `set -euo pipefail` before the first command");
    }
}

void judge_directory(const RuleContext& judging) {
    const auto name = judging.line_with("dirname \"$0\"") + judging.line_with("dirname $0") +
                      judging.line_with("BASH_SOURCE");
    if (judging.has_directives() && name != 0) {
        judging.tell("B2",
                     name,
                     "batch systems run a copy of the script from a folder of their own",
                     "use the directory of submission");
    }
    if (judging.is_pbs() && judging.line_with("PBS_O_WORKDIR") == 0 &&
        judging.script.find("workdir") == nullptr) {
        judging.tell("B2",
                     0,
                     "PBS starts the script in the home directory",
                     "write `cd \"${PBS_O_WORKDIR:?}\"`");
    }
    if (judging.is_slurm() && judging.line_with("PBS_O_WORKDIR") != 0) {
        judging.tell("B2",
                     judging.line_with("PBS_O_WORKDIR"),
                     "Slurm sets no PBS_O_WORKDIR",
                     "use SLURM_SUBMIT_DIR");
    }
}

bool is_secret_name(std::string_view name) {
    return std::ranges::any_of(
        std::array<std::string_view, 5>{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY"},
        [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

void judge_secrets(const RuleContext& judging) {
    for (const auto& [name, value] : judging.asked.variables) {
        if (is_secret_name(name) && !value.empty()) {
            judging.tell("B3",
                         judging.script.line_of("variables") + judging.script.line_of("export"),
                         fmt::format("every user who may list jobs sees {}", printable(name)),
                         "read it from a file of yours in the script");
        }
    }
    for (const ShellCommand& command : judging.script.commands) {
        for (const auto& word : command.words) {
            const auto equals = word.text.find('=');
            const auto name = word.text.substr(0, equals);
            const bool is_literal =
                equals != std::string::npos && equals + 1 < word.text.size() && !word.has_expansion;
            if (is_literal && is_secret_name(name) &&
                name.find_first_of("/-. ") == std::string::npos) {
                judging.tell("B3",
                             command.line,
                             fmt::format("{} stands in the script", printable(name)),
                             "read it from a file that only you can read");
            }
        }
    }
}

constexpr std::array<std::string_view, 4> kOthers{
    "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"};

void judge_threads(const RuleContext& judging) {
    const bool is_counted = judging.line_with("OMP_NUM_THREADS") != 0;
    if (judging.has_directives() && !is_counted) {
        judging.tell("C1",
                     judging.script.line_of("cpus-per-task"),
                     judging.script.reader == Reader::kPbspro
                         ? "OpenPBS sets OMP_NUM_THREADS to the CPUs of the complete chunk"
                         : "OMP_NUM_THREADS is not set: each process uses all cores that it sees",
                     "export OMP_NUM_THREADS with the CPUs of a task");
        return;
    }
    for (const auto name : kOthers) {
        if (is_counted && judging.has_directives() && judging.line_with(name) == 0) {
            judging.tell("C4",
                         judging.line_with("OMP_NUM_THREADS"),
                         fmt::format("{} is not set in addition to OMP_NUM_THREADS", name),
                         "export the same number for MKL, OpenBLAS, BLIS and NumExpr");
            return;
        }
    }
}

void judge_places(const RuleContext& judging) {
    const auto places = judging.line_with("OMP_PLACES");
    const auto bind = judging.line_with("OMP_PROC_BIND");
    const bool is_off = judging.line_with("OMP_PROC_BIND=false") != 0;
    if ((places == 0) != (bind == 0) && !is_off) {
        judging.tell("C3",
                     places + bind,
                     "OMP_PLACES and OMP_PROC_BIND mean little without each other",
                     "set both, or neither");
    }
}

bool is_launch(const ShellCommand& command) {
    constexpr std::array<std::string_view, 5> kLaunchers{
        "srun", "mpirun", "mpiexec", "apptainer", "singularity"};
    return contains(kLaunchers, command.program());
}

void judge_quotes(const RuleContext& judging) {
    for (const ShellCommand& command : judging.script.commands) {
        if (!is_launch(command) && command.program() != "cd") {
            continue;
        }
        for (const auto& word : command.words) {
            if (word.is_split && !word.is_redirection && word.raw != "$?" && word.raw != "$!") {
                judging.tell(command.program() == "cd" ? "H6" : "B5",
                             command.line,
                             fmt::format("`{}` is split at blanks and its `*` expanded",
                                         printable(word.raw)),
                             fmt::format("write \"{}\"", printable(word.raw)));
                break;
            }
        }
    }
}

/// Something runs in the background and is waited for, so that a trap runs at once.
void judge_forwarding(const RuleContext& judging) {
    const auto& commands = judging.script.commands;
    const auto has = [&](std::string_view name) {
        return std::ranges::any_of(
            commands, [&](const ShellCommand& command) { return command.program() == name; });
    };
    if (!has("trap")) {
        judging.tell("G1",
                     0,
                     "the script forwards no signal: when it gets one it ends, and the program is "
                     "killed later",
                     "start the program in the background, trap the signals, `kill` and `wait`");
    } else if (!has("wait")) {
        judging.tell("G1",
                     0,
                     "a trap runs only when the program in front has ended",
                     "start it in the background and `wait` for it");
    }
}

void judge_code(const RuleContext& judging) {
    const auto& commands = judging.script.commands;
    for (std::size_t index = 0; index < commands.size(); ++index) {
        const ShellCommand& command = commands[index];
        if (!is_launch(command)) {
            continue;
        }
        if (command.after == "|" && !sets(judging, '\0', "pipefail")) {
            judging.tell("G2",
                         command.line,
                         "the exit code of a pipe is its last command's",
                         "write `set -o pipefail`");
        }
        if (command.after == "||" && index + 1 < commands.size() &&
            (commands[index + 1].program() == "true" || commands[index + 1].program() == ":")) {
            judging.tell("G2", command.line, "`|| true` hides that the program failed", "drop it");
        }
    }
    if (!commands.empty() && commands.back().program() == "exit" && commands.back().has("0")) {
        judging.tell("G2",
                     commands.back().line,
                     "`exit 0` at the end hides that the program failed",
                     "drop it");
    }
}

void judge_cleanup(const RuleContext& judging) {
    for (const ShellCommand& command : judging.script.commands) {
        if (command.program() != "rm" ||
            !(command.has("-rf") || command.has("-r") || command.has("-fr"))) {
            continue;
        }
        for (const auto& word : command.words) {
            if (word.is_split) {
                judging.tell("G4",
                             command.line,
                             fmt::format("`{}` unset or with a blank removes something else",
                                         printable(word.raw)),
                             fmt::format("write -- \"${{NAME:?}}\" for `{}`", printable(word.raw)));
                break;
            }
        }
    }
}

void judge_record(const RuleContext& judging) {
    if (judging.has_directives() && judging.line_with("exit.json") == 0) {
        judging.tell(
            "G6",
            0,
            "nothing is written down of how the job ended; the scheduler forgets it in minutes",
            "write the code into a file in an EXIT trap");
    }
}

void judge_origin(const RuleContext& judging) {
    const auto& text = judging.script.source.text();
    if (text.find("sha256:") == std::string::npos) {
        judging.tell("H3", 0, "nothing says what the script was made from", "render it from a Job");
    }
}

void judge_log(const RuleContext& judging) {
    if (judging.line_with("cybelectl: job") == 0) {
        judging.tell("H4",
                     0,
                     "the log will not say which image and MPI ran on how many nodes",
                     "print them before the launch");
    }
}

constexpr std::array<BreakRule, 12> kBodyRules{{{"B1", judge_strict},
                                                {"B2", judge_directory},
                                                {"B3", judge_secrets},
                                                {"B5 H6", judge_quotes},
                                                {"C1 C4", judge_threads},
                                                {"C3", judge_places},
                                                {"G1", judge_forwarding},
                                                {"G2", judge_code},
                                                {"G4", judge_cleanup},
                                                {"G6", judge_record},
                                                {"H3", judge_origin},
                                                {"H4", judge_log}}};

} // namespace

std::span<const BreakRule> body_rules() {
    return kBodyRules;
}

} // namespace cybele::schedulers
