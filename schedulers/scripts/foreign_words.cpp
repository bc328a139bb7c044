// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job.hpp"
#include "schedulers/reading/shell_words.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// What only jobs of some batch systems have.
struct ForeignWords {
    std::string_view owner;                   ///< for messages
    std::array<std::string_view, 3> dialects; ///< that have them
    std::array<std::string_view, 4> programs; ///< commands
    std::string_view variable;                ///< how its variables begin
};

constexpr std::array kForeign{
    ForeignWords{
        "Slurm", {"slurm", "slurm-torque", ""}, {"srun", "scontrol", "sbcast", "sstat"}, "SLURM_"},
    ForeignWords{"PBS",
                 {"torque", "pbspro", "slurm-torque"},
                 {"pbsdsh", "pbs_tmrsh", "qmgr", "pbs_attach"},
                 "PBS_"},
};

/// The first use of a variable that the script does not also accept unset (`${X:-...}`,
/// `${X-...}`).
std::string plain_variable(std::string_view line, std::string_view begin) {
    for (std::size_t at = line.find('$'); at != std::string_view::npos;
         at = line.find('$', at + 1)) {
        std::string_view rest = line.substr(at + 1);
        const bool has_brace = rest.starts_with('{');
        rest.remove_prefix(has_brace ? 1 : 0);
        if (!rest.starts_with(begin)) {
            continue;
        }
        const std::size_t size =
            std::min(rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), rest.size());
        if (!has_brace || rest.substr(size).starts_with('}')) {
            return "$" + std::string(rest.substr(0, size));
        }
    }
    return {};
}

/// A sentence's words with commas and `and`.
std::string listed(const std::vector<std::string>& words) {
    return words.size() < 2 ? text::joined(words, "")
                            : fmt::format("{} and {}",
                                          fmt::join(words.begin(), words.end() - 1, ", "),
                                          words.back());
}

/// What the script calls and reads of another batch system, each at its first line; but not the
/// variable that it is given (`given`, an assignment).
std::string foreign_words(const ForeignWords& foreign,
                          const std::vector<std::string>& lines,
                          const std::string& given) {
    std::vector<std::string> calls;
    std::vector<std::string> reads;
    std::set<std::string> seen;
    const auto keep = [&](std::vector<std::string>& into, const std::string& word, auto line) {
        if (seen.insert(word).second) {
            into.push_back(fmt::format("{} in line {}", word, line));
        }
    };
    for (const ShellCommand& command : shell_commands(lines)) {
        const auto& programs = foreign.programs;
        if (contains(programs, command.program())) {
            keep(calls, std::string(command.program()), command.line);
        }
        for (const ShellWord& word : command.words) {
            const std::string name = plain_variable(word.raw, foreign.variable);
            if (!name.empty() && !given.starts_with(name.substr(1) + "=")) {
                keep(reads, name, command.line);
            }
        }
    }
    return (calls.empty() ? "" : "calls " + listed(calls)) +
           (calls.empty() || reads.empty() ? "" : ", and ") +
           (reads.empty() ? "" : "reads " + listed(reads));
}

} // namespace

void note_foreign_words(const Rendering& rendering) {
    const launchers::Job& job = *rendering.input.job;
    if (job.script.empty()) {
        return;
    }
    const auto pieces = text::split(job.script, '\n');
    const std::vector<std::string> lines(pieces.begin(), pieces.end());
    const std::string given = foreign_index(rendering);
    for (const ForeignWords& foreign : kForeign) {
        const auto& own = foreign.dialects;
        if (contains(own, rendering.dialect.name)) {
            continue;
        }
        const std::string found = foreign_words(foreign, lines, given);
        if (found.empty()) {
            continue;
        }
        Fault note =
            job.fault_at("script",
                         problem("script-of-other-scheduler", "the script " + found),
                         fmt::format("only a job of {} has it; this one is made for {}",
                                     foreign.owner,
                                     rendering.dialect.name),
                         fmt::format("let `launch` start the ranks, or render the Job for {} only",
                                     foreign.owner));
        note.is_warning = true;
        rendering.faults.add(std::move(note));
    }
}

} // namespace cybele::schedulers
