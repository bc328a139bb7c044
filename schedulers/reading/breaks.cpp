// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/break_rules.hpp"

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

std::vector<Break> find_breaks(const BatchScript& script, const Asked& asked) {
    std::vector<Break> breaks;
    const Judging judging{script, asked, breaks};
    for (const auto rules : {head_rules(), body_rules(), launch_rules()}) {
        for (const BreakRule& rule : rules) {
            rule.judge(judging);
        }
    }
    std::stable_sort(breaks.begin(), breaks.end(), [](const Break& left, const Break& right) {
        return left.line < right.line;
    });
    return breaks;
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
