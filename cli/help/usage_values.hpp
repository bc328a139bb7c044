// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/cli11.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

/// A mistake of a command line, and what to write instead.
struct Usage {
    std::string message;
    std::string help;
    std::string_view id = "command-line";
};

/// `did you mean 'X'?`, or `otherwise` where nothing is near.
[[nodiscard]] std::string did_you_mean(const std::string& meant, std::string otherwise);

/// Of CLI11's messages about the value of an option: one that is not among the choices, not a
/// number, out of range, or given twice.
[[nodiscard]] std::optional<Usage> usage_of_values(std::string_view message,
                                                   const std::vector<std::string>& words);

/// Of CLI11's messages about too few and too many words.
[[nodiscard]] std::optional<Usage>
usage_of_count(const CLI::App& verb, const std::string& path, std::string_view message);

} // namespace cybele::cli
