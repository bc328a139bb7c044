// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cybele::cli {

/// kUsage where `output` is one of the files that the command reads, by whatever path: the result
/// would replace its own source. `-` and empty names are no files.
[[nodiscard]] Result<void> check_output(const std::string& output,
                                        const std::vector<std::string>& inputs);

/// kInput where `output` is a file that exists: what people go on editing is replaced only where
/// they say so (`--force`).
[[nodiscard]] Result<void> check_new_output(const std::string& output, bool replaces);

/// Writes a result, to standard output for `-`, unless `output` is the file `input`.
[[nodiscard]] Result<void> write_result(const std::string& output,
                                        std::string_view text,
                                        const std::string& input,
                                        unsigned mode = 0644);

/// What a verb rendered, into a file or, for `-`, to standard output. With --format json a document
/// of these facts is printed, whose `text` it is, or whose `output` names the file.
[[nodiscard]] Result<void> write_rendered(const Session& session,
                                          const std::string& output,
                                          const std::string& text,
                                          nlohmann::json facts,
                                          unsigned mode = 0644);

} // namespace cybele::cli
