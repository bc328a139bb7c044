// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/characters.hpp"

#include <string>
#include <string_view>

namespace cybele::launchers {

/// The help for a path in which somebody means a variable, which only `expand` makes one: "write
/// `{expand: "$SCRATCH/run"}`". Empty where the path has none.
[[nodiscard]] inline std::string expand_help(std::string_view path) {
    const std::size_t next = path.find('$') + 1; // 0: there is none
    const bool is_variable =
        next != 0 && next < path.size() && (is_word_character(path[next]) || path[next] == '{');
    return is_variable ? "write `{expand: \"" + std::string(path) + "\"}`" : std::string();
}

} // namespace cybele::launchers
