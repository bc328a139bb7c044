// SPDX-License-Identifier: Apache-2.0
#include "images/sif/copy.hpp"

#include "support/file_copy.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// What is a hole stays one: a sparse file costs what it holds.
CopyEnd copy_data(int from, int to, std::uint64_t size) {
    std::uint64_t at = 0;
    while (at < size) {
        const off_t data = ::lseek(from, static_cast<off_t>(at), SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            break; // the rest is a hole, or beyond the end
        }
        const off_t hole = data < 0 ? -1 : ::lseek(from, data, SEEK_HOLE);
        const std::uint64_t begin = data < 0 ? at : static_cast<std::uint64_t>(data);
        const std::uint64_t end =
            hole < 0 ? size : std::min(static_cast<std::uint64_t>(hole), size);
        if (begin >= size) {
            break;
        }
        if (const CopyEnd copied = copy_bytes({from, begin, to, begin, end - begin});
            !copied.ok()) {
            return copied;
        }
        at = end;
    }
    struct stat status {};
    if (::fstat(from, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < size) {
        return {EIO, true};
    }
    return {::ftruncate(to, static_cast<off_t>(size)) == 0 ? 0 : errno, false};
}

} // namespace

Result<void> copy_whole_file(int from, int to, std::uint64_t size, const fs::path& path) {
    if (::ioctl(to, FICLONE, from) == 0) {
        return {};
    }
    const CopyEnd end = copy_data(from, to, size);
    return end.ok()
               ? Result<void>()
               : fail(system_error((end.is_source ? "cannot read what becomes " : "cannot write ") +
                                       printable(path.native()),
                                   end.code));
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
