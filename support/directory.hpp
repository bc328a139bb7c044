// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele {

/// The names in a directory that is open (O_PATH will do), without "." and "..", sorted by their
/// bytes. `path` is its name in an error, which has the system's code.
[[nodiscard]] Result<std::vector<std::string>> names_in(int directory,
                                                        const std::filesystem::path& path);

} // namespace cybele
