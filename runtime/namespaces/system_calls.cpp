// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/system_calls.hpp"

#include "support/root_walk.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::namespaces {

bool is_unknown_call(int saved_errno) {
    return saved_errno == ENOSYS || saved_errno == EPERM || saved_errno == EOPNOTSUPP;
}

std::string descriptor_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

std::uint64_t mount_id(int fd) {
    struct statx status = {};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0 &&
        (status.stx_mask & STATX_MNT_ID) != 0) {
        return status.stx_mnt_id;
    }
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
    std::string key;
    while (info >> key) {
        if (std::uint64_t id = 0; key == "mnt_id:" && info >> id) {
            return id;
        }
    }
    return 0;
}

bool is_same_file(int one, int other) {
    struct stat first = {};
    struct stat second = {};
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

namespace {

struct FlagPair {
    unsigned long mount;       // of mount(2)
    std::uint64_t attribute;   // of mount_setattr(2)
    unsigned long file_system; // of statvfs(3)
};
constexpr FlagPair kFlags[] = {
    {MS_RDONLY, MOUNT_ATTR_RDONLY, ST_RDONLY},
    {MS_NOSUID, MOUNT_ATTR_NOSUID, ST_NOSUID},
    {MS_NODEV, MOUNT_ATTR_NODEV, ST_NODEV},
    {MS_NOEXEC, MOUNT_ATTR_NOEXEC, ST_NOEXEC},
};
// Time stamp flags are only kept, never added.
constexpr FlagPair kKeptFlags[] = {
    {MS_NOATIME, 0, ST_NOATIME},
    {MS_NODIRATIME, 0, ST_NODIRATIME},
    {MS_RELATIME, 0, ST_RELATIME},
};

std::uint64_t attributes_of(unsigned long flags) {
    std::uint64_t attributes = 0;
    for (const FlagPair& pair : kFlags) {
        attributes |= (flags & pair.mount) != 0 ? pair.attribute : 0;
    }
    return attributes;
}

/// The flags of the mount now: in a user namespace a remount must name those that are locked.
unsigned long current_flags(const std::string& path) {
    struct statvfs status = {};
    unsigned long flags = 0;
    if (statvfs(path.c_str(), &status) != 0) {
        return 0;
    }
    for (const FlagPair& pair : kFlags) {
        flags |= (status.f_flag & pair.file_system) != 0 ? pair.mount : 0;
    }
    for (const FlagPair& pair : kKeptFlags) {
        flags |= (status.f_flag & pair.file_system) != 0 ? pair.mount : 0;
    }
    return flags;
}

/// mountinfo writes blanks and backslashes as three octal digits.
std::string unescape(const std::string& field) {
    std::string text;
    for (std::size_t i = 0; i < field.size(); ++i) {
        if (field[i] == '\\' && i + 3 < field.size()) {
            text += static_cast<char>(std::strtol(field.substr(i + 1, 3).c_str(), nullptr, 8));
            i += 3;
        } else {
            text += field[i];
        }
    }
    return text;
}

std::vector<std::string> mounts_below(const std::string& path) {
    std::vector<std::string> found;
    std::ifstream table("/proc/self/mountinfo");
    for (std::string id, parent, device, root, point, rest;
         table >> id >> parent >> device >> root >> point && std::getline(table, rest);) {
        point = unescape(point);
        if (point.size() > path.size() && point.starts_with(path) && point[path.size()] == '/') {
            found.push_back(point);
        }
    }
    return found;
}

std::string path_of(int fd) {
    return link_target(AT_FDCWD, descriptor_path(fd).c_str()).value_or(std::string());
}

Result<void> remount(const std::string& path, unsigned long flags) {
    const unsigned long all = MS_REMOUNT | MS_BIND | current_flags(path) | flags;
    if (mount(nullptr, path.c_str(), nullptr, all, nullptr) != 0) {
        return fail(system_error("cannot change the flags of the mount '" + path + "'", errno));
    }
    return {};
}

/// The bind of kernels before 5.2: the new mount is reached again by its name, which is then
/// compared with the source, so that a name changed meanwhile is noticed.
Result<UniqueFd> bind_by_name(const BindPoint& point, const std::string& what) {
    const unsigned long flags =
        MS_BIND | (point.is_recursive ? static_cast<unsigned long>(MS_REC) : 0UL);
    if (mount(descriptor_path(point.source).c_str(),
              descriptor_path(point.target).c_str(),
              nullptr,
              flags,
              nullptr) != 0) {
        return fail(system_error("cannot bind " + what, errno));
    }
    UniqueFd bound(open(path_of(point.target).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!bound.valid() || !is_same_file(bound.get(), point.source)) {
        return fail(ErrorCode::kEnvironment,
                    problem("bind-point-changed", "cannot bind " + what),
                    "the mount point changed while it was used");
    }
    return bound;
}

} // namespace

Result<void> add_mount_flags(int fd, unsigned long flags, bool is_recursive) {
    if (flags == 0) {
        return {};
    }
    mount_attr attributes = {};
    attributes.attr_set = attributes_of(flags);
    const unsigned int at = AT_EMPTY_PATH | (is_recursive ? unsigned{AT_RECURSIVE} : 0U);
    if (mount_setattr(fd, "", at, &attributes, sizeof attributes) == 0) {
        return {};
    }
    if (!is_unknown_call(errno)) {
        return fail(system_error("cannot change the flags of a mount", errno));
    }
    CYBELE_CHECK(remount(descriptor_path(fd), flags));
    if (is_recursive) {
        for (const std::string& below : mounts_below(path_of(fd))) {
            CYBELE_CHECK(remount(below, flags));
        }
    }
    return {};
}

Result<UniqueFd> bind_mount(const BindPoint& point, const std::string& what) {
    const unsigned int clone = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
    UniqueFd tree(
        open_tree(point.source, "", clone | (point.is_recursive ? unsigned{AT_RECURSIVE} : 0U)));
    bool is_recursive = point.is_recursive;
    if (!tree.valid() && errno == EINVAL && !is_recursive) {
        // In a user namespace what lies below may not be uncovered: take it along.
        is_recursive = true;
        tree.reset(open_tree(point.source, "", clone | AT_RECURSIVE));
    }
    if (!tree.valid() && !is_unknown_call(errno)) {
        return fail(system_error("cannot bind " + what, errno));
    }
    if (tree.valid() &&
        move_mount(
            tree.get(), "", point.target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) !=
            0) {
        if (!is_unknown_call(errno)) {
            return fail(system_error("cannot bind " + what, errno));
        }
        tree.reset();
    }
    if (!tree.valid()) {
        CYBELE_TRY(tree, bind_by_name(point, what));
    }
    CYBELE_CHECK(add_mount_flags(tree.get(), point.flags, is_recursive));
    return tree;
}

Result<void>
mount_over(int target, const char* type, unsigned long flags, const std::string& options) {
    if (fchdir(target) != 0 || mount(type, ".", type, flags, options.c_str()) != 0) {
        return fail(system_error(std::string("cannot mount a new ") + type, errno));
    }
    return {};
}

Result<void> pivot_into(int root) {
    if (fchdir(root) != 0) {
        return fail(system_error("cannot enter the new root", errno));
    }
    if (syscall(SYS_pivot_root, ".", ".") == 0) {
        // The old root now lies over the new one; "." means the upper of the two here.
        if (umount2(".", MNT_DETACH) != 0) {
            return fail(system_error("cannot leave the old root", errno));
        }
    } else if (errno != EINVAL || mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 ||
               chroot(".") != 0) {
        return fail(system_error("cannot change the root directory", errno));
    }
    if (chdir("/") != 0) {
        return fail(system_error("cannot enter the new root", errno));
    }
    return {};
}

} // namespace cybele::namespaces
