// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/cli11.hpp"

#include <string>

namespace cybele::cli {

/// Of an option whose value came from a variable that is not set: what it demands would not count,
/// and the command would do less than was asked for.
inline CLI::Validator not_empty() {
    return {[](const std::string& value) {
                return value.empty() ? std::string("its value is empty") : std::string();
            },
            ""};
}

} // namespace cybele::cli
