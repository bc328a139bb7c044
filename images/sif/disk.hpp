// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

/// System calls on an image's file, with the message for each failure; `path` is for messages.
namespace cybele::images {

[[nodiscard]] Result<void>
write_at(int fd, std::uint64_t offset, std::string_view bytes, const std::filesystem::path& path);
/// Zeros over a range, in pieces.
[[nodiscard]] Result<void>
zero_at(int fd, std::uint64_t offset, std::uint64_t size, const std::filesystem::path& path);
[[nodiscard]] Result<void>
set_length(int fd, std::uint64_t length, const std::filesystem::path& path);
/// Until the bytes, and the length, are on the disk.
[[nodiscard]] Result<void> sync_file(int fd, const std::filesystem::path& path);

/// Where the file behind a descriptor lies now; `fallback` where /proc does not tell.
[[nodiscard]] std::filesystem::path real_path(int fd, const std::filesystem::path& fallback);

} // namespace cybele::images
