// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the sides of a transfer share; used by this room alone.
namespace cybele::submission {

/// The file, opened at an offset.
[[nodiscard]] Result<UniqueFd> open_at(const std::filesystem::path& file, std::uint64_t offset);
/// The next bytes, 64 KiB at most; empty at the end, or where they cannot be read.
[[nodiscard]] std::string read_some(int fd, std::uint64_t most);

/// The whole lines of an answer that begin with the nonce, without it.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view answer,
                                                     const std::string& nonce);
/// The words of a line, and what stands behind the first of them.
[[nodiscard]] std::vector<std::string_view> words_of_line(std::string_view line);
[[nodiscard]] std::string_view words_behind(std::string_view line);
/// A decimal number as a whole.
[[nodiscard]] std::optional<std::uint64_t> count_of(std::string_view text);

/// FILE.part
[[nodiscard]] std::filesystem::path part_of(const std::filesystem::path& file);
/// Whether the file's first bytes have this digest (SHA-256 in hexadecimal). None are no beginning.
[[nodiscard]] bool
begins_with(const std::filesystem::path& file, std::uint64_t bytes, const std::string& digest);

/// What lies on this machine under a name: the file, or what an interrupted transfer left of it.
struct PartialFile {
    std::string digest = "-"; ///< of the file; `-`: there is none
    std::uint64_t part = 0;   ///< bytes of NAME.part
    std::string part_digest = "-";
};
[[nodiscard]] PartialFile partial_file(const std::filesystem::path& file);

/// Why a system call failed, in words.
[[nodiscard]] std::string reason_of(int saved_errno);

} // namespace cybele::submission
