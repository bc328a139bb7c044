// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/submit.hpp"

#include <string>

namespace cybele::submission {

/// The value of each stage of a submission in one line of JSON, for those who look for a mistake:
/// `submit -vv` prints them. What a later stage adds comes after what it got. A token's command is
/// left out. No other program reads these lines; their form may change.
[[nodiscard]] std::string print_json(const JobInput& job);
[[nodiscard]] std::string print_json(const ResolvedJob& job);
[[nodiscard]] std::string print_json(const CheckedJob& job);
[[nodiscard]] std::string print_json(const BuiltJob& job);
[[nodiscard]] std::string print_json(const RenderedJob& job);

} // namespace cybele::submission
