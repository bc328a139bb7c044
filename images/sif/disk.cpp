// SPDX-License-Identifier: Apache-2.0
#include "images/sif/disk.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

tl::unexpected<Error> cannot_write(const fs::path& path) {
    return fail(system_error("cannot write " + printable(path.native()), errno));
}

} // namespace

Result<void> write_at(int fd, std::uint64_t offset, std::string_view bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return cannot_write(path);
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return {};
}

Result<void> zero_at(int fd, std::uint64_t offset, std::uint64_t size, const fs::path& path) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    const std::string zeros(static_cast<std::size_t>(std::min(size, kPiece)), '\0');
    for (std::uint64_t done = 0; done < size;) {
        const std::uint64_t count = std::min(kPiece, size - done);
        const auto piece = std::string_view(zeros).substr(0, static_cast<std::size_t>(count));
        CYBELE_CHECK(write_at(fd, offset + done, piece, path));
        done += count;
    }
    return {};
}

Result<void> set_length(int fd, std::uint64_t length, const fs::path& path) {
    if (::ftruncate(fd, static_cast<off_t>(length)) != 0) {
        return cannot_write(path);
    }
    return {};
}

Result<void> sync_file(int fd, const fs::path& path) {
    if (::fdatasync(fd) != 0) {
        return cannot_write(path);
    }
    return {};
}

fs::path real_path(int fd, const fs::path& fallback) {
    std::error_code error;
    fs::path real = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    return error || !real.is_absolute() ? fallback : real;
}

} // namespace cybele::images
