// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/break_rules.hpp"
#include "support/linter.hpp"

#include <algorithm>

namespace cybele::schedulers {

std::size_t Judging::line_with(std::string_view text, std::string_view without) const {
    for (std::size_t index = 0; index < script.lines.size(); ++index) {
        const auto& line = script.lines[index];
        const auto start = line.find_first_not_of(" \t");
        if (start != std::string::npos && line[start] != '#' &&
            line.find(text) != std::string::npos &&
            (without.empty() || line.find(without) == std::string::npos)) {
            return index + 1;
        }
    }
    return 0;
}

void Judging::tell(std::string_view id,
                   std::size_t line,
                   std::string what,
                   std::string help) const {
    Fault fault;
    fault.code = ErrorCode::kInput;
    if (line != 0) {
        fault.where = script.source.place({line, 1});
    }
    fault.message = std::move(what);
    fault.help = std::move(help);
    lint::report(breaks, *find_invariant(id), std::move(fault));
}

std::vector<lint::Finding> find_breaks(const BatchScript& script, const Asked& asked) {
    lint::Findings breaks;
    const Judging judging{script, asked, breaks};
    for (const auto rules : {head_rules(), body_rules(), launch_rules()}) {
        for (const BreakRule& rule : rules) {
            rule.judge(judging);
        }
    }
    const std::vector<std::string_view> lines(script.lines.begin(), script.lines.end());
    lint::drop_ignored(breaks.all(), lines, find_invariant);
    std::stable_sort(breaks.all().begin(),
                     breaks.all().end(),
                     [](const lint::Finding& left, const lint::Finding& right) {
                         // What concerns no line, as a missing record, comes last.
                         return line_of(left) - 1 < line_of(right) - 1;
                     });
    return std::move(breaks.all());
}

std::size_t line_of(const lint::Finding& broken) {
    return broken.fault.where ? broken.fault.where->line : 0;
}

std::vector<std::string_view> readable_invariants() {
    std::vector<std::string_view> ids;
    for (const auto rules : {head_rules(), body_rules(), launch_rules()}) {
        for (const BreakRule& rule : rules) {
            for (std::string_view rest = rule.ids; !rest.empty();) {
                ids.push_back(rest.substr(0, rest.find(' ')));
                rest.remove_prefix(std::min(ids.back().size() + 1, rest.size()));
            }
        }
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

} // namespace cybele::schedulers
