// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

/// What a command line meant that was not accepted; `app` has all verbs. A verb that stands
/// elsewhere or that other programs call so is named with the exact command, a mistyped verb,
/// option or word of a choice with the nearest that there is, all else in CLI11's own words
/// (`message`), with the verb whose help says more. kUsage.
[[nodiscard]] Fault
usage_fault(const CLI::App& app, const std::string& message, const std::vector<std::string>& words);

} // namespace cybele::cli
