// SPDX-License-Identifier: Apache-2.0
#include "registry/store/transfer.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/name_beside.hpp"
#include "support/output.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;
constexpr std::size_t kTransferRandomBytes = 6;
constexpr unsigned kExportedImageMode = 0755; ///< as Apptainer's, less the umask

bool share(int from, int to) {
    return ::ioctl(to, FICLONE, from) == 0;
}

/// Reads `from` through, piece by piece.
Result<void> each_piece(int from,
                        const fs::path& source,
                        const Progress& progress,
                        const std::function<Result<void>(std::span<const std::byte>)>& take) {
    CYBELE_TRY(const std::uint64_t total, file_size(from, source));
    const auto buffer = std::make_unique<std::byte[]>(kPiece);
    for (std::uint64_t done = 0; done < total;) {
        const std::size_t count = std::min<std::uint64_t>(kPiece, total - done);
        const std::span<std::byte> piece(buffer.get(), count);
        CYBELE_CHECK(read_at(from, done, piece, source));
        CYBELE_CHECK(take(piece));
        done += count;
        if (progress) {
            progress(done, total);
        }
    }
    return {};
}

std::string_view text_of(std::span<const std::byte> piece) {
    return {reinterpret_cast<const char*>(piece.data()), piece.size()};
}

} // namespace

const char* copy_method_name(CopyMethod way) {
    switch (way) {
    case CopyMethod::kReflink:
        return "reflink";
    case CopyMethod::kLink:
        return "link";
    case CopyMethod::kCopy:
        break;
    }
    return "copy";
}

Result<CopyMethod> clone_or_copy(
    int from, const fs::path& source, int to, const fs::path& target, const Progress& progress) {
    if (share(from, to)) {
        return CopyMethod::kReflink;
    }
    CYBELE_CHECK(each_piece(from, source, progress, [&](std::span<const std::byte> piece) {
        return write_all(to, text_of(piece), target);
    }));
    return CopyMethod::kCopy;
}

Result<std::string> take_in(
    int from, const fs::path& source, int to, const fs::path& target, const Progress& progress) {
    Sha256 hash;
    const bool is_shared = share(from, to);
    // What is hashed is what is kept: a source that changes meanwhile cannot come between.
    CYBELE_CHECK(each_piece(is_shared ? to : from,
                            is_shared ? target : source,
                            progress,
                            [&](std::span<const std::byte> piece) -> Result<void> {
                                hash.update(piece);
                                return is_shared ? Result<void>()
                                                 : write_all(to, text_of(piece), target);
                            }));
    return hex(hash.finish());
}

Result<void> check_output(const Output& output) {
    if (output.path == "-") {
        return fail(
            ErrorCode::kUsage,
            problem("image-to-standard-output", "an image is not written to standard output"),
            "it is verified before its file has a name",
            "name a file: app.sif");
    }
    struct stat status {};
    if (::lstat(output.path.c_str(), &status) != 0) {
        return {};
    }
    if (S_ISDIR(status.st_mode) || !output.is_forced) {
        return fail(
            ErrorCode::kInput,
            problem(S_ISDIR(status.st_mode) ? "export-place-is-folder" : "export-file-exists",
                    printable(output.path.native()) + " exists already")
                .about(output.path.native()),
            S_ISDIR(status.st_mode) ? "it is a folder" : "no file is overwritten unasked",
            S_ISDIR(status.st_mode)
                ? "name a file in it: " + printable((output.path / "app.sif").native())
                : "choose another name, or give --force");
    }
    CYBELE_CHECK(resolve_output_path(output.path));
    return {};
}

namespace {

tl::unexpected<Error> name_taken(const fs::path& path) {
    return fail(ErrorCode::kInput,
                problem("export-file-exists", printable(path.native()) + " exists already")
                    .about(path.native()),
                "no file is overwritten unasked",
                "choose another name, or give --force");
}

/// Fails with EEXIST where the name is taken. Some network file systems know links only.
bool rename_new(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
        return true;
    }
    if (errno != EINVAL || ::link(from.c_str(), to.c_str()) != 0) {
        return false;
    }
    (void)::unlink(from.c_str());
    return true;
}

/// A hard link under a private name first, so that the name is never without a file.
Result<CopyMethod> link_out(const fs::path& source, const Output& output) {
    fs::path name = output.path;
    fs::path private_name;
    if (output.is_forced) {
        CYBELE_TRY(name, resolve_output_path(output.path));
        const std::string random = random_bytes(kTransferRandomBytes);
        private_name = name_beside(
            name,
            ".new." + hex({reinterpret_cast<const std::uint8_t*>(random.data()), random.size()}));
    }
    if (::link(source.c_str(), private_name.empty() ? name.c_str() : private_name.c_str()) != 0) {
        const int saved = errno;
        if (saved == EXDEV) {
            return fail(
                ErrorCode::kEnvironment,
                problem("store-link-failed",
                        "cannot link " + printable(output.path.native()) + " into the store"),
                "it is on another file system than the store",
                "leave --link out for a copy, or name a store there: CYBELE_STORE");
        }
        return fail(system_error("cannot link " + printable(output.path.native()), saved));
    }
    if (!private_name.empty()) {
        const int renamed = ::rename(private_name.c_str(), name.c_str());
        const int saved = errno;
        (void)::unlink(private_name.c_str()); // two names of one file: rename does nothing
        if (renamed != 0) {
            return fail(system_error("cannot link " + printable(output.path.native()), saved));
        }
    }
    return CopyMethod::kLink;
}

} // namespace

Result<void> move_out(const fs::path& file, const Output& output) {
    CYBELE_CHECK(check_output(output));
    const bool is_moved = output.is_forced ? ::rename(file.c_str(), output.path.c_str()) == 0
                                           : rename_new(file, output.path);
    if (is_moved) {
        return {};
    }
    const int number = errno;
    if (number == EEXIST) {
        return name_taken(output.path);
    }
    return fail(system_error("cannot write " + printable(output.path.native()), number));
}

Result<CopyMethod> put_out(const fs::path& source, const Output& output, const Progress& progress) {
    CYBELE_CHECK(check_output(output));
    if (output.is_link) {
        return link_out(source, output);
    }
    CYBELE_TRY(const UniqueFd from, open_for_reading(source));
    CYBELE_TRY(PendingFile file, PendingFile::create(output.path, kExportedImageMode));
    CYBELE_TRY(const CopyMethod way,
               clone_or_copy(from.get(), source, file.fd(), output.path, progress));
    if (output.is_forced) {
        CYBELE_CHECK(file.commit());
        return way;
    }
    CYBELE_TRY(const bool is_new, file.commit_new());
    if (!is_new) {
        return name_taken(output.path);
    }
    return way;
}

} // namespace cybele::registry
