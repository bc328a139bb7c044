// SPDX-License-Identifier: Apache-2.0
#include "builder/files/archive.hpp"

#include "builder/files/output.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kArchiveBlock = std::size_t{1} << 20U;

struct FreeArchiveReader {
    void operator()(archive* a) const {
        archive_read_free(a);
    }
};
struct FreeWriter {
    void operator()(archive* a) const {
        archive_write_free(a);
    }
};
struct FreeEntry {
    void operator()(archive_entry* e) const {
        archive_entry_free(e);
    }
};
struct FreeResolver {
    void operator()(archive_entry_linkresolver* r) const {
        archive_entry_linkresolver_free(r);
    }
};
using ArchiveReader = std::unique_ptr<archive, FreeArchiveReader>;
using Writer = std::unique_ptr<archive, FreeWriter>;
using Entry = std::unique_ptr<archive_entry, FreeEntry>;
using Resolver = std::unique_ptr<archive_entry_linkresolver, FreeResolver>;

/// Moves the working directory while it lives.
class WorkingDirectory {
public:
    explicit WorkingDirectory(const fs::path& to)
        : before_(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
          moved_(::chdir(to.c_str()) == 0) {}
    WorkingDirectory(const WorkingDirectory&) = delete;
    WorkingDirectory& operator=(const WorkingDirectory&) = delete;
    ~WorkingDirectory() {
        if (moved_ && before_.valid()) {
            (void)!::fchdir(before_.get());
        }
    }
    [[nodiscard]] bool moved() const {
        return moved_;
    }

private:
    UniqueFd before_;
    bool moved_;
};

Error archive_error(archive* a, std::string message) {
    const int number = archive_errno(a);
    const char* text = archive_error_string(a);
    if (number == ENOSPC || number == EDQUOT || number == EACCES || number == EPERM) {
        return system_error(std::move(message), number);
    }
    return Error(ErrorCode::kInput,
                 problem("archive-damaged", std::move(message)),
                 text != nullptr ? text : "");
}

Error cannot_write(const fs::path& path, int saved_errno) {
    return system_error("cannot write " + printable(path.native()), saved_errno);
}

Result<void> copy_blocks(archive* from, archive* to, const std::string& what) {
    for (;;) {
        const void* block = nullptr;
        std::size_t size = 0;
        la_int64_t offset = 0;
        const int status = archive_read_data_block(from, &block, &size, &offset);
        if (status == ARCHIVE_EOF) {
            return {};
        }
        if (status < ARCHIVE_WARN) {
            return fail(archive_error(from, "cannot read " + what));
        }
        if (archive_write_data_block(to, block, size, offset) < ARCHIVE_WARN) {
            return fail(archive_error(to, "cannot unpack " + what));
        }
    }
}

Result<void> extract_entry(archive* reader, archive* disk, archive_entry* entry) {
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFCHR || type == AE_IFBLK || type == AE_IFSOCK) {
        return {}; // a container gets its devices from the host
    }
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) {
        return fail(ErrorCode::kInput,
                    problem("archive-entry-without-name",
                            "the archive holds an entry without a readable name"));
    }
    const std::string what = "'" + printable(name) + "'";
    if (archive_write_header(disk, entry) < ARCHIVE_WARN) {
        return fail(archive_error(disk, "cannot unpack " + what));
    }
    if (archive_entry_hardlink(entry) == nullptr && archive_entry_size(entry) > 0) {
        CYBELE_CHECK(copy_blocks(reader, disk, what));
    }
    if (archive_write_finish_entry(disk) < ARCHIVE_WARN) {
        return fail(archive_error(disk, "cannot unpack " + what));
    }
    return {};
}

/// Copies a file's bytes into the archive; a file that shrank meanwhile is filled with zeros by
/// libarchive.
Result<void> write_content(archive* writer, const char* path) {
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) {
        return fail(system_error("cannot read " + printable(path), errno));
    }
    // Not in the thread's own memory: that would be set to zero for each thread that starts.
    // Aligned: where thread-local data that is not ends a page, mold 1.10 lets RELRO begin on a
    // page that does not exist, and the program cannot be loaded.
    alignas(64) static thread_local std::vector<char> buffer(kArchiveBlock);
    for (;;) {
        const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
        if (count == 0) {
            return {};
        }
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("cannot read " + printable(path), errno));
        }
        if (archive_write_data(writer, buffer.data(), static_cast<std::size_t>(count)) < 0) {
            return fail(archive_error(writer, "cannot write the archive"));
        }
    }
}

Result<void> write_entry(archive* writer, archive_entry* entry) {
    if (archive_write_header(writer, entry) < ARCHIVE_WARN) {
        return fail(archive_error(writer, "cannot write the archive"));
    }
    if (archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) > 0) {
        CYBELE_CHECK(write_content(writer, archive_entry_sourcepath(entry)));
    }
    return {};
}

/// Puts every entry of the tree in the working directory into the archive.
Result<void> write_tree(archive* writer) {
    const ArchiveReader disk(archive_read_disk_new());
    archive_read_disk_set_symlink_physical(disk.get());
    archive_read_disk_set_behavior(disk.get(), ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS);
    const Resolver links(archive_entry_linkresolver_new());
    archive_entry_linkresolver_set_strategy(links.get(), archive_format(writer));
    if (archive_read_disk_open(disk.get(), ".") != ARCHIVE_OK) {
        return fail(archive_error(disk.get(), "cannot read the tree"));
    }
    for (;;) {
        Entry entry(archive_entry_new2(disk.get()));
        const int status = archive_read_next_header2(disk.get(), entry.get());
        if (status == ARCHIVE_EOF) {
            return {};
        }
        if (status < ARCHIVE_WARN) {
            return fail(archive_error(disk.get(), "cannot read the tree"));
        }
        archive_read_disk_descend(disk.get());
        if (archive_entry_filetype(entry.get()) == AE_IFSOCK) {
            continue;
        }
        archive_entry* resolved = entry.release();
        archive_entry* spare = nullptr;
        archive_entry_linkify(links.get(), &resolved, &spare);
        entry.reset(resolved);
        const Entry also(spare);
        CYBELE_CHECK(write_entry(writer, entry.get()));
    }
}

} // namespace

Result<void> extract_tar(const fs::path& path, const fs::path& directory) {
    const ArchiveReader reader(archive_read_new());
    archive_read_support_format_tar(reader.get());
    if (archive_read_open_filename(reader.get(), path.c_str(), kArchiveBlock) != ARCHIVE_OK) {
        return fail(archive_error(reader.get(), "cannot open " + printable(path.native())));
    }
    const WorkingDirectory inside(directory);
    if (!inside.moved()) {
        return fail(system_error("cannot enter " + printable(directory.native()), errno));
    }
    const Writer disk(archive_write_disk_new());
    archive_write_disk_set_options(
        disk.get(),
        ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
            ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_ACL | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
            ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS |
            ARCHIVE_EXTRACT_UNLINK);
    for (archive_entry* entry = nullptr;;) {
        const int status = archive_read_next_header(reader.get(), &entry);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status < ARCHIVE_WARN) {
            return fail(archive_error(reader.get(), "cannot read " + printable(path.native())));
        }
        CYBELE_CHECK(extract_entry(reader.get(), disk.get(), entry));
    }
    if (archive_write_close(disk.get()) < ARCHIVE_WARN) {
        return fail(
            archive_error(disk.get(), "cannot finish unpacking " + printable(path.native())));
    }
    return {};
}

Result<void> write_tar(const fs::path& directory, const fs::path& path) {
    const fs::path target = absolute_path(path);
    const WorkingDirectory inside(directory);
    if (!inside.moved()) {
        return fail(system_error("cannot enter " + printable(directory.native()), errno));
    }
    const UniqueFd fd(
        ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) {
        return fail(cannot_write(path, errno));
    }
    const Writer writer(archive_write_new());
    archive_write_set_format_pax_restricted(writer.get());
    // Names are bytes: no conversion by the locale.
    archive_write_set_options(writer.get(), "hdrcharset=BINARY");
    archive_write_set_bytes_per_block(writer.get(), static_cast<int>(kArchiveBlock));
    archive_write_set_bytes_in_last_block(writer.get(), 1);
    if (archive_write_open_fd(writer.get(), fd.get()) != ARCHIVE_OK) {
        return fail(archive_error(writer.get(), "cannot write " + printable(path.native())));
    }
    CYBELE_CHECK(write_tree(writer.get()));
    if (archive_write_close(writer.get()) < ARCHIVE_WARN) {
        return fail(archive_error(writer.get(), "cannot write " + printable(path.native())));
    }
    return {};
}

} // namespace cybele::builder
