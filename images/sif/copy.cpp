// SPDX-License-Identifier: Apache-2.0
#include "images/sif/copy.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// Copies as far as the kernel does it by itself; gives the number of bytes done.
std::uint64_t copy_in_kernel(int from, int to, std::uint64_t size) {
    off_t source = 0;
    off_t target = 0;
    while (static_cast<std::uint64_t>(source) < size) {
        constexpr std::uint64_t kPiece = std::uint64_t{1} << 30U;
        const std::uint64_t left = size - static_cast<std::uint64_t>(source);
        const ssize_t count = ::copy_file_range(
            from, &source, to, &target, static_cast<std::size_t>(std::min(left, kPiece)), 0);
        if (count <= 0 && !(count < 0 && errno == EINTR)) {
            break; // another file system, an old kernel, or a real fault, which writing will tell
        }
    }
    return static_cast<std::uint64_t>(source);
}

} // namespace

Result<void> copy_whole_file(int from, int to, std::uint64_t size, const fs::path& path) {
    if (::ioctl(to, FICLONE, from) == 0) {
        return {};
    }
    std::uint64_t done = copy_in_kernel(from, to, size);
    if (done == size) {
        return {};
    }
    if (::lseek(to, static_cast<off_t>(done), SEEK_SET) < 0) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    std::vector<char> buffer(static_cast<std::size_t>(std::min(kPiece, size - done)));
    while (done < size) {
        const auto count = static_cast<std::size_t>(std::min(kPiece, size - done));
        const std::span<char> piece(buffer.data(), count);
        CYBELE_CHECK(read_at(from, done, std::as_writable_bytes(piece), path));
        CYBELE_CHECK(write_all(to, {piece.data(), piece.size()}, path));
        done += count;
    }
    return {};
}

Result<void> keep_owner_and_mode(const struct stat& original, int copy, const fs::path& path) {
    struct stat status {};
    if (::fstat(copy, &status) != 0) {
        return fail(system_error("cannot examine " + printable(path.native()), errno));
    }
    if (status.st_uid != original.st_uid || status.st_gid != original.st_gid) {
        // Only root can give a file away; for others the copy is theirs, as with any editor.
        if (::fchown(copy, original.st_uid, original.st_gid) != 0 && errno != EPERM &&
            errno != EINVAL) {
            return fail(
                system_error("cannot keep the owner of " + printable(path.native()), errno));
        }
    }
    if (::fchmod(copy, original.st_mode & 0777U) != 0) {
        return fail(system_error("cannot keep the mode of " + printable(path.native()), errno));
    }
    return {};
}

} // namespace cybele::images
