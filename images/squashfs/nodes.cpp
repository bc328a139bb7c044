// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/nodes.hpp"

#include "images/squashfs/file.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqfs/compressor.h>
#include <sqfs/data_reader.h>
#include <sqfs/dir.h>
#include <sqfs/dir_reader.h>
#include <sqfs/error.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/super.h>
#include <sqfs/xattr.h>
#include <sqfs/xattr_reader.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace cybele::images {
namespace {

constexpr std::size_t kNodePiece = std::size_t{1} << 18U;
constexpr std::size_t kMostDirectoryEntries = 1'000'000; // of one directory
constexpr sqfs_u32 kNoXattrs = 0xFFFFFFFF;

Result<void> check(int code, std::string_view what) {
    if (code >= 0) {
        return {};
    }
    if (code == SQFS_ERROR_ALLOC) {
        return fail(ErrorCode::kEnvironment,
                    problem("image-read-memory", fmt::format("cannot read {} of the image", what)),
                    "there is not enough memory",
                    "end other programs, or use a machine with more memory");
    }
    return fail(
        ErrorCode::kInput,
        problem("image-read-damaged", fmt::format("cannot read {} of the image", what)),
        fmt::format("its file system is not a complete squashfs (libsquashfs error {})", code),
        "fetch or build the image again");
}

struct FreeMemory {
    void operator()(void* memory) const {
        sqfs_free(memory);
    }
};

/// The parts of libsquashfs that read one image, shared by its nodes.
class Volume {
public:
    Volume(UniqueFd fd, std::uint64_t offset, std::uint64_t size)
        : fd_(std::move(fd)), file_(fd_.get(), offset, size) {}
    [[nodiscard]] Result<void> start();

    [[nodiscard]] Result<FileStatus> status(const sqfs_inode_generic_t& inode) const;
    [[nodiscard]] Result<std::map<std::string, std::string>>
    attributes(const sqfs_inode_generic_t& inode) const;
    [[nodiscard]] sqfs_dir_reader_t* directories() const {
        return directories_.get();
    }
    [[nodiscard]] sqfs_data_reader_t* data() const {
        return data_.get();
    }

private:
    [[nodiscard]] Result<void> start_compressor();
    [[nodiscard]] Result<void> start_attributes();

    UniqueFd fd_;
    SquashfsFile file_;
    sqfs_super_t super_{};
    SquashfsHandle<sqfs_compressor_t> compressor_;
    SquashfsHandle<sqfs_id_table_t> ids_;
    SquashfsHandle<sqfs_dir_reader_t> directories_;
    SquashfsHandle<sqfs_data_reader_t> data_;
    SquashfsHandle<sqfs_xattr_reader_t> attributes_;
};

Result<void> Volume::start_compressor() {
    sqfs_compressor_config_t config{};
    sqfs_compressor_t* made = nullptr;
    int code = sqfs_compressor_config_init(&config,
                                           static_cast<SQFS_COMPRESSOR>(super_.compression_id),
                                           super_.block_size,
                                           SQFS_COMP_FLAG_UNCOMPRESS);
    code = code == 0 ? sqfs_compressor_create(&config, &made) : code;
    if (code == SQFS_ERROR_UNSUPPORTED) {
        const auto* const name =
            sqfs_compressor_name_from_id(static_cast<SQFS_COMPRESSOR>(super_.compression_id));
        return fail(
            ErrorCode::kInput,
            problem("squashfs-compression-unsupported", "the files of the image cannot be read"),
            fmt::format("its squashfs is compressed with {}, which this program lacks",
                        name == nullptr ? "an unknown method" : name),
            "pack it again with zstd or gzip: unsquashfs, then mksquashfs -comp zstd");
    }
    CYBELE_CHECK(check(code, "the compression"));
    compressor_.reset(made);
    if ((super_.flags & SQFS_FLAG_COMPRESSOR_OPTIONS) != 0) {
        CYBELE_CHECK(check(made->read_options(made, &file_.base), "the compression"));
    }
    return {};
}

Result<void> Volume::start_attributes() {
    if ((super_.flags & SQFS_FLAG_NO_XATTRS) != 0 || super_.xattr_id_table_start == ~sqfs_u64{0}) {
        return {};
    }
    attributes_.reset(sqfs_xattr_reader_create(0));
    CYBELE_CHECK(check(attributes_ ? 0 : SQFS_ERROR_ALLOC, "the extended attributes"));
    return check(sqfs_xattr_reader_load(attributes_.get(), &super_, &file_.base, compressor_.get()),
                 "the extended attributes");
}

Result<void> Volume::start() {
    CYBELE_CHECK(check(sqfs_super_read(&super_, &file_.base), "the super block"));
    // Each takes a byte at least; the library would allocate whatever the super block says.
    if (super_.fragment_entry_count > file_.size || super_.bytes_used > file_.size) {
        return check(SQFS_ERROR_OUT_OF_BOUNDS, "the super block");
    }
    CYBELE_CHECK(start_compressor());
    ids_.reset(sqfs_id_table_create(0));
    CYBELE_CHECK(check(ids_ ? 0 : SQFS_ERROR_ALLOC, "the owners"));
    CYBELE_CHECK(check(sqfs_id_table_read(ids_.get(), &file_.base, &super_, compressor_.get()),
                       "the owners"));
    directories_.reset(sqfs_dir_reader_create(&super_, compressor_.get(), &file_.base, 0));
    data_.reset(sqfs_data_reader_create(&file_.base, super_.block_size, compressor_.get(), 0));
    CYBELE_CHECK(check(directories_ && data_ ? 0 : SQFS_ERROR_ALLOC, "the directories"));
    CYBELE_CHECK(
        check(sqfs_data_reader_load_fragment_table(data_.get(), &super_), "the fragments"));
    return start_attributes();
}

void set_by_type(FileStatus& status, const sqfs_inode_generic_t& inode) {
    switch (inode.base.type) {
    case SQFS_INODE_SLINK:
    case SQFS_INODE_EXT_SLINK: {
        const auto size = inode.base.type == SQFS_INODE_SLINK ? inode.data.slink.target_size
                                                              : inode.data.slink_ext.target_size;
        status.target.assign(reinterpret_cast<const char*>(inode.extra), size);
        status.size = size;
        break;
    }
    case SQFS_INODE_BDEV:
    case SQFS_INODE_CDEV:
        status.major = gnu_dev_major(inode.data.dev.devno);
        status.minor = gnu_dev_minor(inode.data.dev.devno);
        status.links = inode.data.dev.nlink;
        break;
    case SQFS_INODE_EXT_BDEV:
    case SQFS_INODE_EXT_CDEV:
        status.major = gnu_dev_major(inode.data.dev_ext.devno);
        status.minor = gnu_dev_minor(inode.data.dev_ext.devno);
        status.links = inode.data.dev_ext.nlink;
        break;
    case SQFS_INODE_EXT_FILE:
        status.links = inode.data.file_ext.nlink;
        break;
    default:
        break;
    }
}

Result<FileStatus> Volume::status(const sqfs_inode_generic_t& inode) const {
    FileStatus status;
    status.mode = inode.base.mode;
    sqfs_u32 uid = 0;
    sqfs_u32 gid = 0;
    CYBELE_CHECK(
        check(sqfs_id_table_index_to_id(ids_.get(), inode.base.uid_idx, &uid), "an owner"));
    CYBELE_CHECK(
        check(sqfs_id_table_index_to_id(ids_.get(), inode.base.gid_idx, &gid), "an owner"));
    status.uid = uid;
    status.gid = gid;
    status.mtime = inode.base.mod_time;
    status.inode = inode.base.inode_number;
    sqfs_u64 size = 0;
    if (sqfs_inode_get_file_size(&inode, &size) == 0) {
        status.size = size;
    }
    set_by_type(status, inode);
    return status;
}

Result<std::map<std::string, std::string>>
Volume::attributes(const sqfs_inode_generic_t& inode) const {
    std::map<std::string, std::string> found;
    sqfs_u32 index = kNoXattrs;
    if (!attributes_ || sqfs_inode_get_xattr_index(&inode, &index) != 0 || index == kNoXattrs) {
        return found;
    }
    constexpr std::string_view kWhat = "an extended attribute";
    sqfs_xattr_id_t list{};
    CYBELE_CHECK(check(sqfs_xattr_reader_get_desc(attributes_.get(), index, &list), kWhat));
    CYBELE_CHECK(check(sqfs_xattr_reader_seek_kv(attributes_.get(), &list), kWhat));
    for (sqfs_u32 i = 0; i < list.count; ++i) {
        sqfs_xattr_entry_t* key = nullptr;
        CYBELE_CHECK(check(sqfs_xattr_reader_read_key(attributes_.get(), &key), kWhat));
        const std::unique_ptr<sqfs_xattr_entry_t, FreeMemory> own_key(key);
        sqfs_xattr_value_t* value = nullptr;
        CYBELE_CHECK(check(sqfs_xattr_reader_read_value(attributes_.get(), key, &value), kWhat));
        const std::unique_ptr<sqfs_xattr_value_t, FreeMemory> own_value(value);
        found[reinterpret_cast<const char*>(key->key)] =
            std::string(reinterpret_cast<const char*>(value->value), value->size);
    }
    return found;
}

using SharedVolume = std::shared_ptr<const Volume>;

class SquashfsNode : public FileNode {
public:
    SquashfsNode(std::string name, FileStatus status, SharedVolume volume, InodePointer inode)
        : FileNode(std::move(name), std::move(status)), volume_(std::move(volume)),
          inode_(std::move(inode)) {}

    static Result<FilePointer> make(std::string name, SharedVolume volume, InodePointer inode);
    [[nodiscard]] Result<std::vector<FilePointer>> children() const override;
    [[nodiscard]] Result<FilePointer> child(std::string_view name) const override;
    [[nodiscard]] Result<void> read(const Sink& sink) const override;
    [[nodiscard]] Result<std::map<std::string, std::string>> attributes() const override {
        return volume_->attributes(*inode_);
    }
    [[nodiscard]] SquashfsBlocks blocks() const;
    [[nodiscard]] Result<std::size_t> read_part(std::uint64_t offset, std::span<char> into) const;

private:
    [[nodiscard]] Result<FilePointer> entry(std::string name) const;

    SharedVolume volume_;
    InodePointer inode_;
};

Result<FilePointer> SquashfsNode::make(std::string name, SharedVolume volume, InodePointer inode) {
    CYBELE_TRY(auto status, volume->status(*inode));
    return FilePointer(std::make_shared<SquashfsNode>(
        std::move(name), std::move(status), std::move(volume), std::move(inode)));
}

// The inode of the entry that the directory reader stands at.
Result<FilePointer> SquashfsNode::entry(std::string name) const {
    sqfs_inode_generic_t* inode = nullptr;
    CYBELE_CHECK(check(sqfs_dir_reader_get_inode(volume_->directories(), &inode), "a directory"));
    return make(std::move(name), volume_, InodePointer(inode));
}

Result<std::vector<FilePointer>> SquashfsNode::children() const {
    std::vector<FilePointer> found;
    if (!status().is_directory()) {
        return found;
    }
    auto* reader = volume_->directories();
    CYBELE_CHECK(check(sqfs_dir_reader_open_dir(reader, inode_.get(), 0), "a directory"));
    for (;;) {
        sqfs_dir_entry_t* read = nullptr;
        const int code = sqfs_dir_reader_read(reader, &read);
        if (code > 0) { // the end
            break;
        }
        CYBELE_CHECK(check(code, "a directory"));
        const std::unique_ptr<sqfs_dir_entry_t, FreeMemory> own(read);
        // The stored size is one less than the name's.
        std::string name(read->name, read->name + read->size + 1);
        if (name == "." || name == ".." || name.find('/') != std::string::npos ||
            found.size() == kMostDirectoryEntries) {
            CYBELE_CHECK(check(SQFS_ERROR_CORRUPTED, "a directory"));
        }
        CYBELE_TRY(auto node, entry(std::move(name)));
        found.push_back(std::move(node));
    }
    std::sort(found.begin(), found.end(), [](const FilePointer& a, const FilePointer& b) {
        return a->name() < b->name();
    });
    return found;
}

Result<FilePointer> SquashfsNode::child(std::string_view name) const {
    if (!status().is_directory()) {
        return FilePointer{};
    }
    auto* reader = volume_->directories();
    CYBELE_CHECK(check(sqfs_dir_reader_open_dir(reader, inode_.get(), 0), "a directory"));
    const std::string text(name);
    const int code = sqfs_dir_reader_find(reader, text.c_str());
    if (code == SQFS_ERROR_NO_ENTRY) {
        return FilePointer{};
    }
    CYBELE_CHECK(check(code, "a directory"));
    return entry(text);
}

Result<void> SquashfsNode::read(const Sink& sink) const {
    if (!status().is_regular()) {
        return {};
    }
    std::string buffer(std::min<std::uint64_t>(kNodePiece, status().size), '\0');
    for (std::uint64_t at = 0; at < status().size;) {
        const auto got = sqfs_data_reader_read(
            volume_->data(), inode_.get(), at, buffer.data(), static_cast<sqfs_u32>(buffer.size()));
        CYBELE_CHECK(check(got == 0 ? SQFS_ERROR_CORRUPTED : got, "a file"));
        CYBELE_CHECK(sink(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
        at += static_cast<std::uint64_t>(got);
    }
    return {};
}

SquashfsBlocks SquashfsNode::blocks() const {
    SquashfsBlocks blocks;
    sqfs_u64 start = 0;
    if (sqfs_inode_get_file_block_start(inode_.get(), &start) == 0) {
        blocks.start = start;
        blocks.sizes = {inode_->extra, sqfs_inode_get_file_block_count(inode_.get())};
        (void)sqfs_inode_get_frag_location(inode_.get(), &blocks.fragment, &blocks.fragment_offset);
    }
    return blocks;
}

Result<std::size_t> SquashfsNode::read_part(std::uint64_t offset, std::span<char> into) const {
    const auto got = sqfs_data_reader_read(
        volume_->data(), inode_.get(), offset, into.data(), static_cast<sqfs_u32>(into.size()));
    CYBELE_CHECK(check(got, "a file"));
    return static_cast<std::size_t>(got);
}

} // namespace

std::optional<SquashfsBlocks> blocks_of(const FileNode& node) {
    const auto* own = dynamic_cast<const SquashfsNode*>(&node);
    return own != nullptr && node.status().is_regular() ? std::optional(own->blocks())
                                                        : std::nullopt;
}

Result<std::size_t>
read_squashfs(const FileNode& node, std::uint64_t offset, std::span<char> into) {
    const auto* own = dynamic_cast<const SquashfsNode*>(&node);
    return own != nullptr ? own->read_part(offset, into) : Result<std::size_t>(0);
}

Result<FilePointer> open_squashfs(int fd, std::uint64_t offset, std::uint64_t size) {
    UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid()) {
        return fail(system_error("cannot read the image", errno));
    }
    const auto volume = std::make_shared<Volume>(std::move(own), offset, size);
    CYBELE_CHECK(volume->start());
    sqfs_inode_generic_t* inode = nullptr;
    CYBELE_CHECK(
        check(sqfs_dir_reader_get_root_inode(volume->directories(), &inode), "the root directory"));
    return SquashfsNode::make("", volume, InodePointer(inode));
}

} // namespace cybele::images
