// SPDX-License-Identifier: Apache-2.0
#include "support/output.hpp"

#include "support/quote.hpp"

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele {

namespace fs = std::filesystem;

namespace {

/// What a name stands for in the place of a file; empty: a file, or nothing yet.
std::string_view kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "it is a directory";
    case S_IFIFO:
        return "it is a FIFO";
    case S_IFSOCK:
        return "it is a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "it is a device";
    default:
        return {};
    }
}

tl::unexpected<Error> no_file(const fs::path& path, std::string_view is) {
    return fail(ErrorCode::kInput,
                problem("output-name", "cannot write a file as " + printable(path.native())),
                std::string(is) + ", and a file would replace it",
                "choose another name");
}

/// Whoever may make a link in a shared folder must not choose what another user overwrites.
bool is_trusted(const struct stat& link) {
    return link.st_uid == ::geteuid() || link.st_uid == 0;
}

/// blobs/sha256/AB/REST or blobs/sha256/DIGEST: of a store of images, of an OCI layout.
bool is_named_by_digest(const fs::path& path) {
    constexpr std::size_t kDigits = 64;
    std::error_code error;
    const fs::path real = fs::weakly_canonical(path, error);
    fs::path folder = real.parent_path();
    std::string digits = real.filename().native();
    if (folder.filename() != "sha256") {
        digits.insert(0, folder.filename().native());
        folder = folder.parent_path();
    }
    return !error && digits.size() == kDigits &&
           digits.find_first_not_of("0123456789abcdef") == std::string::npos &&
           folder.filename() == "sha256" && folder.parent_path().filename() == "blobs";
}

/// What a link leads to, as the place of an output.
Result<fs::path> checked_end(const fs::path& path, const fs::path& target) {
    if (path != target && is_named_by_digest(target)) {
        return fail(
            ErrorCode::kInput,
            problem("output-in-store", "cannot write through the link " + printable(path.native())),
            "it leads into a store, where the name of a file is the digest of its bytes",
            "remove the link, or choose another name");
    }
    return target;
}

} // namespace

Result<fs::path> resolve_output_path(const fs::path& path) {
    constexpr int kLinks = 40; // as many as the kernel follows
    fs::path target = path;
    for (int links = 0;; ++links) {
        struct stat status {};
        if (::lstat(target.c_str(), &status) != 0) {
            return checked_end(path, target);
        }
        if (const std::string_view is = kind_of(status.st_mode); !is.empty()) {
            return no_file(path, is);
        }
        if (!S_ISLNK(status.st_mode) || !is_trusted(status)) {
            return checked_end(path, target);
        }
        struct stat end {};
        const bool is_there = ::stat(target.c_str(), &end) == 0;
        if (const std::string_view is = is_there ? kind_of(end.st_mode) : ""; !is.empty()) {
            return no_file(path, is); // by /proc/self/fd, which no name leads to, too
        }
        std::error_code error;
        const fs::path next = fs::read_symlink(target, error);
        if (error || links == kLinks) {
            return fail(system_error("cannot follow the link " + printable(path.native()),
                                     error ? error.value() : ELOOP));
        }
        target = target.parent_path() / next; // `..` is after the links of the folders
    }
}

Result<OutputFile> OutputFile::create(const fs::path& path, unsigned mode) {
    OutputFile file;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 &&
        (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))) {
        file.stream_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
        if (!file.stream_.valid()) {
            return fail(system_error("cannot write " + printable(path.native()), errno));
        }
        return file;
    }
    CYBELE_TRY(PendingFile pending, PendingFile::create(path, mode));
    file.pending_.emplace(std::move(pending));
    return file;
}

Result<void> OutputFile::commit() {
    return pending_ ? pending_->commit() : Result<void>();
}

} // namespace cybele
