// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/write_part.hpp"

#include "submission/staging/pieces.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/own_links.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

struct Remedies {
    const char* when_full;
    const char* when_refused;
    const char* when_different;
};
/// By CopyFor.
constexpr std::array<Remedies, 2> kRemedies = {{
    {"free space there; the next submission resumes the transfer",
     "name a `workdir` in which you may write",
     "submit again when nothing writes to it"},
    {"free space there and collect again: the transfer is resumed",
     "name a folder in which you may write: --to DIR",
     "collect again when nothing writes to it"},
}};

const Remedies& remedies_of(CopyFor task) {
    return kRemedies[static_cast<std::size_t>(task)];
}

/// Another user's file, or one that has a second name somewhere: that one would be changed, too.
bool is_of_others(const UniqueFd& fd) {
    struct stat status {};
    return fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_uid != ::geteuid() || status.st_nlink > 1);
}

std::string own_descriptor(const UniqueFd& fd) {
    return "/proc/self/fd/" + std::to_string(fd.get());
}

} // namespace

Error write_error(CopyFor task, const std::string& where, const Error& cause) {
    const Fault& fault = cause.faults().front();
    const bool is_full = fault.id == "no-space" || fault.id == "quota-exceeded";
    const Remedies& remedies = remedies_of(task);
    return {ErrorCode::kEnvironment,
            problem("input-write-failed", "cannot write " + printable(where)),
            printable(fault.because),
            is_full ? remedies.when_full : remedies.when_refused};
}

Error differs_error(CopyFor task, const std::string& where, const fs::path& source) {
    return {
        ErrorCode::kEnvironment,
        problem("input-differs",
                "what arrived as " + printable(where) + " is not " + printable(source.native())),
        "the file changed meanwhile, or a disk is at fault; the copy is removed",
        remedies_of(task).when_different};
}

Result<PartFile>
PartFile::open(CopyFor task, const fs::path& file, std::uint64_t offset, unsigned mode) {
    CYBELE_CHECK(make_directories(file.parent_path()));
    CYBELE_TRY(UniqueFd folder, open_folder_past_own_links(file.parent_path()));
    const fs::path part = part_of(file);
    // Not waiting: what lies there may be a pipe.
    constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    UniqueFd fd(::openat(folder.get(), part.filename().c_str(), kFlags, mode));
    if (is_of_others(fd) && ::unlinkat(folder.get(), part.filename().c_str(), 0) == 0) {
        fd.reset(::openat(folder.get(), part.filename().c_str(), kFlags | O_EXCL, mode));
    }
    if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(offset)) != 0) {
        return fail(write_error(task, part.native(), system_error("", errno)));
    }
    return PartFile(task, file, std::move(folder), std::move(fd));
}

Result<void> PartFile::write(std::string_view bytes) const {
    const fs::path part = part_of(file_);
    const auto done = write_all(fd_.get(), bytes, part);
    return done ? Result<void>() : fail(write_error(task_, part.native(), done.error()));
}

Result<void> PartFile::sync() const {
    return ::fsync(fd_.get()) == 0
               ? Result<void>()
               : fail(write_error(task_, part_of(file_).native(), system_error("", errno)));
}

Result<void> PartFile::finish(const std::string& digest, const fs::path& source) const {
    const fs::path part = part_of(file_);
    CYBELE_TRY(const Digest found, sha256_file(own_descriptor(fd_)));
    if (hex(found) != digest) {
        (void)::unlinkat(folder_.get(), part.filename().c_str(), 0);
        return fail(differs_error(task_, file_.native(), source));
    }
    if (::renameat(
            folder_.get(), part.filename().c_str(), folder_.get(), file_.filename().c_str()) != 0) {
        return fail(write_error(task_, file_.native(), system_error("", errno)));
    }
    return {};
}

Result<void> write_result(const fs::path& file, std::string_view bytes, unsigned mode) {
    CYBELE_TRY(const PartFile part, PartFile::open(CopyFor::kCollection, file, 0, mode));
    CYBELE_CHECK(part.write(bytes));
    CYBELE_CHECK(part.sync());
    return part.finish(hex(sha256(bytes)), file);
}

Result<void> copy_here(CopyFor task, const LocalCopy& copy) {
    CYBELE_TRY(const PartFile part, PartFile::open(task, copy.to, copy.offset, copy.mode));
    CYBELE_TRY(const UniqueFd from, open_at(copy.from, copy.offset));
    constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
    for (std::string piece = read_some(from.get(), kAll); !piece.empty();
         piece = read_some(from.get(), kAll)) {
        CYBELE_CHECK(part.write(piece));
    }
    CYBELE_CHECK(part.sync());
    return part.finish(copy.digest, copy.source.empty() ? copy.from : copy.source);
}

} // namespace cybele::submission
