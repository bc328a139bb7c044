// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cybele::bridge {

/// Words of another program for a status or an Event: at most 1,024 bytes, without control
/// characters, and without what looks like a token or a key.
[[nodiscard]] std::string plain_words(std::string_view text);

/// The first `most` bytes, not in the middle of a letter.
[[nodiscard]] std::string cut_text(std::string_view text, std::size_t most);

} // namespace cybele::bridge
