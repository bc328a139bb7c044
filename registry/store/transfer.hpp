// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

/// Bytes of images on their way into the store and out of it.
namespace cybele::registry {

using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// How the bytes came to where they are.
enum class CopyMethod {
    kReflink, ///< shared with the source until one of them changes (FICLONE)
    kLink,    ///< one file with two names: a change of one is a change of both
    kCopy,
};
[[nodiscard]] const char* copy_method_name(CopyMethod way);

/// Shares the bytes where the file system can, else copies them.
[[nodiscard]] Result<CopyMethod> clone_or_copy(int from,
                                               const std::filesystem::path& source,
                                               int to,
                                               const std::filesystem::path& target,
                                               const Progress& progress);

/// The same, for bytes that come in: gives the SHA-256 of what was written, in hexadecimal.
[[nodiscard]] Result<std::string> take_in(int from,
                                          const std::filesystem::path& source,
                                          int to,
                                          const std::filesystem::path& target,
                                          const Progress& progress);

struct Output {
    std::filesystem::path path;
    bool is_link = false;   ///< a hard link instead of bytes of its own
    bool is_forced = false; ///< takes the place of a file that is there
};

/// kInput where the output's name is taken and not forced, or by what no file may replace.
[[nodiscard]] Result<void> check_output(const Output& output);

/// Gives a complete file of this user its place. Without `is_forced` it never takes that of another
/// file, also not of one that appears in this moment.
[[nodiscard]] Result<void> move_out(const std::filesystem::path& file, const Output& output);

/// Puts a file's bytes under another name, whole or not at all.
[[nodiscard]] Result<CopyMethod>
put_out(const std::filesystem::path& source, const Output& output, const Progress& progress);

} // namespace cybele::registry
