// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cybele::cli {

/// What follows an error: how a verb ("key list"), or with "" the program, is called.
[[nodiscard]] std::string usage_of(const std::string& program, const std::string& verb);

/// What follows an error about a flag: the flags of a verb, or with "" of the program.
[[nodiscard]] std::string flags_of(const std::string& program, const std::string& verb);

/// The help of a verb, of a group of verbs, or with "" of the program.
[[nodiscard]] std::string help_of(const std::string& program, const std::string& verb);

} // namespace cybele::cli
