// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/process.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

/// The environment files of an image, read without a shell where they hold nothing that needs one.
namespace cybele::runtime {

/// What one file makes of the variables, as a shell that reads it: comments, `NAME=WORD`, `export
/// NAME[=WORD]` and `unset NAME`, whose words have plain letters, quotes, `$NAME`, `${NAME}`,
/// `${NAME:-TEXT}` and `${NAME:+TEXT}`, also below `if [ -n|-z|-d|-f WORD ]`; or a file that this
/// program's builds put into every image, to the byte. Empty for any other text.
[[nodiscard]] std::optional<EnvironmentMap>
read_known_file(std::string_view name, std::string_view text, EnvironmentMap variables);

/// The same of all `*.sh` of a folder, by their bytes' order; nothing where one needs a shell.
[[nodiscard]] std::optional<EnvironmentMap> read_known_files(const std::filesystem::path& folder,
                                                             EnvironmentMap variables);

} // namespace cybele::runtime
