// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/tree.hpp"

#include "support/directory.hpp"
#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr int kDeepestPacked = 500; // each level holds a descriptor

tl::unexpected<Error>
tree_read_failed(std::string_view what, const std::string& path, int saved_errno) {
    return fail(system_error(fmt::format("cannot {} {}", what, printable(path)), saved_errno));
}

// As Linux encodes a device number on disk.
std::uint32_t encoded_device(const struct statx& status) {
    return (status.stx_rdev_minor & 0xFFU) | (status.stx_rdev_major << 8U) |
           ((status.stx_rdev_minor & ~0xFFU) << 12U);
}

std::uint32_t seconds_of(std::int64_t time) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(time, 0, std::numeric_limits<std::uint32_t>::max()));
}

/// Of an overlay's own attributes one is a fact of the tree; the others name files of one machine.
bool is_kept(std::string_view name, bool keep_opaque) {
    if (name == "trusted.overlay.opaque" || name.starts_with("user.overlay.")) {
        return keep_opaque && name.ends_with(".opaque");
    }
    return name == "security.capability" || name.starts_with("user.");
}

Result<Xattrs> xattrs_of(int fd, const std::string& path, bool keep_opaque) {
    Xattrs xattrs;
    std::array<char, XATTR_LIST_MAX> list{};
    const auto size = ::flistxattr(fd, list.data(), list.size());
    if (size < 0 && errno != ENOTSUP) {
        return tree_read_failed("list the attributes of", path, errno);
    }
    for (ssize_t at = 0; at < size;) {
        const std::string name = list.data() + at;
        at += static_cast<ssize_t>(name.size()) + 1;
        if (!is_kept(name, keep_opaque)) {
            continue;
        }
        std::string value(XATTR_SIZE_MAX, '\0');
        const auto bytes = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
        if (bytes < 0) {
            return tree_read_failed("read the attributes of", path, errno);
        }
        value.resize(static_cast<std::size_t>(bytes));
        xattrs.emplace(name, std::move(value));
    }
    return xattrs;
}

class TreeReader {
public:
    TreeReader(Tree& tree, const TreeVisitor& visitor) : tree_(tree), visitor_(visitor) {}

    Result<void> read_root(const std::filesystem::path& root);

private:
    struct Status {
        struct statx value {};
        bool is_mount_point = false;
    };
    Result<Status> status_of(int directory, const char* name, const std::string& path) const;
    Result<void> add_node(int directory, std::string_view name, const std::string& path);
    Result<void> read_content(int directory, std::uint32_t index, const std::string& path);
    Result<bool> take_known(std::uint32_t index, std::uint64_t size, const std::string& path);
    Result<void> read_directory(int fd, std::uint32_t index, const std::string& path, int depth);
    Result<void> keep_xattrs(int fd, std::uint32_t index, const std::string& path);
    std::uint32_t add_text(std::string_view text);
    [[nodiscard]] std::string below(const std::string& path, std::uint32_t index) const {
        return fmt::format("{}/{}", path, tree_.text(tree_.nodes[index].name));
    }

    Tree& tree_;
    const TreeVisitor& visitor_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> first_names_; // device, inode
    std::vector<bool> is_mount_point_;
    std::vector<std::uint64_t> sizes_; // of the directory that is read
    std::size_t root_length_ = 0;      // of the root's path with a slash
    std::uint64_t device_ = 0;
};

std::uint64_t device_of(const struct statx& status) {
    return makedev(status.stx_dev_major, status.stx_dev_minor);
}

std::uint32_t TreeReader::add_text(std::string_view text) {
    const auto place = static_cast<std::uint32_t>(tree_.texts.size());
    tree_.texts += text;
    tree_.texts += '\0';
    return place;
}

Result<TreeReader::Status>
TreeReader::status_of(int directory, const char* name, const std::string& path) const {
    Status status;
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name == '\0' ? AT_EMPTY_PATH : 0);
    if (::statx(directory, name, flags, STATX_BASIC_STATS, &status.value) != 0) {
        return tree_read_failed("examine", path, errno);
    }
    // Files of an overlay may have other device numbers than its directories; mount points tell
    // themselves only on Linux 5.8 and later.
    const bool is_elsewhere = S_ISDIR(status.value.stx_mode) && device_of(status.value) != device_;
    status.is_mount_point =
        is_elsewhere || (status.value.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return status;
}

Result<void> TreeReader::add_node(int directory, std::string_view name, const std::string& path) {
    const auto index = static_cast<std::uint32_t>(tree_.nodes.size());
    TreeNode node;
    node.name = add_text(name);
    CYBELE_TRY(const auto status, status_of(directory, tree_.text(node.name), path));
    const auto& value = status.value;
    node.mode = value.stx_mode;
    const bool is_device = S_ISCHR(node.mode) || S_ISBLK(node.mode);
    if (is_device) {
        node.device = encoded_device(value);
    }
    if (is_device && node.device != 0 && visitor_.skip_devices) {
        return {};
    }
    node.uid = value.stx_uid;
    node.gid = value.stx_gid;
    node.mtime = seconds_of(value.stx_mtime.tv_sec);
    node.same_as = index;
    if (S_ISLNK(node.mode)) {
        const auto target = link_target(directory, tree_.text(node.name));
        if (!target) {
            return tree_read_failed("read the link", path, errno);
        }
        node.target = add_text(*target);
    }
    if (value.stx_nlink > 1 && !S_ISDIR(node.mode)) {
        const auto [at, is_first] =
            first_names_.emplace(std::pair(device_of(value), value.stx_ino), index);
        if (!is_first) {
            node.same_as = at->second;
            ++tree_.nodes[at->second].links;
        }
    }
    tree_.nodes.push_back(node);
    is_mount_point_.push_back(status.is_mount_point);
    sizes_.push_back(value.stx_size);
    return {};
}

Result<void> TreeReader::keep_xattrs(int fd, std::uint32_t index, const std::string& path) {
    CYBELE_TRY(const auto xattrs, xattrs_of(fd, path, visitor_.keep_opaque));
    if (!xattrs.empty()) {
        CYBELE_TRY(tree_.nodes[index].xattrs, visitor_.on_xattrs(xattrs));
    }
    return {};
}

Result<bool>
TreeReader::take_known(std::uint32_t index, std::uint64_t size, const std::string& path) {
    if (!visitor_.on_known_file || is_mount_point_[index]) {
        return false;
    }
    auto& node = tree_.nodes[index];
    CYBELE_TRY(
        const auto content,
        visitor_.on_known_file(std::string_view(path).substr(root_length_), size, node.mtime));
    node.content = content.value_or(kNoIndex);
    return content.has_value();
}

Result<void> TreeReader::read_content(int directory, std::uint32_t index, const std::string& path) {
    const UniqueFd fd(::openat(directory,
                               tree_.text(tree_.nodes[index].name),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
        return tree_read_failed("read", path, errno);
    }
    const auto size = is_mount_point_[index] ? 0 : static_cast<std::uint64_t>(status.st_size);
    CYBELE_CHECK(keep_xattrs(fd.get(), index, path));
    CYBELE_TRY(tree_.nodes[index].content, visitor_.on_file(fd.get(), size, path));
    return {};
}

Result<void>
TreeReader::read_directory(int fd, std::uint32_t index, const std::string& path, int depth) {
    if (depth > kDeepestPacked) {
        return fail(ErrorCode::kInput,
                    problem("pack-too-deep", fmt::format("{} cannot be packed", printable(path))),
                    fmt::format("directories are nested deeper than {}", kDeepestPacked));
    }
    CYBELE_CHECK(keep_xattrs(fd, index, path));
    sizes_.clear();
    const auto first = static_cast<std::uint32_t>(tree_.nodes.size());
    if (!is_mount_point_[index]) {
        CYBELE_TRY(const auto names, names_in(fd, path));
        for (const auto& name : names) {
            CYBELE_CHECK(add_node(fd, name, fmt::format("{}/{}", path, name)));
        }
    }
    const auto end = static_cast<std::uint32_t>(tree_.nodes.size());
    tree_.nodes[index].first_child = first;
    tree_.nodes[index].child_count = end - first;
    for (auto child = first; child < end; ++child) {
        if (S_ISREG(tree_.nodes[child].mode) && tree_.nodes[child].same_as == child) {
            const auto file = below(path, child);
            CYBELE_TRY(const bool is_known, take_known(child, sizes_[child - first], file));
            CYBELE_CHECK(is_known ? Result<void>() : read_content(fd, child, file));
        }
    }
    for (auto child = first; child < end; ++child) {
        if (!S_ISDIR(tree_.nodes[child].mode)) {
            continue;
        }
        const UniqueFd inner(::openat(fd,
                                      tree_.text(tree_.nodes[child].name),
                                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!inner.valid()) {
            return tree_read_failed("open the directory", below(path, child), errno);
        }
        CYBELE_CHECK(read_directory(inner.get(), child, below(path, child), depth + 1));
    }
    return {};
}

Result<void> TreeReader::read_root(const std::filesystem::path& root) {
    const UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) {
        const int saved = errno;
        if (saved == ENOENT || saved == ENOTDIR) {
            return fail(ErrorCode::kInput,
                        problem("not-a-directory",
                                fmt::format("{} is not a directory", printable(root.string()))),
                        "a root file system is expected there");
        }
        return tree_read_failed("open the directory", root.string(), saved);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return tree_read_failed("examine", root.string(), errno);
    }
    device_ = status.st_dev;
    root_length_ = root.string().size() + 1;
    CYBELE_CHECK(add_node(fd.get(), "", root.string()));
    is_mount_point_[0] = false;
    return read_directory(fd.get(), 0, root.string(), 0);
}

} // namespace

Result<Tree> read_tree(const std::filesystem::path& root, const TreeVisitor& visitor) {
    Tree tree;
    CYBELE_CHECK(TreeReader(tree, visitor).read_root(root));
    return tree;
}

} // namespace cybele::images
