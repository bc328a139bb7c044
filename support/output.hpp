// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <optional>

/// Where a file goes that a user named, and what may not be replaced by it.
namespace cybele {

/// The file that takes the place of what has this name: the name itself, or where a symbolic link
/// of this user's, or of root's, leads to in the end; it need not be there. A stranger's link is
/// not followed: the file takes the link's own place. kInput where a directory, a device, a FIFO
/// or a socket lies there, for a file would take its place for everybody. PendingFile asks this
/// itself, when it is made and again before it is named; who works for minutes asks before.
[[nodiscard]] Result<std::filesystem::path> output_target(const std::filesystem::path& path);

/// A file as PendingFile makes it or, where the name is a character device or a FIFO, that itself:
/// for what is written once, from its beginning to its end.
class OutputFile {
public:
    /// Waits for a FIFO's reader. kInput as output_target() says for all other kinds.
    [[nodiscard]] static Result<OutputFile> create(const std::filesystem::path& path,
                                                   unsigned mode = 0644);
    [[nodiscard]] int fd() const {
        return pending_ ? pending_->fd() : stream_.get();
    }
    /// Gives the file its name; what went into a stream is there already.
    [[nodiscard]] Result<void> commit();

private:
    OutputFile() = default;
    std::optional<PendingFile> pending_;
    UniqueFd stream_;
};

} // namespace cybele
