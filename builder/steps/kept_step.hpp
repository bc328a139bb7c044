// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What the cache says of a kept result.
namespace cybele::builder {

/// One thing that a step's result depends on, in words for the user, and its digest.
struct KeyPart {
    std::string what; ///< "its text", "'/src/hello.c' for '/src'"
    std::string digest;
};

/// A kept result as the cache describes it.
struct KeptStep {
    std::string definition; ///< path of the definition file
    std::size_t stage = 0;
    std::string step;   ///< "%post 2 of 3"
    std::string parent; ///< name of the cache entry that it lies on
    std::string text;   ///< its first line
    std::vector<KeyPart> parts;
};
[[nodiscard]] std::string print_kept(const KeptStep& kept);
/// A text that is none gives an empty description.
[[nodiscard]] KeptStep read_kept(std::string_view about);

} // namespace cybele::builder
