// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/lint.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What linters do with their rules and findings. A linter itself is a table of rules and the
/// functions that look for what breaks them.
namespace cybele::lint {

/// The rule of an id in upper or lower case, or nothing.
[[nodiscard]] const Rule* find_in(std::span<const Rule> rules, std::string_view id);

/// What `explain ID` prints.
[[nodiscard]] std::string explain(const Rule& rule);

/// Adds a finding, as severe as its rule. A reason or remedy that is empty is the rule's.
void report(Findings& findings, const Rule& rule, Fault fault);

/// Leaves out findings whose rules a comment of the file disables: `# cybelectl: ignore ID, ID` on
/// its line or, where it stands alone, on the next line that is no comment; `# cybelectl:
/// ignore-file ID` everywhere.
void drop_ignored(std::vector<Finding>& findings,
                  std::span<const std::string_view> lines,
                  FindRule find_rule);

/// By line and column, and at one place by the rules' ids.
void order(std::vector<Finding>& findings);

[[nodiscard]] std::size_t
count(const std::vector<Finding>& findings, Severity severity, FindRule find_rule);

} // namespace cybele::lint
