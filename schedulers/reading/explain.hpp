// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/invariants.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::schedulers {

/// What a script says, for people and programs.
struct Explanation {
    BatchScript script;
    Asked asked;
    std::vector<lint::Finding> breaks;
};

[[nodiscard]] Result<Explanation>
explain_script(std::string text, const std::string& file, Reader reader = Reader::kNone);

/// Fields of a Job with the value that the script asks for, in a Job's order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> asked_fields(const Asked& asked);

[[nodiscard]] std::string explanation_text(const Explanation& explanation);
/// `{format, file, reads, asks, lines, left, breaks}`.
[[nodiscard]] std::string explanation_json(const Explanation& explanation);

} // namespace cybele::schedulers
