// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

/// Writing NAME.part, and what is said where that fails.
namespace cybele::submission {

/// What files are copied for: it decides which remedy is told.
enum class CopyFor { kSubmission, kCollection };

/// Why a file could not be written, with the remedy that fits the reason; `where` names it, `cause`
/// is the error of a system call.
[[nodiscard]] Error write_error(CopyFor task, const std::string& where, const Error& cause);
/// The bytes that arrived are not those that were to; the copy is removed.
[[nodiscard]] Error
differs_error(CopyFor task, const std::string& where, const std::filesystem::path& source);

inline constexpr unsigned kDataMode = 0644;
inline constexpr unsigned kProgramMode = 0755;
/// The mode of a copy: nobody may read it, or start it, who may not do so with the original.
[[nodiscard]] constexpr unsigned copied_mode(unsigned original) {
    constexpr unsigned kOwnersMode = 0600;
    return (original & kProgramMode) | kOwnersMode;
}

/// A file that is written as NAME.part and then renamed, in a folder that others may share: no link
/// of another user is followed, neither to the folder nor under the file's name.
class PartFile {
public:
    /// Makes the folder, and opens the part, cut to the offset. A part of another user, or with a
    /// second name, is not written to: it is made again.
    [[nodiscard]] static Result<PartFile>
    open(CopyFor task, const std::filesystem::path& file, std::uint64_t offset, unsigned mode);
    [[nodiscard]] Result<void> write(std::string_view bytes) const;
    [[nodiscard]] Result<void> sync() const;
    /// Compares the digest (SHA-256 in hexadecimal) and renames; wrong bytes are removed.
    [[nodiscard]] Result<void> finish(const std::string& digest,
                                      const std::filesystem::path& source) const;

private:
    PartFile(CopyFor task, std::filesystem::path file, UniqueFd folder, UniqueFd fd)
        : task_(task), file_(std::move(file)), folder_(std::move(folder)), fd_(std::move(fd)) {}

    CopyFor task_;
    std::filesystem::path file_;
    UniqueFd folder_;
    UniqueFd fd_;
};

/// A small file, written in the same way.
[[nodiscard]] Result<void>
write_result(const std::filesystem::path& file, std::string_view bytes, unsigned mode = kDataMode);

/// One file of this machine, to be copied on it.
struct LocalCopy {
    std::filesystem::path from;
    std::filesystem::path to;
    std::uint64_t offset = 0; ///< so much of it lies in TO.part already, and is right
    std::string digest;       ///< SHA-256 in hexadecimal
    unsigned mode = kDataMode;
    std::filesystem::path source =
        {}; ///< what `from` is called in errors, where it is another name
};

/// Writes TO.part from the offset on, syncs it, compares the digest, renames. A part that could not
/// be finished stays, one with wrong bytes does not. kEnvironment, as above.
[[nodiscard]] Result<void> copy_here(CopyFor task, const LocalCopy& copy);

} // namespace cybele::submission
