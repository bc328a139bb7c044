// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/forms/ledger.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// One line for pip, put together from its lines.
struct RequirementLine {
    std::string text; ///< without comment
    Lines lines;
    yaml::Mark mark; ///< of its first character
};

/// Carries the requirement into `pip`, the lines of `packages.pip`, or names it. Options of pip are
/// read too, but for
/// `-r`, which is the caller's. A line that pip refuses is refused.
void carry_requirement(Ledger& ledger, const RequirementLine& line, std::vector<std::string>& pip);

/// Why `packages.pip` cannot hold the line; nothing where it can.
[[nodiscard]] std::optional<Words> requirement_fault(const std::string& text);

/// "numpy==1.24.2 --hash=sha256:…" → numpy; the name as pip compares it (small letters, `-`).
[[nodiscard]] std::string requirement_name(std::string_view line);

} // namespace cybele::recipes
