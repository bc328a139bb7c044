// SPDX-License-Identifier: Apache-2.0
#include "images/sif/change_file.hpp"

#include "images/sif/copy.hpp"
#include "images/sif/disk.hpp"
#include "images/sif/format.hpp"
#include "images/sif/kinds.hpp"
#include "support/file.hpp"
#include "support/lock.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kChangedImageMode = 0755;
constexpr mode_t kJournalMode = 0600;

/// An image open for writing that no other change of ours touches meanwhile.
struct LockedFile {
    UniqueFd fd;
    fs::path real; ///< where it lies, links followed
    bool is_locked = false;
};

Result<UniqueFd> open_for_change(const fs::path& path) {
    CYBELE_CHECK(check_is_file(path));
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) {
        CYBELE_TRY(fd, open_for_reading(path)); // says it as every reader does
    }
    if (!fd.valid()) {
        return fail(system_error("cannot change " + printable(path.native()), errno));
    }
    return fd;
}

/// False where the file system has no locks.
Result<bool> lock(int fd, const fs::path& path) {
    if (take_lock(fd, LOCK_EX)) {
        return true;
    }
    if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK || errno == EINVAL) {
        return false;
    }
    return fail(system_error("cannot lock " + printable(path.native()), errno));
}

/// Another change may have put a copy under the name while this one waited: it is asked again then.
Result<LockedFile> lock_image(const fs::path& path) {
    for (;;) {
        LockedFile file;
        CYBELE_TRY(file.fd, open_for_change(path));
        CYBELE_TRY(file.is_locked, lock(file.fd.get(), path));
        struct stat opened {};
        struct stat named {};
        if (::fstat(file.fd.get(), &opened) != 0) {
            return fail(system_error("cannot examine " + printable(path.native()), errno));
        }
        if (::stat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino ||
            named.st_dev != opened.st_dev) {
            continue; // gone: the opening says so
        }
        file.real = real_path(file.fd.get(), path);
        return file;
    }
}

Result<Table> read_table(int fd, const fs::path& path) {
    UniqueFd again(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!again.valid()) {
        return fail(system_error("cannot open " + printable(path.native()), errno));
    }
    CYBELE_TRY(const Image image, Image::open(std::move(again), path));
    return Table(image.header(), image.descriptors(), path);
}

/// The change in a copy, which replaces the file.
Result<void> change_copy(const LockedFile& file,
                         const fs::path& path,
                         const ImageChange& change,
                         PendingFile copy) {
    CYBELE_TRY(Table table, read_table(copy.fd(), path));
    CYBELE_TRY(const ChangeOutcome outcome, change(table, copy.fd()));
    if (!outcome.is_changed) {
        return {};
    }
    CYBELE_TRY(const auto pieces, table.changes(copy.fd()));
    Journal all;
    all.pieces = pieces;
    all.zeros = outcome.zeros;
    all.length_after = outcome.length;
    CYBELE_CHECK(apply_journal(all, copy.fd(), path, [](std::string_view) {}));
    struct stat status {};
    if (::fstat(file.fd.get(), &status) != 0) {
        return fail(system_error("cannot examine " + printable(path.native()), errno));
    }
    CYBELE_CHECK(keep_owner_and_mode(status, copy.fd(), path));
    CYBELE_CHECK(copy.commit());
    CYBELE_CHECK(remove_journal(file.fd.get(), file.real)); // of another file
    return {};
}

/// The journal of one change in place. Destroyed before the change is committed: the file is cut
/// to its old length, and the journal is gone.
class OpenJournal {
public:
    OpenJournal(const LockedFile& file, const fs::path& path, const StepHook& on_step)
        : file_(file), path_(path), on_step_(on_step) {}
    OpenJournal(const OpenJournal&) = delete;
    OpenJournal& operator=(const OpenJournal&) = delete;
    ~OpenJournal() {
        if (fd_.valid() && !is_committed_) {
            (void)::ftruncate(file_.fd.get(), static_cast<off_t>(journal_.length_before));
            (void)remove_journal(file_.fd.get(), file_.real);
        }
    }

    Result<void> begin() {
        struct stat status {};
        if (::fstat(file_.fd.get(), &status) != 0) {
            return fail(system_error("cannot examine " + printable(path_.native()), errno));
        }
        journal_.device = status.st_dev;
        journal_.inode = status.st_ino;
        journal_.length_before = static_cast<std::uint64_t>(status.st_size);
        journal_.header_before.resize(kHeaderSize);
        const std::span<char> header(journal_.header_before);
        CYBELE_CHECK(read_at(file_.fd.get(), 0, std::as_writable_bytes(header), path_));
        on_step_("journal");
        const fs::path name = journal_path(file_.real);
        fd_.reset(::open(
            name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kJournalMode));
        if (!fd_.valid()) {
            return cannot_begin(name, errno);
        }
        on_step_("journal start");
        CYBELE_CHECK(write_all(fd_.get(), encode_journal_start(journal_), name));
        // Else a power failure could leave the file longer, and no journal that says so.
        on_step_("sync journal start");
        CYBELE_CHECK(sync_file(fd_.get(), name));
        sync_folder_of(file_.real);
        return {};
    }

    /// The new objects' bytes, then the second part, reach the disk; from here on the change is
    /// certain.
    Result<void> commit(std::vector<JournalPiece> pieces, const ChangeOutcome& outcome) {
        journal_.pieces = std::move(pieces);
        journal_.zeros = outcome.zeros;
        journal_.length_after = outcome.length;
        on_step_("sync objects");
        CYBELE_CHECK(sync_file(file_.fd.get(), path_));
        const fs::path name = journal_path(file_.real);
        on_step_("journal end");
        CYBELE_CHECK(write_all(fd_.get(), encode_journal_end(journal_), name));
        on_step_("sync journal");
        CYBELE_CHECK(sync_file(fd_.get(), name));
        is_committed_ = true;
        CYBELE_CHECK(apply_journal(journal_, file_.fd.get(), path_, on_step_));
        on_step_("remove journal");
        CYBELE_CHECK(remove_journal(file_.fd.get(), file_.real));
        on_step_("done");
        return {};
    }

private:
    static tl::unexpected<Error> cannot_begin(const fs::path& name, int saved_errno) {
        if (saved_errno == EEXIST) {
            return fail(ErrorCode::kEnvironment,
                        problem("change-file-exists", "cannot write " + printable(name.native())),
                        "a file of that name is there, and no journal of this program",
                        "move it away: the change of the image needs that name");
        }
        return fail(system_error("cannot write " + printable(name.native()), saved_errno));
    }

    const LockedFile& file_;
    const fs::path& path_;
    const StepHook& on_step_;
    UniqueFd fd_;
    Journal journal_;
    bool is_committed_ = false;
};

Result<void> change_in_place(const LockedFile& file,
                             const fs::path& path,
                             const ImageChange& change,
                             const StepHook& on_step) {
    CYBELE_TRY(Table table, read_table(file.fd.get(), path));
    CYBELE_CHECK(
        remove_journal(file.fd.get(), file.real)); // of another file; the image is complete
    OpenJournal journal(file, path, on_step);
    CYBELE_CHECK(journal.begin());
    on_step("objects");
    CYBELE_TRY(const ChangeOutcome outcome, change(table, file.fd.get()));
    if (!outcome.is_changed) {
        return {};
    }
    CYBELE_TRY(auto pieces, table.changes(file.fd.get()));
    return journal.commit(std::move(pieces), outcome);
}

/// A file with other names, attributes or another owner stays the file that it is.
bool must_stay(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || status.st_nlink != 1 ||
        (status.st_uid != ::geteuid() && ::geteuid() != 0)) {
        return true;
    }
    std::array<char, 1024> names{};
    const ssize_t size = ::flistxattr(fd, names.data(), names.size());
    return size > 0 && std::string_view(names.data(), static_cast<std::size_t>(size)) !=
                           std::string_view("security.selinux", sizeof "security.selinux");
}

} // namespace

Result<Settled> recover_image(const fs::path& path) {
    CYBELE_TRY(const LockedFile file, lock_image(path));
    CYBELE_TRY(const Settled settled, settle_image(file.fd.get(), file.real, Follow::kFitting));
    CYBELE_CHECK(read_table(file.fd.get(), path));
    CYBELE_CHECK(remove_journal(file.fd.get(), file.real));
    return settled;
}

Result<void>
change_image(const fs::path& path, const ImageChange& change, const ChangeOptions& options) {
    CYBELE_TRY(const LockedFile file, lock_image(path));
    const StepHook on_step = options.on_step ? options.on_step : [](std::string_view) {};
    if (file.is_locked) {
        CYBELE_CHECK(settle_image(file.fd.get(), file.real));
    }
    if (!file.is_locked || (options.may_copy && !must_stay(file.fd.get()))) {
        auto copy = PendingFile::create(file.real, kChangedImageMode);
        if (copy && ::ioctl(copy->fd(), FICLONE, file.fd.get()) == 0) {
            return change_copy(file, path, change, std::move(*copy));
        }
        if (!file.is_locked) {
            // Without a lock two changes in place could meet; a copy is whole whatever happens.
            CYBELE_TRY(PendingFile whole, std::move(copy));
            CYBELE_TRY(const std::uint64_t length, file_size(file.fd.get(), path));
            CYBELE_CHECK(copy_whole_file(file.fd.get(), whole.fd(), length, path));
            return change_copy(file, path, change, std::move(whole));
        }
    }
    return change_in_place(file, path, change, on_step);
}

} // namespace cybele::images
