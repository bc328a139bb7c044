// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/overrides.hpp"

#include <string>
#include <vector>

namespace cybele::submission {

/// The options that replaced fields of the Job, as on a command line: `-N 2`, `--exclusive`. Each
/// is on one line, whatever its value holds.
[[nodiscard]] std::vector<std::string> given_options(const Overrides& overrides);

} // namespace cybele::submission
