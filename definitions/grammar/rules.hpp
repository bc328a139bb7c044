// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/lint.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The rules of the linter, one row a rule; everything that is said about them comes from here.
namespace cybele::definitions {

/// What Apptainer refuses is refused whatever the rule's severity.
using lint::Rule;
using lint::Severity;
using lint::to_string;

[[nodiscard]] std::span<const Rule> syntax_rules(); ///< CD0xx
[[nodiscard]] std::span<const Rule> script_rules(); ///< CD1xx, CD2xx
[[nodiscard]] std::span<const Rule> supply_rules(); ///< CD3xx
[[nodiscard]] std::span<const Rule> places_rules(); ///< CD4xx, CD5xx

/// All rules, by their ids.
[[nodiscard]] std::vector<const Rule*> all_rules();
/// The rule of an id in upper or lower case, or nothing.
[[nodiscard]] const Rule* find_rule(std::string_view id);
/// The reference page of all rules, as Markdown.
[[nodiscard]] std::string rules_page();

} // namespace cybele::definitions
