// SPDX-License-Identifier: Apache-2.0
#include "registry/store/place.hpp"

#include "support/lock.hpp"
#include "support/quote.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPlaceDigestStart = 7; ///< "sha256:"
constexpr std::size_t kShard = 2;
constexpr unsigned kReadAndWrite = 0666;
constexpr unsigned kPermissions = 07777;
constexpr unsigned kOthersWrite = 0002;

unsigned mode_of(const fs::path& folder) {
    struct stat status {};
    return ::stat(folder.c_str(), &status) == 0 ? status.st_mode & kPermissions : 0700;
}

} // namespace

fs::path Place::blob(std::string_view digest) const {
    const std::string_view digits = digest.substr(kPlaceDigestStart);
    return blobs() / digits.substr(0, kShard) / digits.substr(kShard);
}

fs::path Place::sidecar(std::string_view digest) const {
    fs::path path = blob(digest);
    return path += ".json";
}

Result<void> Place::make_folder(const fs::path& folder) const {
    if (::mkdir(folder.c_str(), 0700) != 0) {
        if (errno == EEXIST) {
            return {};
        }
        return fail(system_error("cannot make " + printable(folder.native()), errno));
    }
    if (::chmod(folder.c_str(), mode_of(root_) & ~kOthersWrite) != 0) {
        return fail(system_error("cannot set the mode of " + printable(folder.native()), errno));
    }
    return {};
}

Result<void> Place::write_shared(const fs::path& path,
                                 std::string_view bytes,
                                 std::optional<std::int64_t> modified) const {
    CYBELE_TRY(PendingFile file, PendingFile::create(path));
    CYBELE_CHECK(write_all(file.fd(), bytes, path));
    if (::fchmod(file.fd(), file_mode()) != 0) { // whatever the umask says
        return fail(system_error("cannot set the mode of " + printable(path.native()), errno));
    }
    const timespec time{modified.value_or(0), 0};
    const timespec times[] = {time, time};
    if (modified && ::futimens(file.fd(), times) != 0) {
        return fail(system_error("cannot set the time of " + printable(path.native()), errno));
    }
    return file.commit();
}

unsigned Place::file_mode() const {
    return mode_of(root_) & kReadAndWrite & ~kOthersWrite;
}

fs::path store_directory(const Environment& environment) {
    if (const auto own = environment.get("CYBELE_STORE")) {
        return *own;
    }
    return environment.get_absolute("XDG_DATA_HOME")
               .value_or(environment.home() / ".local" / "share") /
           "cybelectl" / "store";
}

namespace {

/// A read-only file system has no locks to make, and nobody who could need them.
UniqueFd open_lock(const fs::path& path, unsigned mode) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd.valid()) {
        struct stat status {};
        if (::fstat(fd.get(), &status) == 0 && status.st_uid == ::geteuid() &&
            (status.st_mode & kPermissions) != mode) {
            (void)::fchmod(fd.get(), mode); // whatever the umask says: others must lock it, too
        }
        return fd;
    }
    const int saved = errno;
    if (saved == EROFS || saved == EACCES) {
        fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        errno = saved; // where there is no lock, the reason is that it cannot be made
    }
    return fd;
}

} // namespace

Result<UniqueFd> lock_file(const fs::path& path, LockKind kind, unsigned mode) {
    UniqueFd fd = open_lock(path, mode);
    if (!fd.valid()) {
        return fail(system_error("cannot open the lock " + printable(path.native()), errno));
    }
    if (!take_lock(fd.get(), kind == LockKind::kShared ? LOCK_SH : LOCK_EX)) {
        return fail(system_error("cannot lock " + printable(path.native()), errno));
    }
    return fd;
}

Result<UniqueFd> try_lock(const fs::path& path) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) {
        return fail(system_error("cannot open " + printable(path.native()), errno));
    }
    if (!take_lock(fd.get(), LOCK_EX | LOCK_NB)) {
        return UniqueFd();
    }
    return fd;
}

} // namespace cybele::registry
