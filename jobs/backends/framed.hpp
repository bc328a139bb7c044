// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/backends/host.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::jobs {

/// A POSIX shell script that makes the calls and reads the files, and writes each answer in a
/// frame: a line with the nonce, the code and the lengths, then the bytes. What a login shell
/// prints before it does not matter.
[[nodiscard]] std::string framed_script(const std::vector<Call>& calls,
                                        const std::vector<Reading>& readings,
                                        const std::string& nonce);

/// The answers; unset where a frame or the last line is missing: then nothing is known.
[[nodiscard]] std::optional<Answers> read_frames(std::string_view output,
                                                 std::size_t calls,
                                                 std::size_t readings,
                                                 const std::string& nonce);

} // namespace cybele::jobs
