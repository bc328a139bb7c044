// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"

#include "support/digest.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cybele {

namespace fs = std::filesystem;

void UniqueFd::reset(int fd) {
    if (fd_ >= 0) {
        const int saved = errno;
        ::close(fd_);
        errno = saved;
    }
    fd_ = fd;
}

Result<UniqueFd> open_for_reading(const fs::path& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd.valid()) {
        const int saved = errno;
        if (saved == ENOENT || saved == ENOTDIR) {
            return fail(ErrorCode::kInput,
                        "no such file: " + printable(path.native()),
                        {},
                        "check the name and the folder that it is relative to");
        }
        return fail(system_error("cannot open " + printable(path.native()), saved));
    }
    return fd;
}

namespace {

Result<std::string> read_descriptor(int fd, std::size_t limit, const fs::path& path) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("cannot read " + printable(path.native()), errno));
        }
        if (count == 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
        if (text.size() > limit) {
            return fail(ErrorCode::kInput,
                        printable(path.native()) + " is too big",
                        "more than " + std::to_string(limit) + " bytes are not read");
        }
    }
}

} // namespace

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
    if (path == "-") {
        return read_descriptor(STDIN_FILENO, limit, "standard input");
    }
    CYBELE_TRY(const UniqueFd fd, open_for_reading(path));
    return read_descriptor(fd.get(), limit, path);
}

Result<void>
read_at(int fd, std::uint64_t offset, std::span<std::byte> into, const fs::path& path) {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t count =
            ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("cannot read " + printable(path.native()), errno));
        }
        if (count == 0) {
            return fail(ErrorCode::kInput,
                        printable(path.native()) + " is too short",
                        "it ends at byte " + std::to_string(offset + done) + ", " +
                            std::to_string(into.size() - done) + " more are needed",
                        "copy or download the file again");
        }
        done += static_cast<std::size_t>(count);
    }
    return {};
}

Result<std::uint64_t> file_size(int fd, const fs::path& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return fail(system_error("cannot examine " + printable(path.native()), errno));
    }
    return static_cast<std::uint64_t>(status.st_size);
}

Result<void> write_all(int fd, std::string_view bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("cannot write " + printable(path.native()), errno));
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Result<void> write_file(const fs::path& path, std::string_view bytes, unsigned mode) {
    if (path == "-") {
        return write_all(STDOUT_FILENO, bytes, "standard output");
    }
    CYBELE_TRY(PendingFile file, PendingFile::create(path, mode));
    CYBELE_CHECK(write_all(file.fd(), bytes, path));
    return file.commit();
}

Result<PendingFile> PendingFile::create(const fs::path& path, unsigned mode) {
    PendingFile file;
    file.path_ = path;
    std::string pattern = path.native() + ".new.XXXXXX";
    file.fd_.reset(::mkostemp(pattern.data(), O_CLOEXEC));
    if (!file.fd_.valid()) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    file.temporary_ = pattern;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file.fd_.get(), mode & ~mask) != 0) {
        return fail(system_error("cannot set the mode of " + printable(path.native()), errno));
    }
    return file;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : fd_(std::move(other.fd_)), path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() {
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
    }
}

Result<void> PendingFile::commit() {
    if (::fsync(fd_.get()) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
        return fail(system_error("cannot write " + printable(path_.native()), errno));
    }
    temporary_.clear();
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    const UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.valid()) {
        ::fsync(directory.get()); // best effort: some network file systems refuse it
    }
    return {};
}

Result<TempDirectory> TempDirectory::make(const fs::path& parent, std::string_view prefix) {
    CYBELE_CHECK(make_directories(parent));
    std::string pattern = (parent / (std::string(prefix) + ".XXXXXX")).native();
    if (::mkdtemp(pattern.data()) == nullptr) {
        return fail(
            system_error("cannot make a directory in " + printable(parent.native()), errno));
    }
    TempDirectory directory;
    directory.path_ = pattern;
    return directory;
}

TempDirectory::~TempDirectory() {
    if (!path_.empty()) {
        (void)remove_tree(path_);
    }
}

std::optional<std::uint64_t> free_space(const fs::path& path) {
    for (fs::path place = fs::absolute(path);; place = place.parent_path()) {
        struct statvfs status {};
        if (::statvfs(place.c_str(), &status) == 0) {
            return std::uint64_t{status.f_bavail} * status.f_frsize;
        }
        if (place == place.root_path()) {
            return std::nullopt;
        }
    }
}

} // namespace cybele
