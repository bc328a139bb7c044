// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>

namespace cybele::images {

using Labels = std::map<std::string, std::string>;

/// The text of labels.json as Go's encoder writes it: sorted, indented by tabs, `<`, `>` and `&`
/// escaped, no final newline.
[[nodiscard]] std::string print_labels(const Labels& labels);
/// Reads labels.json; a value that is no string is kept as its JSON text. kInput when it is no JSON
/// object.
[[nodiscard]] Result<Labels> parse_labels(std::string_view text);

} // namespace cybele::images
