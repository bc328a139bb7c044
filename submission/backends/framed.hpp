// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// A POSIX shell script that makes the calls and reads the files, and writes each answer in a
/// frame: a line with the nonce, the code and the lengths, then the bytes. What a login shell
/// prints before it does not matter. A program that is neither in PATH nor in the folders of
/// `login_path` is looked for by a login shell, whose PATH then comes back.
[[nodiscard]] std::string framed_script(const std::vector<Call>& calls,
                                        const std::vector<Reading>& readings,
                                        const std::string& nonce,
                                        const std::string& login_path = {});

/// The answers; unset where a frame or the last line is missing: then nothing is known.
[[nodiscard]] std::optional<Answers> read_frames(std::string_view output,
                                                 std::size_t calls,
                                                 std::size_t readings,
                                                 const std::string& nonce);

} // namespace cybele::submission
