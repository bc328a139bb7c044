// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <string>

#include <sys/types.h>

/// Thin covers of the kernel's mount and path calls. Calls newer than Linux 4.18 are tried first;
/// where the kernel (or a filter) does not know them, the older way follows:
/// open_tree/move_mount → mount(2) on /proc/self/fd;
/// mount_setattr → a remount of each mount. The older ways need /proc.
namespace cybele::namespaces {

/// True for the errors by which a kernel or a seccomp filter says "no such call here".
[[nodiscard]] bool is_unknown_call(int saved_errno);

/// "/proc/self/fd/N".
[[nodiscard]] std::string descriptor_path(int fd);

/// The id of the mount that a descriptor lies on; 0 where the kernel does not tell.
[[nodiscard]] std::uint64_t mount_id(int fd);

/// True if both descriptors mean the same file.
[[nodiscard]] bool is_same_file(int one, int other);

struct BindPoint {
    int source = -1; ///< O_PATH descriptor
    int target = -1; ///< O_PATH descriptor, resolved inside the root
    bool is_recursive = true;
    unsigned long flags = 0; ///< MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC to be added
};

/// Binds source over target, both by descriptor; gives a descriptor of the new mount. Flags that
/// the source's mount has stay (an ordinary user may not clear them).
[[nodiscard]] Result<UniqueFd> bind_mount(const BindPoint& point, const std::string& what);

/// Adds flags to the mount that `fd` is the root of.
[[nodiscard]] Result<void> add_mount_flags(int fd, unsigned long flags, bool is_recursive);

/// Mounts a new file system over the directory `target`. The working directory moves there.
[[nodiscard]] Result<void>
mount_over(int target, const char* type, unsigned long flags, const std::string& options);

/// Makes the mount `root` the root of this process and drops everything else. Where the root is the
/// initial RAM disk or a plain chroot, which pivot_root refuses, the mount is moved over "/".
[[nodiscard]] Result<void> pivot_into(int root);

} // namespace cybele::namespaces
