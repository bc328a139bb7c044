// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes::dockerfile {

/// A text with its variables replaced, twice: by their values, and by `@{x}` where the variable
/// is an argument of the Recipe.
struct Value {
    std::string plain;
    std::string text;
};

/// nullopt: this file does not set the variable.
using Lookup = std::function<std::optional<Value>(std::string_view)>;

struct Expansion {
    Value value;
    std::string unknown; ///< the first variable without a value, or a form that is not known
};

/// Takes quotes and escapes away and replaces `$x`, `${x}`, `${x:-y}`, `${x:+y}`, `${x-y}`,
/// `${x+y}`; nothing inside single quotes.
[[nodiscard]] Expansion expand(std::string_view word, char escape, const Lookup& lookup);

/// The same for the body of a here-document: quotes are text there.
[[nodiscard]] Expansion expand_body(std::string_view text, char escape, const Lookup& lookup);

/// A word of an instruction, as written, and where it begins.
struct Word {
    std::string text;
    std::size_t at = 0;
};

/// At blanks outside of quotes. Pure.
[[nodiscard]] std::vector<Word> split_words(std::string_view text, char escape);

/// `["a", "b"]`: a list of strings; nullopt where it is anything else, which the shell then reads.
[[nodiscard]] std::optional<std::vector<std::string>> read_json_words(std::string_view text);

/// `--name=value` in front of an instruction's words.
struct Flag {
    std::string name;
    std::string value;
    std::size_t at = 0;
};

/// Cuts the flags off; `rest` is where the words begin.
[[nodiscard]] std::vector<Flag> take_flags(std::string_view text, std::size_t& rest);

/// One word for a step's shell, which sees the Recipe's arguments as variables.
[[nodiscard]] std::string shell_text(const Value& value);

} // namespace cybele::recipes::dockerfile
