// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/yaml.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cybele::yaml {

/// A scalar in double quotes, with JSON's escapes for what yaml would read otherwise.
[[nodiscard]] std::string double_quoted(std::string_view text);

/// The tree as yaml that reads back to the same; keys in the tree's order. `step`: blanks per level
/// of maps.
[[nodiscard]] std::string to_text(const Node& node, std::size_t step = 2);

} // namespace cybele::yaml
