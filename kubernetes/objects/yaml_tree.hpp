// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cybele::kubernetes {

/// A value of an object, as it is written: maps keep their order. A text stays a text for every
/// reader of yaml 1.1 and 1.2: what is no plain word stands in double quotes.
class Tree {
public:
    using List = std::vector<Tree>;
    using Map = std::vector<std::pair<std::string, Tree>>;
    /// A literal block (literal_block.hpp), for scripts.
    struct Block {
        std::string text;
    };

    Tree(std::string text) : held_(std::move(text)) {}
    Tree(std::string_view text) : held_(std::string(text)) {}
    Tree(const char* text) : held_(std::string(text)) {}
    Tree(bool flag) : held_(flag) {}
    Tree(std::int64_t number) : held_(number) {}
    Tree(Block text) : held_(std::move(text)) {}
    Tree(List items) : held_(std::move(items)) {}
    Tree(Map entries) : held_(std::move(entries)) {}

    using Held = std::variant<std::string, bool, std::int64_t, Block, List, Map>;
    [[nodiscard]] const Held& held() const {
        return held_;
    }

private:
    Held held_;
};

/// A scalar in its shortest safe form: `plain-word`, or in double quotes with JSON's escapes for
/// what yaml would read otherwise. What no yaml carries (NUL, bytes that are not UTF-8) is kInput.
[[nodiscard]] Result<std::string> yaml_scalar(std::string_view text);

/// Whether every reader takes the word without quotes for a text: a letter first, no word that yaml
/// 1.1 reads as a flag or nothing, no number.
[[nodiscard]] bool is_plain_word(std::string_view text);

/// One document, in block form with two blanks a level, ending with a newline.
[[nodiscard]] Result<std::string> write_yaml(const Tree& root);

} // namespace cybele::kubernetes
