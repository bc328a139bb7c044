// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

/// What a command line meant that `app` did not take: a mistyped verb, option or word of a choice
/// is told with the nearest that there is, all else in CLI11's own words (`message`), with the verb
/// whose help says more. kUsage.
[[nodiscard]] Fault
usage_fault(const CLI::App& app, const std::string& message, const std::vector<std::string>& words);

} // namespace cybele::cli
