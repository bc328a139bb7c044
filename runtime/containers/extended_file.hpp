// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/image_file.hpp"
#include "runtime/containers/stage.hpp"

#include <filesystem>
#include <optional>

/// ext3 file systems in files: overlays and binds. The kernel's driver trusts what it reads, so
/// they are served by the host's `fuse2fs`, which runs as the user.
namespace cybele::runtime {

/// Whether the bytes from `offset` on are a file system of the ext family.
[[nodiscard]] bool is_extended(int fd, std::uint64_t offset);

/// Opens such a file, and holds a lock on it as long as it is mounted: one writer or several
/// readers. kInput: it is in use, or may not be written.
[[nodiscard]] Result<UniqueFd> open_extended(const std::filesystem::path& path, bool is_writable);

/// Mounts the file system at `place` over a new directory `name` of the stage; a descriptor
/// (O_PATH) of its root. kEnvironment where the host has no fuse2fs.
struct ExtendedPlace {
    int fd = -1; ///< by open_extended()
    std::uint64_t offset = 0;
    bool is_writable = false;
};
[[nodiscard]] Result<UniqueFd>
mount_extended(const Stage& stage, const ExtendedPlace& place, const char* name);

/// An overlay of folders of the stage ("lowerdir=b:a", with "upperdir=" and "workdir=" where it is
/// written) over the directory `name`, by the host's fuse-overlayfs: the kernel's overlay writes to
/// no file system that FUSE serves, and does not know how that program marks what was removed.
[[nodiscard]] Result<UniqueFd>
mount_overlay_by_program(const Stage& stage, const std::string& folders, const char* name);

/// Whether the host has it.
[[nodiscard]] bool has_overlay_program();

} // namespace cybele::runtime
