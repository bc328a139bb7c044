// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/suggestions.hpp"

#include "cli/apptainer/verb_table.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

namespace cybele::cli {

namespace {

std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
        }
    }
    return row.back();
}

/// The first words of all commands: those that start containers, the others by the alphabet, and
/// last the one for completion.
std::vector<std::string> commands_in_order() {
    std::vector<std::string> order{"exec", "shell", "run", "test", "version"};
    std::set<std::string> others{"instance"};
    for (const OtherVerb& one : other_verbs()) {
        others.emplace(one.verb.substr(0, one.verb.find(' ')));
    }
    for (const char* other : {"version", "completion", "buildcfg", "confgen"}) {
        others.erase(other); // hidden there, or elsewhere in the order
    }
    order.insert(order.end(), others.begin(), others.end());
    order.emplace_back("completion");
    return order;
}

} // namespace

std::vector<std::string> suggested_commands(const std::string& word) {
    constexpr std::size_t kMostEdits = 2;
    const std::string typed = text::lowered(word);
    std::vector<std::string> found;
    for (const std::string& command : commands_in_order()) {
        if (command.starts_with(typed) || edits_between(typed, command) <= kMostEdits) {
            found.push_back(command);
        }
    }
    return found;
}

} // namespace cybele::cli
