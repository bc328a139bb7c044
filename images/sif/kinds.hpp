// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace cybele::images {

/// A file that can be read at any place. Asked by name first, for opening a pipe would wait.
[[nodiscard]] Result<void> check_is_file(const std::filesystem::path& path);

/// How many bytes of a file no_sif() knows other kinds of files by.
inline constexpr std::uint64_t kKindBytes = 2048;

/// The refusal of a file without the magic word: what it is, by its first bytes.
[[nodiscard]] tl::unexpected<Error>
no_sif(const std::filesystem::path& path, std::string_view start, std::uint64_t size);

} // namespace cybele::images
