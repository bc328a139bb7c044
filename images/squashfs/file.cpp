// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/file.hpp"

#include "images/squashfs/range_copier.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <type_traits>

#include <sqfs/error.h>
#include <unistd.h>

namespace cybele::images {
namespace {

static_assert(std::is_standard_layout_v<SquashfsFile>, "the library's struct is its first member");

SquashfsFile& file_of(sqfs_file_t* file) {
    return *reinterpret_cast<SquashfsFile*>(file);
}

int file_failed(SquashfsFile& file, int saved_errno) {
    if (file.saved_errno == 0) {
        file.saved_errno = saved_errno;
    }
    return SQFS_ERROR_IO;
}

int ended(SquashfsFile& file, const CopyEnd& end) {
    file.is_source_lost = file.is_source_lost || end.is_source;
    return end.ok() ? 0 : file_failed(file, end.code);
}

int read_range(sqfs_file_t* base, sqfs_u64 offset, void* buffer, size_t size) {
    auto& file = file_of(base);
    if (offset > file.size || size > file.size - offset) {
        return SQFS_ERROR_OUT_OF_BOUNDS;
    }
    if (file.copier != nullptr) {
        const int code = ended(file, file.copier->wait_for(file.start + offset + size));
        if (code != 0) {
            return code;
        }
    }
    auto* to = static_cast<char*>(buffer);
    while (size > 0) {
        const auto got = ::pread(file.fd, to, size, static_cast<off_t>(file.start + offset));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? file_failed(file, errno) : SQFS_ERROR_OUT_OF_BOUNDS;
        }
        to += got;
        offset += static_cast<std::uint64_t>(got);
        size -= static_cast<size_t>(got);
    }
    return 0;
}

int write_range(sqfs_file_t* base, sqfs_u64 offset, const void* buffer, size_t size);

int fill_with_zeros(SquashfsFile& file, std::uint64_t until) {
    static constexpr std::array<char, 4096> kZeros{};
    while (file.size < until) {
        const auto piece = std::min<std::uint64_t>(kZeros.size(), until - file.size);
        const int code =
            write_range(&file.base, file.size, kZeros.data(), static_cast<size_t>(piece));
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

int write_range(sqfs_file_t* base, sqfs_u64 offset, const void* buffer, size_t size) {
    auto& file = file_of(base);
    if (offset > file.size) { // what lies there may be old bytes from before a truncation
        const int code = fill_with_zeros(file, offset);
        if (code != 0) {
            return code;
        }
    }
    if (file.copy_next.bytes != nullptr && file.copy_next.bytes == buffer) {
        file.copier->add({file.copy_next.fd, file.copy_next.offset, file.start + offset, size});
        file.size = std::max(file.size, offset + size);
        return 0;
    }
    const auto* from = static_cast<const char*>(buffer);
    while (size > 0) {
        const auto put = ::pwrite(file.fd, from, size, static_cast<off_t>(file.start + offset));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return file_failed(file, put < 0 ? errno : EIO);
        }
        from += put;
        offset += static_cast<std::uint64_t>(put);
        size -= static_cast<size_t>(put);
        file.size = std::max(file.size, offset);
    }
    return 0;
}

sqfs_u64 size_of_range(const sqfs_file_t* file) {
    return reinterpret_cast<const SquashfsFile*>(file)->size;
}

int truncate_range(sqfs_file_t* base, sqfs_u64 size) {
    auto& file = file_of(base);
    if (size > file.size) {
        return fill_with_zeros(file, size);
    }
    file.size = size;
    return file.copier == nullptr ? 0 : ended(file, file.copier->cut(file.start + size));
}

void destroy_nothing(sqfs_object_t*) {} // its owner is ours, not the library

} // namespace

SquashfsFile::SquashfsFile(int descriptor, std::uint64_t offset, std::uint64_t bytes)
    : fd(descriptor), start(offset), size(bytes) {
    base.base.destroy = destroy_nothing;
    base.base.copy = nullptr;
    base.read_at = read_range;
    base.write_at = write_range;
    base.get_size = size_of_range;
    base.truncate = truncate_range;
}

bool SquashfsFile::finish_copies() {
    return copier == nullptr || ended(*this, copier->wait_for(start + size)) == 0;
}

bool SquashfsFile::pad_and_cut(std::uint64_t block) {
    const auto whole = (size + block - 1) / block * block;
    if (fill_with_zeros(*this, whole) != 0) {
        return false;
    }
    if (::ftruncate(fd, static_cast<off_t>(start + size)) != 0) {
        saved_errno = errno;
        return false;
    }
    return true;
}

} // namespace cybele::images
