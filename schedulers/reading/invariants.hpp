// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "support/lint.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// The rules that every rendered script keeps (docs/invariants.md), A1 … H7; the title is the rule.
[[nodiscard]] std::span<const lint::Rule> invariants();
[[nodiscard]] const lint::Rule* find_invariant(std::string_view id);
/// What `explain D7` prints.
[[nodiscard]] std::string explain_invariant(const lint::Rule& invariant);

/// Where the script breaks invariants that can be judged by reading it, by line; what concerns the
/// script as a whole has no place. A rendered script breaks none. A comment of the script disables
/// a rule (lint::drop_ignored()). Pure.
[[nodiscard]] std::vector<lint::Finding> find_breaks(const BatchScript& script, const Asked& asked);

/// The line of a finding; 0: the script as a whole.
[[nodiscard]] std::size_t line_of(const lint::Finding& broken);

/// The ids of those that find_breaks() can find.
[[nodiscard]] std::vector<std::string_view> readable_invariants();

} // namespace cybele::schedulers
