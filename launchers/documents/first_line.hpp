// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cybele::launchers {

/// The words of a script's first line `#!PROGRAM OPTION`, as the kernel separates them: all after
/// the program is one word. Empty: it has none.
[[nodiscard]] std::vector<std::string> words_of_first_line(std::string_view script);

/// The program that these words start, without its folder: `bash` of `/usr/bin/env -S bash -l`.
[[nodiscard]] std::string program_of_words(const std::vector<std::string>& words);

} // namespace cybele::launchers
