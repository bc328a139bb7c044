// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele {

namespace fs = std::filesystem;

Result<void> make_directories(const fs::path& path, unsigned mode) {
    if (path.empty()) {
        return {};
    }
    if (::mkdir(path.c_str(), mode) == 0) {
        return {};
    }
    if (errno == ENOENT && path.has_parent_path() && path.parent_path() != path) {
        CYBELE_CHECK(make_directories(path.parent_path(), mode));
        if (::mkdir(path.c_str(), mode) == 0) {
            return {};
        }
    }
    const int saved = errno;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        return {};
    }
    return fail(system_error("cannot make the directory " + printable(path.native()), saved));
}

namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const {
        ::closedir(directory);
    }
};

/// Removes the entries below `fd`, which is consumed; the first errno met, or 0.
int remove_entries(int fd, dev_t device) {
    const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd));
    if (!directory) {
        ::close(fd);
        return errno;
    }
    int first = 0;
    const auto note = [&first](int number) {
        if (first == 0) {
            first = number;
        }
    };
    // The entries of one directory are read by one thread only.
    while (const dirent* entry = ::readdir(directory.get())) { // NOLINT(concurrency-mt-unsafe)
        if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (::unlinkat(fd, entry->d_name, 0) == 0) {
            continue;
        }
        struct stat status {};
        if (::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            note(errno);
            continue;
        }
        if (!S_ISDIR(status.st_mode) || status.st_dev != device) {
            note(S_ISDIR(status.st_mode) ? EBUSY : EACCES);
            continue;
        }
        int child = ::openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child < 0) {
            ::fchmodat(fd, entry->d_name, S_IRWXU, 0);
            child = ::openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (child < 0) {
            note(errno);
            continue;
        }
        if ((status.st_mode & S_IRWXU) != S_IRWXU) {
            ::fchmod(child, S_IRWXU);
        }
        note(remove_entries(child, device));
        if (::unlinkat(fd, entry->d_name, AT_REMOVEDIR) != 0) {
            note(errno);
        }
    }
    return first;
}

} // namespace

Result<void> remove_tree(const fs::path& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) {
        return {};
    }
    int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        ::chmod(path.c_str(), S_IRWXU);
        fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0) {
        return fail(system_error("cannot remove " + printable(path.native()), errno));
    }
    const int inner = remove_entries(fd, status.st_dev);
    if (::rmdir(path.c_str()) != 0) {
        return fail(
            system_error("cannot remove " + printable(path.native()), inner != 0 ? inner : errno));
    }
    return {};
}

} // namespace cybele
