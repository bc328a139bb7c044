// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>

struct stat;

namespace cybele::images {

/// Copies the first `size` bytes of one file to an empty one: a reflink where the file system can,
/// else by the kernel, else by hand; holes stay holes. `path` is for messages.
[[nodiscard]] Result<void>
copy_whole_file(int from, int to, std::uint64_t size, const std::filesystem::path& path);

/// Gives the copy the mode of the original, and its owner as far as that is allowed.
[[nodiscard]] Result<void>
keep_owner_and_mode(const struct stat& original, int copy, const std::filesystem::path& path);

} // namespace cybele::images
