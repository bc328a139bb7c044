// SPDX-License-Identifier: Apache-2.0
#include "registry/store/partial.hpp"

#include "support/lock.hpp"
#include "support/quote.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

Result<Partial> Partial::open(const std::filesystem::path& path) {
    for (;;) {
        Partial partial;
        partial.path_ = path;
        partial.fd_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!partial.fd_.valid()) {
            return fail(system_error("cannot write " + printable(path.native()), errno));
        }
        if (!take_lock(partial.fd_.get(), LOCK_EX)) {
            return fail(system_error("cannot lock " + printable(path.native()), errno));
        }
        struct stat mine {};
        struct stat there {};
        // Whoever had it before may have given it its name, or removed it.
        if (::fstat(partial.fd_.get(), &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
            mine.st_ino == there.st_ino) {
            return partial;
        }
    }
}

Result<void> Partial::finish(unsigned mode) const {
    // The helper may have made the file anew: another inode under this name.
    const UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid() || ::fchmod(fd.get(), mode) != 0 || ::fsync(fd.get()) != 0) {
        return fail(system_error("cannot write " + printable(path_.native()), errno));
    }
    return {};
}

void Partial::remove() const {
    (void)::unlink(path_.c_str());
}

} // namespace cybele::registry
