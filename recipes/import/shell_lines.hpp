// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// As much of a shell script as an importer must understand.
namespace cybele::recipes {

/// A command's bytes in its script.
struct ShellSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A line of a script with the lines that continue it.
struct ShellLine {
    ShellSpan bytes;                 ///< with its LF
    std::vector<ShellSpan> commands; ///< none: the line is blank or a comment
    bool is_plain = true; ///< commands joined by `&&` or `;`, without pipes, groups or redirections
                          ///< (but to /etc/timezone and files of the environment)
};

/// The lines of a script up to the first one that is not plain, which is the last of the list.
[[nodiscard]] std::vector<ShellLine> plain_lines(std::string_view script);

/// Without the backslashes that continue a line.
[[nodiscard]] std::string without_continuations(std::string_view text);

/// The line, from 0, of the first here-document that does not end before the script does.
[[nodiscard]] std::optional<std::size_t> open_document(std::string_view script);

} // namespace cybele::recipes
