// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/layout_root.hpp"

#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::size_t kReadLimit = std::size_t{16} << 20U;

} // namespace

Result<RootDirectory> RootDirectory::open(const std::filesystem::path& root) {
    RootDirectory directory;
    directory.fd_.reset(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.fd_.valid()) {
        const int saved = errno;
        if (saved == ENOENT || saved == ENOTDIR) {
            return fail(ErrorCode::kInput,
                        problem("not-a-directory",
                                fmt::format("{} is not a directory", printable(root.string()))),
                        "a root file system is expected there");
        }
        return fail(system_error(fmt::format("cannot open {}", printable(root.string())), saved));
    }
    directory.path_ = root;
    return directory;
}

Error RootDirectory::failed(std::string_view what, std::string_view path, int saved_errno) const {
    auto message = fmt::format("cannot {} /{} in the root file system {}",
                               what,
                               printable(path),
                               printable(path_.string()));
    // The tree is what the user's base and %post left: a directory where a file should be is
    // theirs.
    if (saved_errno == EISDIR || saved_errno == ENOTDIR || saved_errno == ELOOP) {
        auto error = system_error({}, saved_errno);
        return Error(ErrorCode::kInput,
                     problem("root-file-unusable", std::move(message)),
                     error.faults().front().because);
    }
    return system_error(std::move(message), saved_errno);
}

UniqueFd RootDirectory::open_inside(std::string_view path, int flags) const {
    if (has_openat2_) {
        const auto text = path.empty() ? std::string(".") : std::string(path);
        UniqueFd fd(open_in_root_by_kernel(fd_.get(), text, flags));
        // Old kernels do not know the call; old sandboxes refuse it with EPERM.
        if (fd.valid() || (errno != ENOSYS && errno != EPERM)) {
            return fd;
        }
    }
    RootWalk walk(fd_.get(), path);
    return walk.run() ? walk.open_end(flags) : UniqueFd();
}

bool RootDirectory::exists(std::string_view path) const {
    return open_inside(path, O_PATH).valid();
}

Result<std::optional<std::string>> RootDirectory::read(std::string_view path) const {
    const auto fd = open_inside(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd.valid()) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return std::nullopt;
        }
        return fail(failed("read", path, errno));
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_size) > kReadLimit) {
        return fail(ErrorCode::kInput,
                    problem("root-file-unusable",
                            fmt::format("/{} in the root file system {} cannot be used",
                                        printable(path),
                                        printable(path_.string()))),
                    "a regular file of at most 16 MiB is expected there");
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    CYBELE_CHECK(read_at(fd.get(), 0, std::as_writable_bytes(std::span(bytes)), path_ / path));
    return std::optional<std::string>(std::move(bytes));
}

std::vector<std::string> RootDirectory::list(std::string_view path) const {
    std::vector<std::string> names;
    auto fd = open_inside(path, O_RDONLY | O_DIRECTORY);
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(
        fd.valid() ? ::fdopendir(fd.get()) : nullptr, &::closedir);
    if (!directory) {
        return names;
    }
    static_cast<void>(fd.release());
    while (const auto* entry = ::readdir(directory.get())) { // NOLINT(concurrency-mt-unsafe)
        const std::string name = static_cast<const char*>(entry->d_name);
        if (name != "." && name != "..") {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<RootDirectory::Parent> RootDirectory::parent_of(std::string_view path) const {
    const auto slash = path.rfind('/');
    const auto folder =
        slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
    Parent parent;
    parent.name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    parent.directory = open_inside(folder, O_PATH | O_DIRECTORY);
    if (!parent.directory.valid()) {
        return fail(failed("open", folder, errno));
    }
    return parent;
}

Result<void> RootDirectory::make_directory(std::string_view path, mode_t mode) const {
    for (std::size_t end = 0; end != std::string_view::npos;) {
        end = path.find('/', end + 1);
        const auto prefix = path.substr(0, end);
        if (open_inside(prefix, O_PATH | O_DIRECTORY).valid()) {
            continue;
        }
        if (errno != ENOENT) {
            return fail(failed("make the directory", prefix, errno));
        }
        CYBELE_CHECK(remove(prefix)); // a link that leads nowhere
        CYBELE_TRY(const auto parent, parent_of(prefix));
        if (::mkdirat(parent.directory.get(), parent.name.c_str(), 0700) != 0) {
            return fail(failed("make the directory", prefix, errno));
        }
        const UniqueFd made(::openat(parent.directory.get(),
                                     parent.name.c_str(),
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if ((::geteuid() == 0 && ::fchown(made.get(), 0, 0) != 0) ||
            ::fchmod(made.get(), mode) != 0) {
            return fail(failed("make the directory", prefix, errno));
        }
    }
    return {};
}

Result<void>
RootDirectory::write(std::string_view path, std::string_view bytes, mode_t mode) const {
    CYBELE_CHECK(remove(path));
    CYBELE_TRY(const auto parent, parent_of(path));
    const UniqueFd file(::openat(parent.directory.get(),
                                 parent.name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 0600));
    if (!file.valid()) {
        return fail(failed("write", path, errno));
    }
    CYBELE_CHECK(write_all(file.get(), bytes, path_ / path));
    if ((::geteuid() == 0 && ::fchown(file.get(), 0, 0) != 0) || ::fchmod(file.get(), mode) != 0) {
        return fail(failed("write", path, errno));
    }
    return {};
}

Result<void>
RootDirectory::write_if_missing(std::string_view path, std::string_view bytes, mode_t mode) const {
    const auto fd = open_inside(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd.valid() && errno == ENOENT) {
        return write(path, bytes, mode != 0 ? mode : 0644);
    }
    if (!fd.valid()) {
        return fail(failed("open", path, errno));
    }
    if (mode != 0 && ::fchmod(fd.get(), mode) != 0) {
        return fail(failed("change the mode of", path, errno));
    }
    return {};
}

Result<void> RootDirectory::link_if_missing(std::string_view path, const char* target) const {
    CYBELE_TRY(const auto parent, parent_of(path));
    if (::symlinkat(target, parent.directory.get(), parent.name.c_str()) != 0 && errno != EEXIST) {
        return fail(failed("make the link", path, errno));
    }
    return {};
}

Result<void> RootDirectory::remove(std::string_view path) const {
    CYBELE_TRY(const auto parent, parent_of(path));
    if (::unlinkat(parent.directory.get(), parent.name.c_str(), 0) != 0 && errno != ENOENT) {
        return fail(failed("replace", path, errno));
    }
    return {};
}

} // namespace cybele::images
