// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace cybele {

/// A run of bytes in an open file.
struct OpenFileRange {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Reads it in pieces of 1 MiB, and gives each to `take`; a shorter file is kInput.
[[nodiscard]] Result<void> read_pieces(const OpenFileRange& range,
                                       const std::filesystem::path& path,
                                       const std::function<void(std::span<const std::byte>)>& take);

} // namespace cybele
