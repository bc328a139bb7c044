// SPDX-License-Identifier: Apache-2.0
#include "support/file_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::uint64_t kKernelPiece = std::uint64_t{1} << 30U;
constexpr std::uint64_t kCopyPiece = std::uint64_t{256} << 10U;

/// Writes a whole piece; 0, or errno.
int write_piece(int fd, const char* bytes, std::size_t size, std::uint64_t place) {
    while (size > 0) {
        const ssize_t put = ::pwrite(fd, bytes, size, static_cast<off_t>(place));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return put < 0 ? errno : EIO;
        }
        bytes += put;
        place += static_cast<std::uint64_t>(put);
        size -= static_cast<std::size_t>(put);
    }
    return 0;
}

CopyEnd copy_by_hand(FileCopy copy) {
    std::vector<char> buffer(static_cast<std::size_t>(std::min(kCopyPiece, copy.bytes)));
    while (copy.bytes > 0) {
        const auto most = static_cast<std::size_t>(std::min(kCopyPiece, copy.bytes));
        const ssize_t got =
            ::pread(copy.from, buffer.data(), most, static_cast<off_t>(copy.offset));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return {got < 0 ? errno : EIO, true};
        }
        const auto size = static_cast<std::size_t>(got);
        if (const int code = write_piece(copy.to, buffer.data(), size, copy.place); code != 0) {
            return {code, false};
        }
        copy.offset += size;
        copy.place += size;
        copy.bytes -= size;
    }
    return {};
}

} // namespace

CopyEnd copy_bytes(const FileCopy& copy) {
    auto in = static_cast<off64_t>(copy.offset);
    auto out = static_cast<off64_t>(copy.place);
    std::uint64_t left = copy.bytes;
    while (left > 0) {
        const ssize_t count =
            ::copy_file_range(copy.from,
                              &in,
                              copy.to,
                              &out,
                              static_cast<std::size_t>(std::min(left, kKernelPiece)),
                              0);
        if (count > 0) {
            left -= static_cast<std::uint64_t>(count);
        } else if (count == 0 || errno != EINTR) {
            break; // another file system, an old kernel, or a real fault, which is told by hand
        }
    }
    return copy_by_hand({copy.from,
                         static_cast<std::uint64_t>(in),
                         copy.to,
                         static_cast<std::uint64_t>(out),
                         left});
}

} // namespace cybele::images
