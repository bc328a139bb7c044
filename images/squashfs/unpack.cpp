// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/unpack.hpp"

#include "images/squashfs/file.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqfs/compressor.h>
#include <sqfs/data_reader.h>
#include <sqfs/dir_reader.h>
#include <sqfs/error.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/super.h>
#include <sqfs/xattr.h>
#include <sqfs/xattr_reader.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::size_t kUnpackPiece = std::size_t{1} << 20U;
constexpr int kDeepestUnpacked = 512;

struct FreeTree {
    void operator()(sqfs_tree_node_t* tree) const {
        sqfs_dir_tree_destroy(tree);
    }
};
struct FreeUnpacked {
    void operator()(void* memory) const {
        sqfs_free(memory);
    }
};

Error cannot_unpack(std::string_view what, int code) {
    return Error(ErrorCode::kInput,
                 problem("unpack-damaged", fmt::format("cannot unpack the image: {}", what)),
                 fmt::format("it is damaged (squashfs error {})", code),
                 "fetch or build the image again");
}

Error not_made(std::string_view name, int saved_errno) {
    return system_error(fmt::format("cannot unpack '{}'", printable(name)), saved_errno);
}

/// The parts of libsquashfs that read one image.
class UnpackReader {
public:
    UnpackReader(const SquashfsRange& range, bool has_whiteouts)
        : file_(range.fd, range.offset, range.size), has_whiteouts_(has_whiteouts) {}

    [[nodiscard]] Result<void> open();
    [[nodiscard]] const sqfs_tree_node_t& tree() const {
        return *tree_;
    }
    /// The next bytes of a file; 0 at its end, negative when it is damaged.
    [[nodiscard]] sqfs_s32
    read(const sqfs_inode_generic_t& inode, std::uint64_t offset, std::vector<char>& into) {
        return sqfs_data_reader_read(
            data_.get(), &inode, offset, into.data(), static_cast<sqfs_u32>(into.size()));
    }
    void copy_attributes(const sqfs_inode_generic_t& inode, int fd);

private:
    SquashfsFile file_;
    bool has_whiteouts_;
    sqfs_super_t super_{};
    SquashfsHandle<sqfs_compressor_t> compressor_;
    SquashfsHandle<sqfs_id_table_t> ids_;
    SquashfsHandle<sqfs_dir_reader_t> directories_;
    SquashfsHandle<sqfs_data_reader_t> data_;
    SquashfsHandle<sqfs_xattr_reader_t> attributes_;
    std::unique_ptr<sqfs_tree_node_t, FreeTree> tree_;
};

Result<void> UnpackReader::open() {
    if (const int code = sqfs_super_read(&super_, &file_.base); code != 0) {
        return fail(cannot_unpack("its root file system has no valid superblock", code));
    }
    sqfs_compressor_config_t configuration{};
    sqfs_compressor_t* compressor = nullptr;
    int code = sqfs_compressor_config_init(&configuration,
                                           static_cast<SQFS_COMPRESSOR>(super_.compression_id),
                                           super_.block_size,
                                           SQFS_COMP_FLAG_UNCOMPRESS);
    code = code != 0 ? code : sqfs_compressor_create(&configuration, &compressor);
    if (code != 0) {
        return fail(cannot_unpack("its compression is not known", code));
    }
    compressor_.reset(compressor);
    ids_.reset(sqfs_id_table_create(0));
    code = sqfs_id_table_read(ids_.get(), &file_.base, &super_, compressor);
    if (code != 0) {
        return fail(cannot_unpack("its table of owners cannot be read", code));
    }
    directories_.reset(sqfs_dir_reader_create(&super_, compressor, &file_.base, 0));
    data_.reset(sqfs_data_reader_create(&file_.base, super_.block_size, compressor, 0));
    code = sqfs_data_reader_load_fragment_table(data_.get(), &super_);
    if (code != 0) {
        return fail(cannot_unpack("its table of fragments cannot be read", code));
    }
    if ((super_.flags & SQFS_FLAG_NO_XATTRS) == 0 && super_.xattr_id_table_start != ~sqfs_u64{0}) {
        attributes_.reset(sqfs_xattr_reader_create(0));
        code = sqfs_xattr_reader_load(attributes_.get(), &super_, &file_.base, compressor);
        if (code != 0) {
            return fail(cannot_unpack("its extended attributes cannot be read", code));
        }
    }
    sqfs_tree_node_t* tree = nullptr;
    code = sqfs_dir_reader_get_full_hierarchy(
        directories_.get(),
        ids_.get(),
        nullptr,
        has_whiteouts_ ? SQFS_TREE_NO_SOCKETS : SQFS_TREE_NO_DEVICES | SQFS_TREE_NO_SOCKETS,
        &tree);
    if (code != 0) {
        return fail(cannot_unpack("its directories cannot be read", code));
    }
    tree_.reset(tree);
    return {};
}

/// Attributes that this file system or user may not have are left out.
void UnpackReader::copy_attributes(const sqfs_inode_generic_t& inode, int fd) {
    sqfs_u32 index = 0xFFFFFFFF;
    sqfs_xattr_id_t list{};
    if (!attributes_ || sqfs_inode_get_xattr_index(&inode, &index) != 0 || index == 0xFFFFFFFF ||
        sqfs_xattr_reader_get_desc(attributes_.get(), index, &list) != 0 ||
        sqfs_xattr_reader_seek_kv(attributes_.get(), &list) != 0) {
        return;
    }
    for (sqfs_u32 i = 0; i < list.count; ++i) {
        sqfs_xattr_entry_t* key = nullptr;
        if (sqfs_xattr_reader_read_key(attributes_.get(), &key) != 0) {
            return;
        }
        const std::unique_ptr<sqfs_xattr_entry_t, FreeUnpacked> own_key(key);
        sqfs_xattr_value_t* value = nullptr;
        if (sqfs_xattr_reader_read_value(attributes_.get(), key, &value) != 0) {
            return;
        }
        const std::unique_ptr<sqfs_xattr_value_t, FreeUnpacked> own_value(value);
        const std::string name(reinterpret_cast<const char*>(key->key));
        if (name == "security.capability" || name.starts_with("user.") ||
            (has_whiteouts_ && name == "trusted.overlay.opaque")) {
            (void)::fsetxattr(fd, name.c_str(), value->value, value->size, 0);
        }
    }
}

/// Makes the tree's entries, each relative to the directory that was made for its parent.
class Unpacker {
public:
    Unpacker(UnpackReader& reader, int root, Whiteouts whiteouts, std::filesystem::path folder)
        : reader_(reader), root_(root), whiteouts_(whiteouts), folder_(std::move(folder)),
          buffer_(kUnpackPiece) {}

    [[nodiscard]] Result<void> fill(const sqfs_tree_node_t& node, int directory, int depth);

private:
    [[nodiscard]] Result<void> make(const sqfs_tree_node_t& node, int directory, int depth);
    [[nodiscard]] Result<void>
    make_directory(const sqfs_tree_node_t& node, int directory, int depth);
    [[nodiscard]] Result<void> make_file(const sqfs_tree_node_t& node, int directory);
    [[nodiscard]] Result<void> make_link(const sqfs_tree_node_t& node, int directory);
    [[nodiscard]] Result<void> make_whiteout(const sqfs_tree_node_t& node, int directory);
    void set_status(const sqfs_tree_node_t& node, int fd);

    [[nodiscard]] Result<void> clear_place(const sqfs_tree_node_t& node, int directory);

    UnpackReader& reader_;
    int root_;
    Whiteouts whiteouts_;
    std::filesystem::path folder_; ///< of root_
    std::vector<char> buffer_;
    std::string path_;
    std::map<sqfs_u32, std::string> inodes_; ///< of files with several names: the first one
};

std::string_view entry_name(const sqfs_tree_node_t& node) {
    return reinterpret_cast<const char*>(node.name);
}

bool is_entry_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

void Unpacker::set_status(const sqfs_tree_node_t& node, int fd) {
    (void)!::fchown(fd, node.uid, node.gid);
    (void)::fchmod(fd, node.inode->base.mode & ALLPERMS);
    reader_.copy_attributes(*node.inode, fd);
    const timespec time{static_cast<time_t>(node.inode->base.mod_time), 0};
    const std::array<timespec, 2> times{time, time};
    (void)::futimens(fd, times.data());
}

Result<void> Unpacker::fill(const sqfs_tree_node_t& node, int directory, int depth) {
    if (depth > kDeepestUnpacked) {
        return fail(cannot_unpack("its directories are too deep", 0));
    }
    for (const sqfs_tree_node_t* child = node.children; child != nullptr; child = child->next) {
        if (!is_entry_name(entry_name(*child))) {
            return fail(cannot_unpack(
                fmt::format("it holds the name '{}'", printable(entry_name(*child))), 0));
        }
        const std::size_t length = path_.size();
        path_ += path_.empty() ? "" : "/";
        path_ += entry_name(*child);
        CYBELE_CHECK(make(*child, directory, depth));
        path_.resize(length);
    }
    set_status(node, directory);
    return {};
}

Result<void> Unpacker::make(const sqfs_tree_node_t& node, int directory, int depth) {
    const auto type = node.inode->base.mode & S_IFMT;
    const std::string name(entry_name(node));
    if (whiteouts_ == Whiteouts::kApplied) {
        CYBELE_CHECK(clear_place(node, directory));
    }
    if (type == S_IFDIR) {
        return make_directory(node, directory, depth);
    }
    const auto known = inodes_.find(node.inode->base.inode_number);
    if (known != inodes_.end()) {
        if (::linkat(root_, known->second.c_str(), directory, name.c_str(), 0) != 0) {
            return fail(not_made(path_, errno));
        }
        return {};
    }
    if (type == S_IFREG) {
        CYBELE_CHECK(make_file(node, directory));
    } else if (type == S_IFLNK) {
        CYBELE_CHECK(make_link(node, directory));
    } else if (type == S_IFCHR || type == S_IFBLK) {
        return make_whiteout(node, directory);
    } else if (type == S_IFIFO && ::mkfifoat(directory, name.c_str(), 0600) != 0) {
        return fail(not_made(path_, errno));
    }
    inodes_.emplace(node.inode->base.inode_number, path_);
    return {};
}

Result<void> Unpacker::make_directory(const sqfs_tree_node_t& node, int directory, int depth) {
    const std::string name(entry_name(node));
    const bool may_be_there = whiteouts_ == Whiteouts::kApplied;
    if (::mkdirat(directory, name.c_str(), 0700) != 0 && !(may_be_there && errno == EEXIST)) {
        return fail(not_made(path_, errno));
    }
    const UniqueFd fd(
        ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) {
        return fail(not_made(path_, errno));
    }
    return fill(node, fd.get(), depth + 1);
}

Result<void> Unpacker::make_file(const sqfs_tree_node_t& node, int directory) {
    const std::string name(entry_name(node));
    const UniqueFd fd(::openat(
        directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) {
        return fail(not_made(path_, errno));
    }
    for (std::uint64_t offset = 0;;) {
        const sqfs_s32 count = reader_.read(*node.inode, offset, buffer_);
        if (count < 0) {
            return fail(cannot_unpack(fmt::format("'{}' cannot be read", printable(path_)), count));
        }
        if (count == 0) {
            break;
        }
        const auto size = static_cast<std::size_t>(count);
        CYBELE_CHECK(write_all(fd.get(), std::string_view(buffer_.data(), size), path_));
        offset += size;
    }
    set_status(node, fd.get());
    return {};
}

/// Removes what a layer below left where this entry goes; only a directory over a directory merges.
/// All folders above it are real directories: they were made, or opened without following links.
Result<void> Unpacker::clear_place(const sqfs_tree_node_t& node, int directory) {
    struct stat status {};
    const std::string name(entry_name(node));
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return {};
    }
    if (S_ISDIR(status.st_mode) && S_ISDIR(node.inode->base.mode)) {
        return {};
    }
    if (!S_ISDIR(status.st_mode)) {
        return ::unlinkat(directory, name.c_str(), 0) == 0 ? Result<void>()
                                                           : fail(not_made(path_, errno));
    }
    return remove_tree(folder_ / path_);
}

/// A device that is no whiteout is left out.
Result<void> Unpacker::make_whiteout(const sqfs_tree_node_t& node, int directory) {
    const auto& inode = *node.inode;
    const std::uint32_t device =
        inode.base.type == SQFS_INODE_EXT_CDEV ? inode.data.dev_ext.devno : inode.data.dev.devno;
    const std::string name(entry_name(node));
    if (whiteouts_ == Whiteouts::kKept && S_ISCHR(inode.base.mode) && device == 0 &&
        ::mknodat(directory, name.c_str(), S_IFCHR, 0) != 0) {
        return fail(not_made(path_, errno));
    }
    return {};
}

Result<void> Unpacker::make_link(const sqfs_tree_node_t& node, int directory) {
    const std::string name(entry_name(node));
    const std::string target(reinterpret_cast<const char*>(node.inode->extra));
    if (::symlinkat(target.c_str(), directory, name.c_str()) != 0) {
        return fail(not_made(path_, errno));
    }
    (void)!::fchownat(directory, name.c_str(), node.uid, node.gid, AT_SYMLINK_NOFOLLOW);
    const timespec time{static_cast<time_t>(node.inode->base.mod_time), 0};
    const std::array<timespec, 2> times{time, time};
    (void)::utimensat(directory, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    return {};
}

} // namespace

Result<void> unpack_squashfs(const SquashfsRange& range,
                             const std::filesystem::path& directory,
                             Whiteouts whiteouts) {
    UnpackReader reader(range, whiteouts != Whiteouts::kDropped);
    CYBELE_CHECK(reader.open());
    const UniqueFd root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) {
        return fail(not_made(directory.native(), errno));
    }
    Unpacker unpacker(reader, root.get(), whiteouts, directory);
    return unpacker.fill(reader.tree(), root.get(), 0);
}

} // namespace cybele::images
