// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/break_rules.hpp"
#include "support/linter.hpp"

#include <algorithm>

namespace cybele::schedulers {

namespace {
constexpr std::string_view kFolded = "}_NUM_THREADS=";
} // namespace

std::string with_each_thread_name(std::string_view text) {
    std::string written;
    for (auto end = text.find(kFolded); end != std::string_view::npos; end = text.find(kFolded)) {
        const auto begin = text.substr(0, end).rfind('{');
        const auto last = std::min(text.find_first_of(" \t\n;", end), text.size());
        std::string_view names =
            begin == std::string_view::npos ? "" : text.substr(begin + 1, end - begin - 1);
        written.append(text.substr(0, names.empty() ? last : begin));
        while (!names.empty()) {
            const auto name = names.substr(0, names.find(','));
            written.append(name).append(text.substr(end + 1, last - end - 1)).append(" ");
            names.remove_prefix(std::min(name.size() + 1, names.size()));
        }
        text.remove_prefix(last);
    }
    return written.append(text);
}

std::size_t RuleContext::line_with(std::string_view text, std::string_view without) const {
    for (std::size_t index = 0; index < script.lines.size(); ++index) {
        const std::string& written = script.lines[index];
        const bool is_folded = written.find(kFolded) != std::string::npos;
        const std::string line = is_folded ? with_each_thread_name(written) : written;
        const auto start = line.find_first_not_of(" \t");
        if (start != std::string::npos && line[start] != '#' &&
            line.find(text) != std::string::npos &&
            (without.empty() || line.find(without) == std::string::npos)) {
            return index + 1;
        }
    }
    return 0;
}

void RuleContext::tell(std::string_view id,
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
    const RuleContext judging{script, asked, breaks};
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
