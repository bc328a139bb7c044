// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cybele::recipes {

/// Whether a table's cell, words with ` ` or `|` between them, has this one.
[[nodiscard]] bool has_word(std::string_view list, std::string_view word);

/// Without the `blanks` before and behind.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

/// The literal text as a Recipe's text: nothing in it is substituted.
[[nodiscard]] std::string literal(std::string_view text);

} // namespace cybele::recipes
