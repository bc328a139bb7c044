// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/yaml.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::kubernetes {

/// Calls `visit` with each document of a file's lines (a line `---` ends one, and a block with it),
/// padded with empty lines so that its places are the file's, and its first and last line.
void each_document(
    const std::vector<std::string_view>& lines,
    const std::function<void(std::string text, std::size_t first, std::size_t last)>& visit);

/// The lines without their ends, DOS line ends cut too.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// The objects of a file, those that are not empty. What yaml::parse() refuses is refused.
[[nodiscard]] Result<std::vector<yaml::Node>> read_objects(const std::string& text,
                                                           const std::string& file);

/// The value at a path of keys, or nothing.
[[nodiscard]] const yaml::Node* find_path(const yaml::Node& root,
                                          std::initializer_list<std::string_view> path);
/// The scalar's text at a path, or "".
[[nodiscard]] std::string text_at(const yaml::Node& root,
                                  std::initializer_list<std::string_view> path);

} // namespace cybele::kubernetes
