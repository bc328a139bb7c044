// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"

#include <string_view>

/// What is known of images that a definition does not describe: folders and variables of the usual
/// bases, and variables that the runtime sets.
namespace cybele::definitions {

/// Whether the stage's base may set a variable: yes where the base is not in the table.
[[nodiscard]] bool base_may_set(const Stage& stage, std::string_view variable);

/// Whether the base is in the table.
[[nodiscard]] bool has_known_base(const Stage& stage);

/// Whether the base is a distribution without more, so that its folders are known.
[[nodiscard]] bool has_plain_base(const Stage& stage);

/// The program that is /bin/sh in the stage's image, by the name of its base, else by the package
/// manager that the stage calls.
enum class BaseShell { kUnknown, kDash, kBash, kBusybox };
[[nodiscard]] BaseShell base_shell(const Stage& stage);

/// Whether every usual base has a folder of that path; a slash at the end does not count.
[[nodiscard]] bool is_usual_folder(std::string_view path);

/// Whether a word is an option of letters, such as `-qqy`, that holds one of `wanted` behind only
/// `known` ones; what follows may have a value (`-yc CHANNEL`).
[[nodiscard]] bool
is_cluster(std::string_view word, std::string_view wanted, std::string_view known);

/// Whether a program runs what is piped into it: a shell, `python3.11`, `perl`.
[[nodiscard]] bool is_interpreter(std::string_view program);

} // namespace cybele::definitions
