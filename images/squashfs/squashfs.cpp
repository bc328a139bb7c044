// SPDX-License-Identifier: Apache-2.0
// Packing: content first, while the tree is read; known_files.cpp takes what a layer has of it,
// inodes.cpp writes what describes it.
#include "images/squashfs/tree_ahead.hpp"
#include "images/squashfs/writer.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include <fmt/format.h>
#include <sched.h>
#include <sqfs/error.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::uint32_t kBlockSize = 128U << 10U; // larger ones read four times as slowly
constexpr std::uint64_t kPadding = 4096;
constexpr std::size_t kReadSize = std::size_t{256} << 10U;
constexpr std::uint32_t kMostWorkers = 64;
constexpr std::uint32_t kBlocksPerWorker = 10;

struct Compression {
    std::string_view name;
    SQFS_COMPRESSOR id;
    std::uint32_t level;
};
// zstd 4 is the least level at which an image has at most 5 % more bytes than by Apptainer's
// gzip 9: 2.2 % of a Debian tree with compilers, 3.6 % of the bench's (zstd 3: 3.8 and 5.4 %), at a
// 13th and an 18th of its processor time.
constexpr std::array kCompressions = {
    Compression{"zstd", SQFS_COMP_ZSTD, 4},
    Compression{"gzip", SQFS_COMP_GZIP, 6},
};

struct LibraryError {
    int code;
    const char* meaning;
};
constexpr std::array kLibraryErrors = {
    LibraryError{SQFS_ERROR_ALLOC, "there is not enough memory"},
    LibraryError{SQFS_ERROR_IO, "reading or writing failed"},
    LibraryError{SQFS_ERROR_COMPRESSOR, "the compressor failed"},
    LibraryError{SQFS_ERROR_UNSUPPORTED, "libsquashfs was built without it"},
    LibraryError{SQFS_ERROR_OVERFLOW, "squashfs supports at most 65536 different owners"},
};

std::uint32_t available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return static_cast<std::uint32_t>(std::max(CPU_COUNT(&set), 1));
}

bool is_out_of_space(int saved_errno) {
    return saved_errno == ENOSPC || saved_errno == EFBIG || saved_errno == EDQUOT;
}

} // namespace

SquashfsWriter::SquashfsWriter(int fd, std::uint64_t offset, const PackOptions& options)
    : options_(options), file_(fd, offset, 0), buffer_(kReadSize) {}

SquashfsWriter::~SquashfsWriter() {
    processor_.reset(); // it may still write to the inodes
    for (auto* inode : contents_) {
        sqfs_free(inode);
    }
}

Result<void> SquashfsWriter::check(int code, std::string_view what) const {
    if (code >= 0) {
        return {};
    }
    auto message = fmt::format("cannot {} of the image", what);
    if ((ready_ && ready_->has_failed()) || file_.is_source_lost) {
        return fail(ErrorCode::kEnvironment,
                    problem("kept-step-unreadable", std::move(message)),
                    "a cached step can no longer be read",
                    "build again with --no-cache");
    }
    if (file_.saved_errno != 0 && is_out_of_space(file_.saved_errno)) {
        auto error = system_error({}, file_.saved_errno);
        return fail(ErrorCode::kEnvironment,
                    problem("no-space", std::move(message)),
                    error.faults().front().because,
                    "free space where the image is written, or write it elsewhere");
    }
    if (file_.saved_errno != 0) {
        return fail(system_error(std::move(message), file_.saved_errno));
    }
    const auto* known =
        std::ranges::find_if(kLibraryErrors, [&](const auto& entry) { return entry.code == code; });
    return fail(code == SQFS_ERROR_ALLOC ? ErrorCode::kEnvironment : ErrorCode::kInternal,
                problem("squashfs-library", std::move(message)),
                known != kLibraryErrors.end() ? std::string(known->meaning)
                                              : fmt::format("libsquashfs gives error {}", code));
}

Result<void> SquashfsWriter::create_compressors() {
    const auto* found = std::ranges::find_if(
        kCompressions, [&](const auto& entry) { return entry.name == options_.compression; });
    if (found == kCompressions.end()) {
        return fail(ErrorCode::kInput,
                    problem("compression-unknown",
                            fmt::format("unknown compression {}", printable(options_.compression))),
                    {},
                    "use zstd or gzip");
    }
    sqfs_compressor_config_t config{};
    sqfs_compressor_t* made = nullptr;
    CYBELE_CHECK(check(sqfs_compressor_config_init(&config, found->id, kBlockSize, 0),
                       "set up the compression"));
    config.level = found->level;
    CYBELE_CHECK(check(sqfs_compressor_create(&config, &made), "set up the compression"));
    compressor_.reset(made);
    config.flags |= SQFS_COMP_FLAG_UNCOMPRESS;
    CYBELE_CHECK(check(sqfs_compressor_create(&config, &made), "set up the compression"));
    decompressor_.reset(made);
    // The time the file system was made is no fact of its content: the same tree, the same bytes.
    const auto time = std::clamp<std::int64_t>(
        options_.clamp_times.value_or(0), 0, std::numeric_limits<std::uint32_t>::max());
    return check(sqfs_super_init(&super_, kBlockSize, static_cast<std::uint32_t>(time), found->id),
                 "set up the super block");
}

Result<void> SquashfsWriter::create_processor() {
    sqfs_block_processor_desc_t description{};
    description.size = sizeof description;
    description.max_block_size = kBlockSize;
    description.num_workers =
        options_.workers != 0 ? options_.workers : std::min(available_processors(), kMostWorkers);
    description.max_backlog = kBlocksPerWorker * description.num_workers;
    description.cmp = block_compressor_ ? block_compressor_.get() : compressor_.get();
    description.uncmp = decompressor_.get();
    description.wr = blocks_.get();
    description.tbl = fragments_.get();
    description.file = &file_.base;
    sqfs_block_processor_t* made = nullptr;
    CYBELE_CHECK(
        check(sqfs_block_processor_create_ex(&description, &made), "start the compression"));
    processor_.reset(made);
    return {};
}

Result<void> SquashfsWriter::start() {
    CYBELE_CHECK(create_compressors());
    CYBELE_CHECK(check(sqfs_super_write(&super_, &file_.base), "write the super block"));
    const int bytes = compressor_->write_options(compressor_.get(), &file_.base);
    CYBELE_CHECK(check(bytes, "write the compression's options"));
    if (bytes > 0) {
        super_.flags |= SQFS_FLAG_COMPRESSOR_OPTIONS;
    }
    ids_.reset(sqfs_id_table_create(0));
    xattrs_.reset(sqfs_xattr_writer_create(0));
    fragments_.reset(sqfs_frag_table_create(0));
    blocks_.reset(sqfs_block_writer_create(&file_.base, SQFS_DEVBLK_SIZE, 0));
    inode_writer_.reset(sqfs_meta_writer_create(&file_.base, compressor_.get(), 0));
    directory_blocks_.reset(
        sqfs_meta_writer_create(&file_.base, compressor_.get(), SQFS_META_WRITER_KEEP_IN_MEMORY));
    if (directory_blocks_) {
        directories_.reset(sqfs_dir_writer_create(directory_blocks_.get(), 0));
    }
    const bool is_complete =
        ids_ && xattrs_ && fragments_ && blocks_ && inode_writer_ && directories_;
    CYBELE_CHECK(check(is_complete ? 0 : SQFS_ERROR_ALLOC, "set up the tables"));
    if (!options_.layers.empty()) {
        CYBELE_CHECK(use_layers());
    }
    return create_processor();
}

Result<std::uint32_t>
SquashfsWriter::add_file(int fd, std::uint64_t size, const std::string& path) {
    CYBELE_CHECK(begin_file());
    for (std::uint64_t at = 0; at < size;) {
        const auto piece = std::min<std::uint64_t>(buffer_.size(), size - at);
        const auto got = ::pread(fd, buffer_.data(), piece, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(system_error(fmt::format("cannot read {}", printable(path)), errno));
        }
        if (got == 0) {
            return fail(
                ErrorCode::kInput,
                problem("file-became-shorter",
                        fmt::format("{} became shorter while it was packed", printable(path))),
                {},
                "stop what still writes to the root file system");
        }
        const auto bytes = static_cast<std::size_t>(got);
        CYBELE_CHECK(append({buffer_.data(), bytes}));
        at += bytes;
    }
    return end_file();
}

Result<void> SquashfsWriter::begin_file() {
    contents_.push_back(nullptr);
    return check(sqfs_block_processor_begin_file(processor_.get(), &contents_.back(), nullptr, 0),
                 "write the files");
}

Result<void> SquashfsWriter::append(std::span<const char> bytes) {
    bytes_read_ += bytes.size();
    return bytes.empty()
               ? Result<void>()
               : check(sqfs_block_processor_append(processor_.get(), bytes.data(), bytes.size()),
                       "write the files");
}

Result<std::uint32_t> SquashfsWriter::end_file() {
    CYBELE_CHECK(check(sqfs_block_processor_end_file(processor_.get()), "write the files"));
    if (options_.on_progress) {
        options_.on_progress(bytes_read_);
    }
    return static_cast<std::uint32_t>(contents_.size() - 1);
}

Result<std::uint32_t> SquashfsWriter::add_xattrs(const Xattrs& xattrs) {
    constexpr std::string_view kWhat = "write the extended attributes";
    std::uint32_t index = kNoIndex;
    CYBELE_CHECK(check(sqfs_xattr_writer_begin(xattrs_.get(), 0), kWhat));
    for (const auto& [name, value] : xattrs) {
        CYBELE_CHECK(check(
            sqfs_xattr_writer_add(xattrs_.get(), name.c_str(), value.data(), value.size()), kWhat));
    }
    CYBELE_CHECK(check(sqfs_xattr_writer_end(xattrs_.get(), &index), kWhat));
    return index;
}

Result<void> SquashfsWriter::add_tree(const std::filesystem::path& root) {
    TreeVisitor visitor;
    visitor.skip_devices = options_.skip_devices;
    visitor.keep_opaque = options_.keep_opaque;
    visitor.on_file = [this](int fd, std::uint64_t size, const std::string& path) {
        return add_file(fd, size, path);
    };
    if (packed_) {
        visitor.on_known_file = [this](auto path, auto size, auto mtime) {
            return add_known_file(path, size, mtime);
        };
    }
    visitor.on_xattrs = [this](const Xattrs& xattrs) { return add_xattrs(xattrs); };
    std::optional<TreeAhead> ahead;
    if (packed_) {
        ahead.emplace(root);
    }
    CYBELE_TRY(tree_, read_tree(root, visitor));
    CYBELE_CHECK(check(sqfs_block_processor_finish(processor_.get()), "write the files"));
    return complete_known_files();
}

Result<std::uint64_t> SquashfsWriter::finish() {
    processor_.reset(); // its threads and buffers; the inodes are complete
    CYBELE_CHECK(write_tables());
    super_.bytes_used = file_.size;
    CYBELE_CHECK(check(sqfs_super_write(&super_, &file_.base), "write the super block"));
    CYBELE_CHECK(check(file_.finish_copies() ? 0 : SQFS_ERROR_IO, "write the files"));
    CYBELE_CHECK(check(file_.pad_and_cut(kPadding) ? 0 : SQFS_ERROR_IO, "write the end"));
    if (copier_ && options_.on_copied) {
        options_.on_copied(copier_->ranges());
    }
    return file_.size;
}

Result<std::uint64_t> write_squashfs(const std::filesystem::path& root,
                                     int fd,
                                     std::uint64_t offset,
                                     const PackOptions& options) {
    SquashfsWriter writer(fd, offset, options);
    CYBELE_CHECK(writer.start());
    CYBELE_CHECK(writer.add_tree(root));
    return writer.finish();
}

} // namespace cybele::images
