// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Small questions about text, in ASCII and independent of the locale.
namespace cybele::text {

/// Without the `blanks` at its ends.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

/// With `a` to `z` in place of `A` to `Z`.
[[nodiscard]] std::string lowered(std::string_view text);

/// With `A` to `Z` in place of `a` to `z`.
[[nodiscard]] std::string uppered(std::string_view text);

/// The pieces between separators, empty ones too: one more than there are separators.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// The pieces before each separator, empty ones too, as std::getline() gives them one by one: none
/// behind a separator at the end, and none of an empty text. Streams look up a locale for each
/// text, which a start of a container would do two hundred times.
[[nodiscard]] std::vector<std::string_view> split_terminated(std::string_view text, char separator);

/// The words with `between` between them.
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view between);

/// Whether the text contains one of the words.
[[nodiscard]] bool contains_any(std::string_view text,
                                std::initializer_list<std::string_view> words);

/// The decimal number that the text is; nothing where it is another text, or too large.
[[nodiscard]] std::optional<int> number(std::string_view text);

} // namespace cybele::text
