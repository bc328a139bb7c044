// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"

#include "support/encoding.hpp"
#include "support/name_beside.hpp"
#include "support/output.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"
#include "support/umask.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

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

namespace {

/// `<(COMMAND)` of a shell, or standard input: whoever names it has it open already.
bool is_own_descriptor(const fs::path& path) {
    const std::string& name = path.native();
    return name == "/dev/stdin" || name.starts_with("/dev/fd/") ||
           name.starts_with("/proc/self/fd/");
}

/// A pipe or a device that somebody put in the place of a file is not waited for.
Result<void> check_kind(int fd, const fs::path& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return fail(system_error("cannot open " + printable(path.native()), errno));
    }
    if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) {
        return {};
    }
    if (!is_own_descriptor(path)) {
        return fail(
            ErrorCode::kInput,
            problem("not-a-regular-file", printable(path.native()) + " is not a regular file"),
            S_ISFIFO(status.st_mode) ? "it is a pipe" : "it is a device",
            "name a file, or let the shell open it: <(cat FILE)");
    }
    return {};
}

tl::unexpected<Error> missing(const fs::path& path) {
    const std::string name = printable(path.native());
    std::error_code error;
    if (path.is_relative() && fs::current_path(error).empty()) {
        return fail(ErrorCode::kInput,
                    problem("current-folder-gone", "no such file: " + name),
                    "the current folder was removed",
                    "change to another folder");
    }
    if (path.native().find("://") != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("file-in-registry", "no such file: " + name),
                    "an image in a registry is not read from here",
                    "pull it first: `cybelectl image pull " + shell_quote(path.native()) +
                        " -o image.sif`");
    }
    return fail(ErrorCode::kInput,
                problem("file-missing", "no such file: " + name).about(path.native()),
                {},
                "check the name and the folder that it is relative to");
}

} // namespace

Result<UniqueFd> open_for_reading(const fs::path& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd.valid()) {
        const int saved = errno;
        if (saved == ENOENT || saved == ENOTDIR) {
            return missing(path);
        }
        return fail(system_error("cannot open " + printable(path.native()), saved));
    }
    CYBELE_CHECK(check_kind(fd.get(), path));
    (void)::fcntl(fd.get(), F_SETFL, 0); // it waits again
    return fd;
}

namespace {

Result<std::string> read_descriptor(int fd, std::size_t limit, const fs::path& path) {
    std::string text;
    // Only what is read costs a page.
    std::array<char, 65536> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
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
                        problem("file-too-big", printable(path.native()) + " is too big"),
                        "more than " + std::to_string(limit) + " bytes are not read",
                        "check that this is the right file");
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
                        problem("file-too-short", printable(path.native()) + " is too short"),
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
    CYBELE_TRY(OutputFile file, OutputFile::create(path, mode));
    CYBELE_CHECK(write_all(file.fd(), bytes, path));
    return file.commit();
}

namespace {

fs::path folder_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// A file without a name, which the kernel forgets with its last descriptor; invalid where the file
/// system has none, or where /proc, by which alone it gets a name, is not mounted.
UniqueFd open_nameless(const fs::path& folder) {
    UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd.valid()) {
        struct stat opened {};
        struct stat seen {};
        const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
        if (::fstat(fd.get(), &opened) != 0 || ::stat(link.c_str(), &seen) != 0 ||
            seen.st_ino != opened.st_ino || seen.st_dev != opened.st_dev) {
            fd.reset();
        }
    }
    return fd;
}

tl::unexpected<Error> cannot_write(const fs::path& path, const fs::path& folder, int number) {
    std::string message = "cannot write " + printable(path.native());
    std::error_code error;
    if (number == ENOENT && !fs::exists(folder, error)) {
        return fail(ErrorCode::kInput,
                    problem("output-folder-missing", std::move(message)).about(folder.native()),
                    "the folder " + printable(folder.native()) + " does not exist",
                    "make it: `mkdir -p " + shell_quote(folder.native()) + "`");
    }
    return fail(system_error(std::move(message), number));
}

} // namespace

Result<PendingFile> PendingFile::create(const fs::path& path, unsigned mode) {
    CYBELE_TRY(const fs::path target, resolve_output_path(path));
    PendingFile file;
    file.path_ = path;
    file.fd_ = open_nameless(folder_of(target));
    if (!file.fd_.valid()) {
        std::string pattern = cybele::name_beside(target, ".new.XXXXXX").native();
        file.fd_.reset(::mkostemp(pattern.data(), O_CLOEXEC));
        if (!file.fd_.valid()) {
            return cannot_write(path, folder_of(target), errno);
        }
        file.temporary_ = pattern;
    }
    if (::fchmod(file.fd_.get(), mode & ~own_umask()) != 0) {
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

fs::path PendingFile::place() const {
    return temporary_.empty() ? fs::path("/proc/self/fd/" + std::to_string(fd_.get())) : temporary_;
}

Result<UniqueFd> PendingFile::reopen() const {
    // By descriptor: under its name there may be another file by now.
    UniqueFd fd(
        ::open(("/proc/self/fd/" + std::to_string(fd_.get())).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) {
        return fail(system_error("cannot read " + printable(path_.native()), errno));
    }
    return fd;
}

Result<void> PendingFile::sync() const {
    if (::fsync(fd_.get()) != 0) {
        return fail(system_error("cannot write " + printable(path_.native()), errno));
    }
    return {};
}

void sync_folder_of(const fs::path& path) {
    const UniqueFd folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) {
        (void)::fsync(folder.get());
    }
}

/// A file without a name cannot take the place of another: it gets a private name first.
Result<void> PendingFile::name_beside() {
    constexpr int kAttempts = 100;
    constexpr std::size_t kLetters = 6;
    for (int attempt = 0; temporary_.empty(); ++attempt) {
        const std::string random = random_bytes(kLetters);
        const fs::path name = cybele::name_beside(
            path_,
            ".new." + hex({reinterpret_cast<const std::uint8_t*>(random.data()), random.size()}));
        if (::linkat(AT_FDCWD, place().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
            temporary_ = name;
        } else if (errno != EEXIST || attempt == kAttempts) {
            return fail(system_error("cannot write " + printable(path_.native()), errno));
        }
    }
    return {};
}

Result<void> PendingFile::commit() {
    CYBELE_CHECK(sync());
    CYBELE_TRY(path_, resolve_output_path(path_)); // a link's end; the bytes are in the same folder
    const bool is_named =
        temporary_.empty() &&
        ::linkat(AT_FDCWD, place().c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (!is_named) {
        CYBELE_CHECK(name_beside());
        if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
            return fail(system_error("cannot write " + printable(path_.native()), errno));
        }
        temporary_.clear();
    }
    sync_folder_of(path_);
    return {};
}

Result<bool> PendingFile::commit_new() {
    CYBELE_CHECK(sync());
    if (::linkat(AT_FDCWD, place().c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        sync_folder_of(path_);
        return true;
    }
    struct stat status {};
    if (errno == EEXIST || ::lstat(path_.c_str(), &status) == 0) {
        return false;
    }
    CYBELE_CHECK(commit()); // a file system without hard links: a look and a rename
    return true;
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
