// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cybele::kubernetes {

/// A text as a yaml literal block scalar: the header (`|`, `|-`, `|2+`, …), a newline, and the
/// lines with `indentation` blanks before each that is not empty, two more than the key has. Every
/// yaml reader gives back the same bytes. What no literal block can carry is kInput: a text of
/// blanks only, carriage returns, other control characters but tab and newline, the line breaks of
/// Unicode, the byte order mark, non-characters, bytes that are not UTF-8.
[[nodiscard]] Result<std::string> literal_block(std::string_view text, std::size_t indentation);

} // namespace cybele::kubernetes
