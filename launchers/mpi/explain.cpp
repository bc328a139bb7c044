// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"

#include <fmt/format.h>

namespace cybele::compatibility {

std::vector<const Rule*> all_rules() {
    std::vector<const Rule*> rules;
    for (const PairRow& row : pair_rows()) {
        rules.push_back(&row.rule);
    }
    for (const PmixRow& row : pmix_rows()) {
        rules.push_back(&row.rule);
    }
    for (const CircumstanceRow& row : circumstance_rows()) {
        rules.push_back(&row.rule);
    }
    for (const Rule& rule : machine_rules()) {
        rules.push_back(&rule);
    }
    return rules;
}

const Rule* find_rule(std::string_view id) {
    for (const Rule* rule : all_rules()) {
        if (rule->id == id) {
            return rule;
        }
    }
    return nullptr;
}

std::string explain_rule(const Rule& rule) {
    std::string text = fmt::format("{} ({}): {}\nwhy: {}\n",
                                   rule.id,
                                   source_text(rule.source),
                                   outcome_text(rule.outcome),
                                   rule.because);
    for (const Option& option : rule.options) {
        if (!option.variable.empty()) {
            text += fmt::format(
                "set: {}={}\n", option.variable, option.value.empty() ? "NETWORK" : option.value);
        }
    }
    if (!rule.help.empty()) {
        text += fmt::format("fix: {}\n", rule.help);
    }
    return text + "all rules: `cybelectl explain mpi`\n";
}

} // namespace cybele::compatibility
