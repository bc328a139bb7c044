// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/yaml.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cybele::yaml {

/// Something that this reader refuses, before the place has its line.
struct Refusal {
    Mark mark;
    std::string message;
    std::string because;
    std::string help;
    std::string_view id = "yaml-syntax";
};

/// How far the parser came before it could not go on.
struct Stop {
    Mark mark;
    std::string_view message;  ///< yaml-cpp's (its exceptions.h)
    std::optional<Mark> open;  ///< the innermost list or map that is not closed
    std::optional<Mark> quote; ///< the last scalar that is not plain
};

/// What is wrong there, as a reader of the file would say it: the mistake that was made rather than
/// the rule of the grammar that failed because of it, with its own place.
[[nodiscard]] Refusal explain_stop(std::string_view text, const Stop& stop);

/// The word at a mark, up to a blank or the line's end: `&anchor`, `!!str`.
[[nodiscard]] std::string word_at(std::string_view text, Mark mark);

/// Where a mark is in the text.
[[nodiscard]] std::size_t offset_of(std::string_view text, Mark mark);

/// The field whose text follows on lines of its own, of `script: |`; else empty.
[[nodiscard]] std::string field_of_block(std::string_view line);

/// The value that begins there, as far as the comma or bracket that ends it in `[a, b]`; not one in
/// brackets or quotes of the value's own: `@{x}`, `print("a: b, c")`.
[[nodiscard]] std::string_view value_in_flow(std::string_view rest);

/// The text as a value in `[a, b]`: in quotes where a plain one would mean another thing.
[[nodiscard]] std::string flow_value(std::string_view text);

} // namespace cybele::yaml
