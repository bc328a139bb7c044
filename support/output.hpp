// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <optional>

/// Where a file goes that a user named, and what may not be replaced by it.
namespace cybele {

/// The path that an output of this name gets: the name itself, or the end of a symbolic link that
/// this user or root owns; it need not exist. Links of others are not followed but replaced. kInput
/// where a directory, a device, a FIFO or a socket has the path: a file would replace it for all
/// users. PendingFile calls this when it is made and again before it is named; a caller that works
/// for minutes calls it before.
[[nodiscard]] Result<std::filesystem::path> resolve_output_path(const std::filesystem::path& path);

/// A file as PendingFile makes it or, where the name is a character device or a FIFO, that itself:
/// for what is written once, from its beginning to its end.
class OutputFile {
public:
    /// Waits for a FIFO's reader. kInput as resolve_output_path() says for all other kinds.
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
