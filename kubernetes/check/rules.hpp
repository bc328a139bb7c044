// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/lint.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The traps that `kube check` knows, one row a trap.
namespace cybele::kubernetes {

/// By number.
[[nodiscard]] std::vector<const lint::Rule*> check_rules();
/// The rule of an id, in upper or lower case, or nothing.
[[nodiscard]] const lint::Rule* find_check_rule(std::string_view id);
/// The reference page of all rules, as Markdown.
[[nodiscard]] std::string check_rules_page();

} // namespace cybele::kubernetes
