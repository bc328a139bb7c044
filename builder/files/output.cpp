// SPDX-License-Identifier: Apache-2.0
#include "builder/files/output.hpp"

#include "support/encoding.hpp"
#include "support/quote.hpp"
#include "support/stamp.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

fs::path absolute_path(const fs::path& path) {
    std::error_code error;
    fs::path result = fs::absolute(path.empty() ? fs::path(".") : path, error);
    return error ? path : result.lexically_normal();
}

Result<void> check_output(const BuildRequest& request) {
    std::error_code error;
    const std::string name = printable(request.output.native());
    if (!fs::is_directory(folder_of(request.output), error)) {
        return fail(ErrorCode::kInput,
                    problem("output-folder-missing", "the folder of " + name + " does not exist"),
                    {},
                    "make it, or name another output with -o");
    }
    const auto status = fs::symlink_status(request.output, error);
    if (fs::is_directory(status)) {
        return fail(ErrorCode::kInput,
                    problem("output-is-folder", name + " is a folder"),
                    {},
                    "name a file with -o");
    }
    if (fs::exists(status) && !request.force) {
        return fail(ErrorCode::kInput,
                    problem("output-exists", name + " exists already"),
                    {},
                    "replace it with --force, or name another output with -o");
    }
    return {};
}

Result<UniqueFd> lock_output(const fs::path& output, const fs::path& cache) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(absolute_path(output), error);
    const fs::path folder = cache / "locks";
    CYBELE_CHECK(make_directories(folder, 0700));
    const fs::path file =
        folder / hex(sha256((error ? absolute_path(output) : real).native())).substr(0, 32);
    UniqueFd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid()) {
        return fail(system_error("cannot open the lock " + printable(file.native()), errno));
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
        return lock;
    }
    if (errno != EWOULDBLOCK) {
        return fail(system_error("cannot lock " + printable(file.native()), errno));
    }
    return fail(
        ErrorCode::kInput,
        problem("output-being-built", printable(output.native()) + " is being built already"),
        "another build of this user makes the same file",
        "wait for it, or name another output with -o");
}

void remember_in_place(int fd, const Digest& made, registry::KnownFiles& files) {
    const auto stamp = stamp_of(fd);
    if (!stamp || !stamp->has_fine_times()) {
        return;
    }
    files.remember(registry::KnownFiles::What::kMade, *stamp, made);
    files.save();
    wait_for_next_tick();
}

std::optional<BuildResult>
find_in_place(const BuildRequest& request, const Digest& made, registry::KnownFiles& files) {
    const UniqueFd fd(::open(request.output.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    const auto stamp = request.force && fd.valid() ? stamp_of(fd.get()) : std::nullopt;
    if (!stamp || files.find(registry::KnownFiles::What::kMade, *stamp) != made ||
        ::futimens(fd.get(), nullptr) != 0) {
        return std::nullopt;
    }
    remember_in_place(fd.get(), made, files);
    BuildResult result;
    result.image = request.output;
    result.bytes = stamp->bytes;
    return result;
}

Result<BuildResult> put_in_place(const fs::path& image, const BuildRequest& request) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(image));
    // A file that appeared meanwhile is not overwritten either.
    const unsigned flags = request.force ? 0U : unsigned{RENAME_NOREPLACE};
    int failed = ::renameat2(AT_FDCWD, image.c_str(), AT_FDCWD, request.output.c_str(), flags);
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) { // NFS knows no flags
        CYBELE_CHECK(check_output(request));
        failed = ::rename(image.c_str(), request.output.c_str());
    }
    if (failed != 0) {
        return fail(
            system_error("cannot put " + printable(request.output.native()) + " in place", errno));
    }
    const UniqueFd folder(
        ::open(folder_of(request.output).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) {
        (void)::fsync(folder.get());
    }
    BuildResult result;
    result.image = request.output;
    CYBELE_TRY(result.bytes, file_size(fd.get(), request.output));
    return result;
}

} // namespace cybele::builder
