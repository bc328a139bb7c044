// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/forms/ledger.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::recipes::dockerfile {

/// A here-document of RUN, COPY or ADD.
struct Heredoc {
    std::string name;
    std::string body;       ///< with the line ends; of `<<-` without leading tabs
    std::string as_written; ///< body and last line, for a shell
    bool is_expanded = true;
    std::size_t at = 0;  ///< of `<<` in Instruction::rest
    std::size_t end = 0; ///< behind the word
};

/// One instruction, put together from its lines.
struct Instruction {
    std::string keyword;    ///< in capitals
    std::string rest;       ///< on one line, without continuation and without comments inside
    std::string shell_text; ///< the same with its lines, where that means the same to a shell
    std::vector<Heredoc> heredocs;
    std::vector<std::string> comments; ///< above it and inside it
    Lines lines;
    /// Offset in `rest` → place in the file.
    std::vector<std::pair<std::size_t, yaml::Mark>> places;

    [[nodiscard]] yaml::Mark mark() const {
        return {lines.first, 1, lines.file};
    }
    [[nodiscard]] yaml::Mark mark_at(std::size_t offset) const;
};

struct Lexed {
    std::vector<Instruction> instructions;
    char escape = '\\';
};

/// Directives, comments, continuations, here-documents. What cannot be taken apart is refused by
/// the ledger. Pure.
[[nodiscard]] Lexed read_instructions(Ledger& ledger);

} // namespace cybele::recipes::dockerfile
