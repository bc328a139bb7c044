// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::launchers {

/// A text of a Job or Site: literal, or with variables that the node replaces when the job runs
/// (`{expand: "$SCRATCH/data"}`).
struct NodeText {
    std::string text;
    bool expands = false;
};

/// A part of a text with variables: literal, or a variable with the text that stands for it where
/// it is not set or empty.
struct ExpansionPiece {
    std::string text; ///< of a variable: what `${NAME:-text}` says
    std::string variable;
    bool has_otherwise = false;
};

/// `$NAME`, `${NAME}` and `${NAME:-text}`; `\$` is a literal `$`. Of a text that was checked.
[[nodiscard]] std::vector<ExpansionPiece> expansion_pieces(std::string_view text);

/// The variables that must be set for the text.
[[nodiscard]] std::vector<std::string> required_variables(std::string_view text);

[[nodiscard]] document::ValueFault check_expansion(std::string_view text);
[[nodiscard]] document::ValueFault check_expanded_bind(std::string_view text);

inline constexpr document::Rule kExpansionRule{
    "a text with variables as $SCRATCH", "\\$", check_expansion};
inline constexpr document::Rule kExpandedBindRule{
    "a bind with variables as $SCRATCH:/data", "\\$", check_expanded_bind};

} // namespace cybele::launchers
