// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>

/// The ways to mount a squashfs that lies in a file. What is mounted goes with the mount namespace
/// of the caller, and nothing stays behind it.
namespace cybele::namespaces {

struct SquashfsPart {
    int fd = -1; ///< open for reading
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::filesystem::path path; ///< what losetup shows
};

struct SquashfsPoint {
    int folder = -1;       ///< O_PATH; the working directory moves there
    const char* name = ""; ///< an empty directory in it
};

/// Mounts it read-only, nosuid, nodev through a loop device that goes with the mount (root only).
[[nodiscard]] Result<void> mount_squashfs_by_loop(const SquashfsPart& part,
                                                  const SquashfsPoint& point);

/// The process that answers for a squashfs which is mounted by FUSE (see serve_squashfs()). It is
/// no child of this process and holds none of its descriptors. Its mounts are not those of the
/// container: when the last process there is gone, so is the mount, and the server ends. It ends,
/// too, when this is destroyed before mount().
class SquashfsServer {
public:
    /// What it sees of the mount namespace in which mount() will be called.
    enum class Mounts {
        kOther, ///< nothing: that namespace is still to be made, with one id
        kShared ///< all: it takes a copy first, for which mount() waits
    };
    /// It prepares itself while the caller goes on. Needs a /dev/fuse that this user may open.
    [[nodiscard]] static Result<SquashfsServer> start(const SquashfsPart& part, Mounts mounts);
    /// Once. Read-only, nosuid, nodev, with the modes of files held by the kernel; returns when the
    /// server has answered.
    [[nodiscard]] Result<void> mount(const SquashfsPoint& point);

private:
    [[nodiscard]] Result<void> wait_for_answer(const SquashfsPoint& point, UniqueFd device);

    UniqueFd gate_; ///< a socket between this process and the server
    Mounts mounts_ = Mounts::kShared;
};

/// Starts such a server in this namespace and mounts it.
[[nodiscard]] Result<void> mount_squashfs_by_fuse(const SquashfsPart& part,
                                                  const SquashfsPoint& point);

} // namespace cybele::namespaces
