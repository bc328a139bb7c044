// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/cli11.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cybele::cli {

/// The value that an option expects, as help and man pages write it: `FILE`, `zstd|gzip`, `N ...`;
/// empty for a flag.
[[nodiscard]] std::string value_text(const CLI::Option& option);

/// What an option does, with its range and its default.
[[nodiscard]] std::string description_text(const CLI::Option& option);

/// A command of several words and what it does, as a line of a list.
[[nodiscard]] std::string command_row(std::string_view command, std::string_view text);

/// An argument as usage lines write it: `IMAGE` of `image`.
[[nodiscard]] std::string placeholder(std::string_view name);

/// How a command is called: `cybelectl exec [OPTIONS] IMAGE [ARGUMENTS...]`.
[[nodiscard]] std::string called_as(const CLI::App& verb, const std::string& path);

/// Prints `--help`: the program's commands grouped by task, options with the values they expect,
/// no line longer than 100 characters where words allow it.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> make_help_formatter();

} // namespace cybele::cli
