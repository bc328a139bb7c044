// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

/// kUsage where `output` is one of the files that the command reads, by whatever path: the result
/// would replace its own source. `-` and empty names are no files.
[[nodiscard]] Result<void> check_output(const std::string& output,
                                        const std::vector<std::string>& inputs);

/// Writes a result, to standard output for `-`, unless `output` is the file `input`.
[[nodiscard]] Result<void> write_result(const std::string& output,
                                        std::string_view text,
                                        const std::string& input,
                                        unsigned mode = 0644);

} // namespace cybele::cli
