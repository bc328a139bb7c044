// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace cybele {

/// The parts of `text` between separators, views of it, as std::getline() gives them one by one:
/// empty ones too, but none behind a separator at the end, and none of an empty text. Streams look
/// up a locale for each text, which a start of a container would do two hundred times.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

} // namespace cybele
