// SPDX-License-Identifier: Apache-2.0
#include "submission/records/record_folder.hpp"

#include "support/quote.hpp"

#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kPermissions = 07777;
constexpr unsigned kPrivate = 0700;

tl::unexpected<Error> refused(const fs::path& path, std::string because) {
    return fail(ErrorCode::kEnvironment,
                problem("record-folder-refused",
                        "the record of a job cannot be stored in " + printable(path.native())),
                std::move(because),
                "give the Job a workdir of your own, or remove " + printable(path.native()) +
                    " where it is not needed");
}

/// That nobody else has written it or can.
Result<void> check(const UniqueFd& fd, const fs::path& path) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return fail(system_error("cannot examine " + printable(path.native()), errno));
    }
    if (status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
        return {};
    }
    return refused(path,
                   fmt::format("{} (owner {}, mode {:04o})",
                               status.st_uid == ::geteuid() ? "other users can write there"
                                                            : "it belongs to another user",
                               status.st_uid,
                               status.st_mode & kPermissions));
}

enum class IfMissing { kMake, kRefuse };

Result<UniqueFd> open_folder(int parent, const fs::path& path, IfMissing if_missing) {
    const std::string name = parent == AT_FDCWD ? path.native() : path.filename().native();
    if (if_missing == IfMissing::kMake && ::mkdirat(parent, name.c_str(), kPrivate) != 0 &&
        errno != EEXIST) {
        return fail(system_error("cannot make the folder " + printable(path.native()), errno));
    }
    UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) {
        const int saved = errno;
        if (saved == ENOENT) {
            return fail(ErrorCode::kInput,
                        problem("folder-missing", "no such folder: " + printable(path.native())),
                        {},
                        "check the name and the folder that it is relative to");
        }
        return refused(path,
                       saved == ELOOP || saved == ENOTDIR
                           ? "it is not a folder, but a link or a file"
                           : system_error("", saved).faults().front().because);
    }
    CYBELE_CHECK(check(fd, path));
    return fd;
}

} // namespace

Result<RecordFolder> RecordFolder::make(const fs::path& record) {
    CYBELE_CHECK(make_directories(record.parent_path().parent_path()));
    CYBELE_TRY(const UniqueFd above, open_folder(AT_FDCWD, record.parent_path(), IfMissing::kMake));
    CYBELE_TRY(UniqueFd fd, open_folder(above.get(), record, IfMissing::kMake));
    return RecordFolder(record, std::move(fd));
}

Result<RecordFolder> RecordFolder::open(const fs::path& record) {
    CYBELE_TRY(const UniqueFd above,
               open_folder(AT_FDCWD, record.parent_path(), IfMissing::kRefuse));
    CYBELE_TRY(UniqueFd fd, open_folder(above.get(), record, IfMissing::kRefuse));
    return RecordFolder(record, std::move(fd));
}

Result<UniqueFd> RecordFolder::write_unsynced(const NewFile& file) const {
    const fs::path path = path_ / file.name;
    (void)::unlinkat(fd_.get(), file.name.c_str(), 0);
    UniqueFd fd(::openat(fd_.get(),
                         file.name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         file.mode));
    if (!fd.valid()) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    CYBELE_CHECK(write_all(fd.get(), file.bytes, path));
    return fd;
}

/// All are written before the first is synced, which mostly brings the others to the disk as well.
Result<void> RecordFolder::write(const std::vector<NewFile>& files) const {
    std::vector<UniqueFd> written;
    for (const NewFile& file : files) {
        CYBELE_TRY(UniqueFd fd, write_unsynced(file));
        written.push_back(std::move(fd));
    }
    for (std::size_t at = 0; at < files.size(); ++at) {
        if (::fsync(written[at].get()) != 0) {
            return fail(system_error("cannot write " + printable((path_ / files[at].name).native()),
                                     errno));
        }
    }
    return {};
}

Result<std::string> RecordFolder::read(const std::string& name, std::size_t limit) const {
    const fs::path path = path_ / name;
    const UniqueFd fd(
        ::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid()) {
        return fail(system_error("cannot open " + printable(path.native()), errno));
    }
    CYBELE_CHECK(check(fd, path));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), path));
    if (size > limit) {
        return fail(ErrorCode::kInput,
                    problem("file-too-big", printable(path.native()) + " is too big"),
                    "more than " + std::to_string(limit) + " bytes are not read");
    }
    std::string text(size, '\0');
    CYBELE_CHECK(read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
    return text;
}

fs::path part_folder(const RecordFolder& record, std::int64_t index) {
    return index < 0 ? record.place() : record.place() / std::to_string(index);
}

} // namespace cybele::submission
