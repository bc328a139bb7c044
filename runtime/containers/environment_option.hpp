// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What --env and --env-file say (docs/compatibility.md compares each rule with Apptainer).
namespace cybele::runtime {

/// A file of assignments as a shell writes them: `NAME=WORD`, several on a line, `export` before
/// them, comments, words of plain text, quotes and backslashes; quotes may span lines. Nothing is
/// expanded or run: `$` and backquotes stand for themselves. All faults with their places (kInput):
/// a word that sets nothing, a quote that is not closed, an operator of the shell. With `host`,
/// `$NAME` and `${NAME}` are variables of the file or of the host, as by the name of Apptainer, and
/// so are `readonly`, `typeset`, `unset`, `set`, `NAME+=WORD` and `;` what they are to a shell.
[[nodiscard]] Result<EnvironmentMap> read_environment_file(const std::filesystem::path& path,
                                                           const Environment* host = nullptr);

/// The NAME=VALUE of one --env, as they are written.
[[nodiscard]] std::vector<std::string> environment_fields(std::string_view text);

/// One --env: `NAME=VALUE`; with more than one `=` it may be several, parted by commas, a field
/// with a comma of its own in double quotes. kUsage for a field that is no NAME=VALUE.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>>
read_environment_option(std::string_view text);

} // namespace cybele::runtime
