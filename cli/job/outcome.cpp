// SPDX-License-Identifier: Apache-2.0
#include "cli/job/outcome.hpp"

#include "submission/journal/array.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

bool is_array(const submission::Entry& entry) {
    return !entry.array.empty() && !entry.is_element;
}

/// Whether its output is a file that it wrote.
bool has_output(const submission::Entry& entry) {
    return entry.started != 0 && !is_array(entry) && !entry.standard_output.empty();
}

std::string name_of(const submission::Entry& entry) {
    return fmt::format(
        "job {} ({})", entry.id.empty() ? entry.uuid : entry.id, printable(entry.name));
}

std::string verdict(const submission::Entry& entry) {
    const std::string reason = entry.reason.empty() || entry.state == submission::State::kDone
                                   ? ""
                                   : " (" + printable(entry.reason) + ")";
    return fmt::format("{} {}{}: exit code {}",
                       name_of(entry),
                       submission::state_text(entry.state),
                       reason,
                       entry.shell_code());
}

std::string place_of_errors(const submission::Entry& entry) {
    return printable(entry.standard_error.empty() ? entry.standard_output : entry.standard_error);
}

/// `1 running, 2 failed`, in the order of a job's life.
std::string counts(const std::vector<submission::Entry>& entries) {
    std::map<submission::State, std::size_t> numbers;
    for (const submission::Entry& entry : entries) {
        ++numbers[entry.state];
    }
    std::vector<std::string> parts;
    parts.reserve(numbers.size());
    for (const auto& [state, number] : numbers) {
        parts.push_back(fmt::format("{} {}", number, submission::state_text(state)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace

std::string end_line(const submission::Entry& entry) {
    std::string line = verdict(entry);
    if (is_array(entry) && !entry.id.empty()) {
        return line + fmt::format("; {}; outputs: cybelectl job list --elements {}",
                                  submission::failures_of(submission::elements_of(entry)).text(),
                                  shell_quote(entry.id));
    }
    if (has_output(entry)) {
        line += "; output in " + printable(entry.standard_output);
        if (entry.state != submission::State::kDone &&
            place_of_errors(entry) != entry.standard_output) {
            line += ", errors in " + place_of_errors(entry);
        }
        if (entry.state == submission::State::kFailed) {
            line += "; known causes: cybelectl job explain --log " +
                    shell_quote(entry.standard_error.empty() ? entry.standard_output
                                                             : entry.standard_error);
        }
    }
    return line;
}

std::string list_line(const std::vector<submission::Entry>& entries, bool has_elements) {
    if (entries.empty()) {
        return "no such jobs";
    }
    const std::string_view noun = has_elements ? "element" : "job";
    std::string line = fmt::format(
        "{} {}{}: {}", entries.size(), noun, entries.size() == 1 ? "" : "s", counts(entries));
    const auto failed = std::ranges::find_if(entries, [](const auto& entry) {
        return entry.ended != 0 && entry.state != submission::State::kDone;
    });
    if (failed == entries.end()) {
        return line;
    }
    if (is_array(*failed) && !failed->id.empty()) {
        return line + "; what failed: cybelectl job list --elements " + shell_quote(failed->id);
    }
    return has_output(*failed)
               ? line +
                     fmt::format("; errors of {} in {}", name_of(*failed), place_of_errors(*failed))
               : line;
}

std::string collect_line(const submission::Entry& entry, const submission::Collected& collected) {
    double bytes = 0;
    for (const submission::ResultFile& file : collected.files) {
        bytes += static_cast<double>(file.size);
    }
    constexpr double kThousand = 1000;
    constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    for (; bytes >= kThousand && unit + 1 < kUnits.size(); ++unit) {
        bytes /= kThousand;
    }
    return fmt::format("{}{}{}; {} file{} ({:.{}f} {}) and a record in {}",
                       verdict(entry),
                       collected.failures.empty() ? "" : "; ",
                       collected.failures,
                       collected.files.size(),
                       collected.files.size() == 1 ? "" : "s",
                       bytes,
                       unit == 0 ? 0 : 1,
                       kUnits.at(unit),
                       printable(collected.to.native()));
}

void tell_outcome(const Session& session, const std::string& line) {
    if (!session.is_json() && !session.is_quiet) {
        fmt::print(stderr, "{}\n", line);
    }
}

} // namespace cybele::cli
