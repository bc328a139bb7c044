// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace cybele {

/// What tells a file's content at one moment from every other content without reading it, as git's
/// index does: whoever writes to a file, or puts another in its place, changes one of these. Users
/// set `modified` as they like, but never `changed`, which the kernel keeps (inode(7)).
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t modified = 0; ///< nanoseconds since 1970
    std::int64_t changed = 0;  ///< nanoseconds since 1970

    bool operator==(const FileStamp&) const = default;

    /// Whether both times lie two seconds or more before `now` (nanoseconds since 1970). A younger
    /// file could be written once more without a new time: file systems count in ticks of the
    /// kernel, some in whole seconds.
    [[nodiscard]] bool is_settled(std::int64_t now) const;
    /// False where its file system counts in whole seconds (one file in 10^9 elsewhere).
    [[nodiscard]] bool has_fine_times() const;
};

/// Of an open regular file. Nothing where the file system is not one whose `changed` is known to
/// be kept: images that are mounted (squashfs, iso9660) and FUSE show what was put into them, FAT
/// has none.
[[nodiscard]] std::optional<FileStamp> stamp_of(int fd);

/// The system's clock, in nanoseconds since 1970.
[[nodiscard]] std::int64_t nanoseconds_now();

/// Returns when every write from now on gives a file other times than it has: after a tick of the
/// kernel, at most 10 ms.
void wait_for_next_tick();

} // namespace cybele
