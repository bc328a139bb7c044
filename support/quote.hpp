// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele {

/// One word for a POSIX shell: as it is where no character means anything to a shell, else in
/// single quotes with `'\''` for a quote.
[[nodiscard]] std::string shell_quote(std::string_view word);
/// The words, each quoted, with single blanks between.
[[nodiscard]] std::string shell_join(std::span<const std::string> words);
/// For messages: control characters and bytes that are not UTF-8 as \n, \t, \xNN.
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

/// The known word nearest to `word` (edit distance at most 2 and less than half its length), or "".
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string_view> known);

} // namespace cybele
