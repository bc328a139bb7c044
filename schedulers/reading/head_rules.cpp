// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/break_rules.hpp"
#include "schedulers/reading/option_table.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

void judge_first_line(const RuleContext& judging) {
    const std::string first = judging.script.lines.empty() ? "" : judging.script.lines.front();
    const std::string& text = judging.script.source.text();
    if (text.find('\r') != std::string::npos) {
        judging.tell("A1",
                     1,
                     "the file has DOS line ends, which sbatch and qsub refuse",
                     "save it with Unix line ends");
    } else if (!first.starts_with("#!")) {
        judging.tell(
            "A1", 1, "the first line is no `#!`", "write `#!/bin/bash` into the first line");
    } else if (first != "#!/bin/bash") {
        judging.tell(
            "A1",
            1,
            fmt::format("`{}` is found by the node's PATH, or has options, or is another shell",
                        printable(first)),
            "write `#!/bin/bash`, and options by `set`");
    }
    if (!text.empty() && !text.ends_with('\n')) {
        judging.tell(
            "A1", judging.script.lines.size(), "the last line has no end", "end it with a newline");
    }
    if (!is_utf8(text)) {
        judging.tell("A1", 0, "the file is not UTF-8", "save it as UTF-8");
    }
}

struct OddRow {
    SuspectLine::Why why;
    std::string_view what;
    std::string_view help;
};
constexpr std::array<OddRow, 7> kOddRows{
    {{SuspectLine::Why::kLate,
      "the line is after the first command and is not read",
      "move it to the top"},
     {SuspectLine::Why::kIndented,
      "sbatch does not read an indented directive",
      "begin the line with `#SBATCH`"},
     {SuspectLine::Why::kComment,
      "the line is a comment, no directive",
      "write `#` and the word without a blank, or drop the line"},
     {SuspectLine::Why::kPrefix,
      "TORQUE reads what begins like `#PBS`, OpenPBS refuses it",
      "write `#PBS` and a blank"},
     {SuspectLine::Why::kOther,
      "directives of two batch systems stand in one file; for sbatch `#PBS` wins",
      "keep those of one"},
     {SuspectLine::Why::kForeign,
      "the line is for a batch system that cybelectl does not support",
      "write it for Slurm, TORQUE or OpenPBS"},
     {SuspectLine::Why::kExtra,
      "the word belongs to no option: TORQUE ignores it, OpenPBS and sbatch reject the line",
      "drop it, or quote what belongs together"}}};

void judge_order(const RuleContext& judging) {
    for (const SuspectLine& odd : judging.script.odd) {
        const auto* const row = std::ranges::find(kOddRows, odd.why, &OddRow::why);
        judging.tell("A2",
                     odd.line,
                     fmt::format("'{}': {}", printable(odd.text), row->what),
                     std::string(row->help));
    }
}

/// Blanks in a path of TORQUE get a backslash; `#` begins a comment for sbatch.
void judge_values(const RuleContext& judging) {
    for (const Directive& directive : judging.script.directives) {
        const bool is_path = directive.need == "stdout" || directive.need == "stderr";
        if (judging.is_pbs() && is_path && directive.value.find(' ') != std::string::npos) {
            judging.tell("A3",
                         directive.line,
                         "TORQUE writes a backslash into a path with a blank",
                         "use a path without blanks");
        }
        const auto& line = judging.script.lines[directive.line - 1];
        const auto hash = line.find(" #", 1);
        if (judging.is_slurm() && hash != std::string::npos &&
            directive.value.find('#') == std::string::npos) {
            judging.tell("A3",
                         directive.line,
                         "what follows ` #` is a comment",
                         "put the value into double quotes, or drop the comment");
        }
    }
}

struct DroppedRow {
    Reader reader;
    std::string_view need;
    std::string_view what;
    std::string_view help;
};
// torque.md, 2.3; launch.md, 1.4.
constexpr std::array kDropped{
    DroppedRow{Reader::kTorque,
               "-l select",
               "TORQUE stores `select` and ignores it: one slot on one node",
               "write `-l nodes=N:ppn=P`"},
    DroppedRow{Reader::kTorque, "-l place", "TORQUE refuses `place`", "drop it"},
    DroppedRow{Reader::kTorque,
               "-l procs",
               "pbs_sched never starts a job with `procs`",
               "write `-l nodes=N:ppn=P`"},
    DroppedRow{
        Reader::kTorque, "-l ncpus", "TORQUE gives `ncpus` one slot", "write `-l nodes=1:ppn=P`"},
    DroppedRow{Reader::kPbspro,
               "-l procs",
               "OpenPBS knows no `procs`",
               "write `-l select=N:ncpus=P:mpiprocs=P`"},
};

void judge_dropped(const RuleContext& judging) {
    for (const Directive& directive : judging.script.directives) {
        for (const DroppedRow& row : kDropped) {
            if (row.reader == judging.script.reader && row.need == directive.need) {
                judging.tell("A4", directive.line, std::string(row.what), std::string(row.help));
            }
        }
        if (directive.need.empty()) {
            judging.tell("A4",
                         directive.line,
                         fmt::format("{} does not know `{}`",
                                     reader_text(judging.script.reader),
                                     printable(directive.option)),
                         spelling_help(judging.script.reader, directive.option));
        }
        const bool is_empty_time = directive.need == "-l walltime" && directive.value.empty();
        if (is_empty_time) {
            judging.tell(
                "A4", directive.line, "an empty `walltime` is silently dropped", "write HH:MM:SS");
        }
    }
}

bool is_clock(std::string_view text) {
    const auto colons = std::count(text.begin(), text.end(), ':');
    return colons == 2 && text.find_first_not_of("0123456789:") == std::string_view::npos;
}

void judge_units(const RuleContext& judging) {
    for (const Directive& directive : judging.script.directives) {
        const auto& need = directive.need;
        const auto& value = directive.value;
        if ((need == "time" || need == "-l walltime") && !is_clock(value)) {
            judging.tell(
                "A5",
                directive.line,
                fmt::format(
                    "'{}' is {}: other schedulers, and qsub's line under Slurm, read it otherwise",
                    printable(value),
                    need != "time" ? "seconds for PBS"
                    : value.find('-') != std::string::npos
                        ? "days and hours for sbatch"
                        : "minutes, or minutes and seconds, for sbatch"),
                "write HH:MM:SS, with any number of hours");
        }
        const bool is_memory = need == "memory-per-node" || need == "memory-per-cpu" ||
                               need == "-l mem" || need == "-l pmem" || need == "-l vmem";
        const bool has_unit =
            !value.empty() && !is_digit(value.back()) && value.find('.') == std::string::npos;
        if (is_memory && !has_unit) {
            judging.tell("A5",
                         directive.line,
                         fmt::format("'{}' has no unit, or a fraction: a bare number is MB for "
                                     "Slurm and bytes for PBS",
                                     printable(value)),
                         "write an integer with its unit");
        }
    }
}

void judge_variables(const RuleContext& judging) {
    for (const Directive& directive : judging.script.directives) {
        if (directive.value.find('$') != std::string::npos) {
            judging.tell("A6",
                         directive.line,
                         fmt::format("no shell reads '{}'", printable(directive.value)),
                         "write the value itself, or the batch system's own pattern");
        }
    }
}

void judge_names(const RuleContext& judging) {
    constexpr std::size_t kMostOfPbs = 230;
    if (judging.is_pbs() && judging.asked.name.size() > kMostOfPbs) {
        judging.tell("A7",
                     judging.script.line_of("name"),
                     "OpenPBS refuses a name of more than 230 characters",
                     "shorten it");
    }
    for (const auto* need : {"stdout", "stderr"}) {
        const Directive* directive = judging.script.find(need);
        if (directive == nullptr || !judging.is_slurm() || directive->value == "/dev/null") {
            continue;
        }
        const auto& value = directive->value;
        const bool has_id =
            value.find("%j") != std::string::npos || value.find("%A") != std::string::npos;
        if (!has_id) {
            judging.tell("A7",
                         directive->line,
                         fmt::format("'{}' is written over by the next job", printable(value)),
                         "put `%j` into it");
        }
    }
}

/// A job gets its environment from who submits unless the head says what.
void judge_export(const RuleContext& judging) {
    if (!judging.is_slurm()) {
        return;
    }
    const Directive* directive = judging.script.find("export");
    if (directive == nullptr) {
        judging.tell("B4",
                     0,
                     "the head does not say what the job sees of the submitter's environment",
                     "write `#SBATCH --export=ALL`, or NONE and set what is needed");
    } else if (directive->value == "NONE" && judging.line_with("SLURM_EXPORT_ENV=ALL") == 0) {
        judging.tell("B4",
                     directive->line,
                     "with NONE every later srun starts with a bare environment",
                     "write `export SLURM_EXPORT_ENV=ALL` into the script");
    } else if (directive->value != "NONE" && !directive->value.starts_with("ALL")) {
        judging.tell("B4",
                     directive->line,
                     "a list without ALL loses the rest of the environment, and a comma in a value "
                     "splits it",
                     "write ALL, and export in the script");
    }
}

void judge_job_memory(const RuleContext& judging) {
    const Directive* memory = judging.script.find("-l mem");
    if (memory != nullptr && judging.script.reader == Reader::kTorque && judging.asked.nodes > 1 &&
        judging.asked.memory_per_node &&
        *judging.asked.memory_per_node < (std::uint64_t{256} << 20U)) {
        judging.tell(
            "C7",
            memory->line,
            fmt::format(
                "`mem` is the memory of all nodes: less than 256 MiB are left for each of {} nodes",
                judging.asked.nodes),
            "write the memory of all nodes together");
    }
    if (judging.script.find("-l pmem") != nullptr) {
        judging.tell("C7",
                     judging.script.line_of("-l pmem"),
                     "`pmem` limits a process and reserves nothing",
                     "write `mem`");
    }
}

void judge_margin(const RuleContext& judging) {
    const auto& before = judging.asked.signal_before;
    if (before && before->count() < 60) {
        judging.tell("G7",
                     judging.script.line_of("signal"),
                     "Slurm looks at the clock once a minute, so the signal may come after the end",
                     "write @60 or more");
    }
}

/// The whole head's rule G3: who gets the signal.
void judge_signal(const RuleContext& judging) {
    const Directive* directive = judging.script.find("signal");
    if (directive == nullptr) {
        return;
    }
    const bool has_trap =
        std::ranges::any_of(judging.script.commands, [](const ShellCommand& command) {
            return command.program() == "trap";
        });
    const bool is_for_batch = directive->value.find("B:") != std::string::npos;
    if (is_for_batch && !has_trap) {
        judging.tell("G3",
                     directive->line,
                     "the signal goes to the script, which does not handle it and ends",
                     "trap it and pass it on, or drop `B:`");
    } else if (!is_for_batch && has_trap) {
        judging.tell("G3",
                     directive->line,
                     "the signal goes to the steps alone; the script's trap never runs",
                     "write `B:` before the signal's name");
    }
}

constexpr std::array<BreakRule, 11> kHeadRules{{{"A1", judge_first_line},
                                                {"A2", judge_order},
                                                {"A3", judge_values},
                                                {"A4", judge_dropped},
                                                {"A5", judge_units},
                                                {"A6", judge_variables},
                                                {"A7", judge_names},
                                                {"B4", judge_export},
                                                {"C7", judge_job_memory},
                                                {"G7", judge_margin},
                                                {"G3", judge_signal}}};

} // namespace

std::span<const BreakRule> head_rules() {
    return kHeadRules;
}

} // namespace cybele::schedulers
