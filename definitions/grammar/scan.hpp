// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The first passes over a definition file: stages, sections, templates. Rules: Apptainer
/// parser's.
namespace cybele::definitions {

/// The text of one stage and the line of the file at which each of its lines began.
struct StageText {
    std::string text;
    std::vector<std::size_t> lines; ///< lines[k]: line in the file of the text's line k

    [[nodiscard]] std::size_t line(std::size_t index) const {
        return lines.empty() ? 0 : lines[index < lines.size() ? index : lines.size() - 1];
    }
};

/// Splits at each line that begins with `bootstrap:` in any case, even in a heredoc. What comes
/// before the first one is a stage too, unless it is empty.
[[nodiscard]] std::vector<StageText> split_stages(std::string_view text);

/// A piece of a stage: its header, or a section with its section line.
struct Token {
    std::string text;        ///< lines with LF; one CR before a LF is gone
    std::size_t index = 0;   ///< of its first line in the stage
    bool is_section = false; ///< a line whose first character that is no blank is `%`
};

/// Splits a stage at its section lines. A piece of 65 536 bytes or more with the section line that
/// follows it is refused, as Apptainer does.
[[nodiscard]] Result<std::vector<Token>> scan_sections(std::string_view stage);

/// The fault at a line of a file, with that line's text.
[[nodiscard]] Fault fault_at(std::string_view file, std::size_t line, std::string_view text);

} // namespace cybele::definitions
