// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::cli {

/// One verb as completion sees it: its words ("kube render"), the verbs below it and its options.
struct VerbWords {
    std::string path;
    std::string description;
    std::vector<std::pair<std::string, std::string>> verbs;
    std::vector<std::pair<std::string, std::string>> options;
    std::vector<std::pair<std::string, std::string>> values; ///< an option, and its words in a line
    std::string arguments = {}; ///< words of its first argument in a line; empty: a file
};

/// The completion script of `shell` (bash, zsh or fish) for `program`. The first one of `all` has
/// an empty path: the verbs and options of the program itself.
[[nodiscard]] std::string completion_script(std::string_view shell,
                                            const std::string& program,
                                            const std::vector<VerbWords>& all);

} // namespace cybele::cli
