// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

/// What a command line gets that uses a word of an earlier version.
struct RemovedUsage {
    std::string message;
    std::string because;
    std::string help;
};

/// A command that earlier versions had, such as "image gc", with the words that follow it.
[[nodiscard]] std::optional<RemovedUsage>
removed_command(std::string_view command, const std::vector<std::string>& following);

/// An option of a command, or a value of one, that earlier versions accepted: "build" and the words
/// of the command line, among them "--delta", or "--as" and "sh", or "--as=sh".
[[nodiscard]] std::optional<RemovedUsage> removed_option(std::string_view command,
                                                         const std::vector<std::string>& words);

} // namespace cybele::cli
