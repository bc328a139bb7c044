// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

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
    int folder = -1;             ///< O_PATH; the working directory moves there
    const char* name = "";       ///< an empty directory in it
    bool is_folder_ours = false; ///< the folder is a mount of ours, which the server need not keep
};

/// Mounts it read-only, nosuid, nodev through a loop device that goes with the mount (root only).
[[nodiscard]] Result<void> mount_squashfs_by_loop(const SquashfsPart& part,
                                                  const SquashfsPoint& point);

/// Mounts it by FUSE in this namespace and starts `squashfuse_ll` (its path) on the descriptor, in
/// a mount namespace without that mount: when the last process of this namespace is gone, so is the
/// mount, and the server ends. It is no child of this process and holds none of its descriptors.
[[nodiscard]] Result<void> mount_squashfs_by_fuse(const SquashfsPart& part,
                                                  const SquashfsPoint& point,
                                                  const std::filesystem::path& server);

/// The server for mount_squashfs_by_fuse(): squashfuse_ll in `search_path` (as PATH) or the
/// system's usual folders.
[[nodiscard]] std::optional<std::filesystem::path>
find_squashfs_server(const std::string& search_path);

} // namespace cybele::namespaces
