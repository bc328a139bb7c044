// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

/// An option of NAME=VALUE words that may be repeated: one word each time.
struct AssignmentOption {
    const char* name;     ///< "--arg"
    const char* meaning;  ///< for the help
    const char* because;  ///< what a value is for, where a word is not of the form NAME=VALUE
    bool is_once = false; ///< two values of one name are an error; else the last one counts
};

void add_assignments(CLI::App& verb, const AssignmentOption& option, std::vector<std::string>& to);

/// The last value of each name. kUsage for the words that are no NAME=VALUE, and for names with two
/// values where only one is allowed, all at once.
[[nodiscard]] Result<std::map<std::string, std::string>>
read_assignments(const AssignmentOption& option, const std::vector<std::string>& words);

/// Values of a Recipe's `args`, for every verb that takes a Recipe.
inline constexpr AssignmentOption kRecipeArguments{"--arg",
                                                   "value of an argument of the Recipe",
                                                   "it gives a value to one of the Recipe's `args`",
                                                   true};

} // namespace cybele::cli
