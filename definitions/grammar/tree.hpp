// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// A definition file with every byte of it: what `def print` writes back and the linter points to.
namespace cybele::definitions {

/// One line: its text and what ended it ("\n" or "\r\n"; at the end of the file "\r" or nothing).
struct TreeLine {
    std::string text;
    std::string end;
};

/// A header, or a section with its section line first.
struct TreeBlock {
    bool is_section = false;
    std::size_t line = 0; ///< of its first line, from 1
    std::vector<TreeLine> lines;

    [[nodiscard]] std::string name() const;     ///< of a section, lower case; else ""
    [[nodiscard]] std::string argument() const; ///< behind the first space, as written
};

struct TreeStage {
    std::size_t line = 0;
    std::vector<TreeBlock> blocks;
};

struct Tree {
    std::vector<TreeStage> stages;
};

/// Any bytes make a tree; whether it is a definition is parse_definition()'s to say.
[[nodiscard]] Tree read_tree(std::string_view text);
/// print_tree(read_tree(x)) == x.
[[nodiscard]] std::string print_tree(const Tree& tree);

} // namespace cybele::definitions
