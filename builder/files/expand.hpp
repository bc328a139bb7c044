// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Expansion of a source of %files as a shell's word, without a shell.
namespace cybele::builder {

/// `{a,b}` lists, nested too; a brace without a comma is literal.
[[nodiscard]] std::vector<std::string> expand_braces(std::string_view word);

/// `$NAME` and `${NAME}`; what is not set is empty. A backslash protects the next character.
[[nodiscard]] std::string expand_variables(std::string_view word,
                                           const std::map<std::string, std::string>& variables);

/// The paths inside `root` that match `pattern` (absolute), sorted; the pattern itself, without its
/// backslashes, where nothing matches.
[[nodiscard]] std::vector<std::filesystem::path> expand_pattern(const std::filesystem::path& root,
                                                                std::string_view pattern);

} // namespace cybele::builder
