// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <string>
#include <string_view>

/// Remedies for mistakes in documents. Each names one exact thing to write, so that it can be
/// applied word by word (tests/cli/mistakes.bats does that).
namespace cybele::document {

/// A value of that shape, as it may be written.
[[nodiscard]] std::string example_of(const Shape& shape);
[[nodiscard]] std::string example_of(const Field& field);

/// What to write in place of a value of another kind: a text for a list, a list for a map, …
[[nodiscard]] std::string
help_for_value(const Shape& shape, const yaml::Node& value, const yaml::Source& source);

/// What to write in place of a scalar that is none of that shape: `a100:4` for a count with a type.
[[nodiscard]] std::string
help_for_scalar(const Shape& shape, const yaml::Node& value, const std::string& otherwise);

/// A file that is none of our documents, or holds nothing.
[[nodiscard]] std::optional<Fault>
fault_of_file(const Kind& kind, std::string_view text, const std::string& file);

/// What to do with a document of another kind than the one that is expected.
[[nodiscard]] std::string
help_for_document(const Kind& expected, const std::string& kind, const yaml::Source& source);

/// The nearest name of a variable: `SEASON-1` becomes `SEASON_1`.
[[nodiscard]] std::string suggest_variable(std::string_view text);

/// What to do with a field that the table does not have.
[[nodiscard]] std::string help_for_field(const Table& table, std::string_view name);

/// The same for the name as it is written, which may be a line of the text of the field before it.
[[nodiscard]] std::string
help_for_unknown(const Table& table, const yaml::Node& name, const yaml::Source& source);

/// What to do with a field that has no value.
[[nodiscard]] std::string
help_without_value(const Field& field, const yaml::Node& value, const yaml::Source& source);

/// Why a field or word of earlier versions is refused.
struct Removed {
    std::string_view where; ///< the title of the field's table, or the path of the word's field
    std::string_view word;
    std::string_view because;
    std::string_view help; ///< what to use instead
};
/// Nothing for a word that no version accepted.
[[nodiscard]] const Removed* find_removed(std::string_view where, std::string_view word);

/// The word of `words` that other programs call `word`, or "".
[[nodiscard]] std::string_view synonym_of(std::string_view word,
                                          std::span<const std::string_view> words);

} // namespace cybele::document
