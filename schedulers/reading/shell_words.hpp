// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// A word of a command as a person means it; nothing is expanded.
struct ShellWord {
    std::string text;            ///< quotes taken off
    std::string raw;             ///< as written
    bool has_expansion = false;  ///< a `$` or backquote that the shell would replace
    bool is_split = false;       ///< such an expansion stands outside double quotes
    bool is_redirection = false; ///< `>file`, `2>&1`, `<<END`
};

/// A simple command; lists, groups, pipes and the words of an array are taken apart.
struct ShellCommand {
    std::size_t line = 0;
    std::vector<ShellWord> words;
    std::string before; ///< the operator before it: `|`, `||`, `&&`, `;`, `(`, or empty
    std::string after;

    /// The first word that is no assignment, or "".
    [[nodiscard]] std::string_view program() const;
    [[nodiscard]] bool has(std::string_view word) const;
    /// Whether a word is, or begins with, the text.
    [[nodiscard]] bool has_start(std::string_view start) const;
};

/// The simple commands of a text, heuristically: here-documents and comments are left out. Pure,
/// and total: any bytes give some list.
[[nodiscard]] std::vector<ShellCommand> shell_commands(std::span<const std::string> lines);

} // namespace cybele::schedulers
