// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs_reader.hpp"

#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sqfs/dir.h>
#include <sqfs/error.h>

namespace cybele::images {
namespace {

constexpr std::uint64_t kReadLimit = std::uint64_t{16} << 20U;

Result<void> check(int code, std::string_view what) {
    if (code >= 0) {
        return {};
    }
    if (code == SQFS_ERROR_ALLOC) {
        return fail(ErrorCode::kEnvironment,
                    fmt::format("cannot read {} of the image", what),
                    "there is not enough memory");
    }
    return fail(ErrorCode::kInput,
                fmt::format("cannot read {} of the image", what),
                fmt::format("its file system is no whole squashfs (libsquashfs error {})", code));
}

bool is_not_there(int code) {
    return code == SQFS_ERROR_NO_ENTRY || code == SQFS_ERROR_NOT_DIR;
}

} // namespace

Result<std::unique_ptr<SquashfsReader>>
SquashfsReader::open(int fd, std::uint64_t offset, std::uint64_t size) {
    std::unique_ptr<SquashfsReader> reader(new SquashfsReader(fd, offset, size));
    CYBELE_CHECK(reader->start());
    return reader;
}

Result<void> SquashfsReader::start() {
    CYBELE_CHECK(check(sqfs_super_read(&super_, &file_.base), "the super block"));
    sqfs_compressor_config_t config{};
    sqfs_compressor_t* made = nullptr;
    CYBELE_CHECK(
        check(sqfs_compressor_config_init(&config,
                                          static_cast<SQFS_COMPRESSOR>(super_.compression_id),
                                          super_.block_size,
                                          SQFS_COMP_FLAG_UNCOMPRESS),
              "the compression"));
    CYBELE_CHECK(check(sqfs_compressor_create(&config, &made), "the compression"));
    compressor_.reset(made);
    if ((super_.flags & SQFS_FLAG_COMPRESSOR_OPTIONS) != 0) {
        CYBELE_CHECK(check(made->read_options(made, &file_.base), "the compression"));
    }
    directories_.reset(sqfs_dir_reader_create(&super_, made, &file_.base, 0));
    data_.reset(sqfs_data_reader_create(&file_.base, super_.block_size, made, 0));
    CYBELE_CHECK(check(directories_ && data_ ? 0 : SQFS_ERROR_ALLOC, "the directories"));
    return check(sqfs_data_reader_load_fragment_table(data_.get(), &super_), "the fragments");
}

Result<InodePointer> SquashfsReader::find(std::string_view path) const {
    sqfs_inode_generic_t* inode = nullptr;
    const std::string text(path);
    const int code =
        sqfs_dir_reader_find_by_path(directories_.get(), nullptr, text.c_str(), &inode);
    if (is_not_there(code)) {
        return InodePointer{};
    }
    CYBELE_CHECK(check(code, "the directories"));
    return InodePointer(inode);
}

Result<std::optional<std::string>> SquashfsReader::read(std::string_view path) const {
    CYBELE_TRY(const auto inode, find(path));
    sqfs_u64 size = 0;
    if (!inode || sqfs_inode_get_file_size(inode.get(), &size) != 0) {
        return std::nullopt;
    }
    if (size > kReadLimit) {
        return fail(ErrorCode::kInput,
                    fmt::format("/{} in the image is too big", printable(path)),
                    "at most 16 MiB are read of it");
    }
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const auto got = sqfs_data_reader_read(data_.get(),
                                               inode.get(),
                                               at,
                                               bytes.data() + at,
                                               static_cast<sqfs_u32>(bytes.size() - at));
        CYBELE_CHECK(check(got == 0 ? SQFS_ERROR_CORRUPTED : got, "a file"));
        at += static_cast<std::size_t>(got);
    }
    return std::optional<std::string>(std::move(bytes));
}

Result<std::vector<std::string>> SquashfsReader::list(std::string_view path) const {
    std::vector<std::string> names;
    CYBELE_TRY(const auto inode, find(path));
    if (!inode) {
        return names;
    }
    const int opened = sqfs_dir_reader_open_dir(directories_.get(), inode.get(), 0);
    if (is_not_there(opened)) {
        return names;
    }
    CYBELE_CHECK(check(opened, "a directory"));
    for (;;) {
        sqfs_dir_entry_t* entry = nullptr;
        const int code = sqfs_dir_reader_read(directories_.get(), &entry);
        if (code > 0) { // the end
            break;
        }
        CYBELE_CHECK(check(code, "a directory"));
        // The stored size is one less than the name's.
        names.emplace_back(entry->name, entry->name + entry->size + 1);
        sqfs_free(entry);
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace cybele::images
