// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/file_node.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::size_t kDirectoryPiece = std::size_t{1} << 18U;

// Names in a directory share its descriptor, so that as many are open as the tree is deep.
using SharedFd = std::shared_ptr<const UniqueFd>;

struct CloseDirectory {
    void operator()(DIR* directory) const {
        ::closedir(directory);
    }
};

Error directory_read_failed(std::string_view name, int saved_errno) {
    return system_error(fmt::format("cannot read '{}' of the directory", printable(name)),
                        saved_errno);
}

FileStatus status_of(const struct stat& from) {
    FileStatus status;
    status.mode = from.st_mode;
    status.uid = from.st_uid;
    status.gid = from.st_gid;
    status.size = S_ISREG(from.st_mode) || S_ISLNK(from.st_mode)
                      ? static_cast<std::uint64_t>(from.st_size)
                      : 0;
    status.mtime = from.st_mtim.tv_sec;
    if (S_ISCHR(from.st_mode) || S_ISBLK(from.st_mode)) {
        status.major = gnu_dev_major(from.st_rdev);
        status.minor = gnu_dev_minor(from.st_rdev);
    }
    status.inode = from.st_ino;
    status.links = static_cast<std::uint32_t>(from.st_nlink);
    return status;
}

class DirectoryNode : public FileNode {
public:
    DirectoryNode(std::string name, const struct stat& from, SharedFd parent, std::string target)
        : FileNode(std::move(name), with_target(status_of(from), std::move(target))),
          parent_(std::move(parent)), device_(from.st_dev) {}

    [[nodiscard]] Result<std::vector<FilePointer>> children() const override;
    [[nodiscard]] Result<FilePointer> child(std::string_view name) const override;
    [[nodiscard]] Result<void> read(const Sink& sink) const override;
    [[nodiscard]] Result<std::map<std::string, std::string>> attributes() const override;

private:
    static FileStatus with_target(FileStatus status, std::string target) {
        status.target = std::move(target);
        return status;
    }
    [[nodiscard]] UniqueFd open(int flags) const {
        return UniqueFd(
            ::openat(parent_->get(),
                     name().empty() ? "." : name().c_str(),
                     flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    }
    [[nodiscard]] Result<FilePointer> make(const SharedFd& self, const std::string& child) const;

    SharedFd parent_;
    dev_t device_;
};

Result<FilePointer> DirectoryNode::make(const SharedFd& self, const std::string& child) const {
    struct stat found {};
    if (::fstatat(self->get(), child.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) {
            return FilePointer{};
        }
        return fail(directory_read_failed(child, errno));
    }
    if (S_ISDIR(found.st_mode) && found.st_dev != device_) {
        found.st_nlink = 0; // a mount point: marked, so that it is empty
    }
    return FilePointer(std::make_shared<DirectoryNode>(
        child,
        found,
        self,
        S_ISLNK(found.st_mode) ? link_target(self->get(), child.c_str()).value_or("")
                               : std::string{}));
}

Result<FilePointer> DirectoryNode::child(std::string_view name) const {
    if (!status().is_directory() || status().links == 0) {
        return FilePointer{};
    }
    auto fd = open(O_DIRECTORY);
    if (!fd.valid()) {
        return fail(directory_read_failed(this->name(), errno));
    }
    return make(std::make_shared<const UniqueFd>(std::move(fd)), std::string(name));
}

Result<std::vector<FilePointer>> DirectoryNode::children() const {
    std::vector<FilePointer> found;
    if (!status().is_directory() || status().links == 0) {
        return found;
    }
    auto fd = open(O_DIRECTORY);
    const int copy = fd.valid() ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0) : -1;
    const std::unique_ptr<DIR, CloseDirectory> stream(copy < 0 ? nullptr : ::fdopendir(copy));
    if (!stream) {
        return fail(directory_read_failed(name(), errno));
    }
    const auto self = std::make_shared<const UniqueFd>(std::move(fd));
    while (const dirent* entry = ::readdir(stream.get())) { // NOLINT(concurrency-mt-unsafe): own
        const std::string_view entry_name(entry->d_name);
        if (entry_name == "." || entry_name == "..") {
            continue;
        }
        CYBELE_TRY(auto node, make(self, entry->d_name));
        if (node) {
            found.push_back(std::move(node));
        }
    }
    std::sort(found.begin(), found.end(), [](const FilePointer& a, const FilePointer& b) {
        return a->name() < b->name();
    });
    return found;
}

Result<void> DirectoryNode::read(const Sink& sink) const {
    const auto fd = open(0);
    if (!fd.valid()) {
        return fail(directory_read_failed(name(), errno));
    }
    std::string buffer(std::min<std::size_t>(kDirectoryPiece, status().size + 1), '\0');
    for (;;) {
        const auto got = ::read(fd.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(directory_read_failed(name(), errno));
        }
        if (got == 0) {
            return {};
        }
        CYBELE_CHECK(sink(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
    }
}

Result<std::map<std::string, std::string>> DirectoryNode::attributes() const {
    std::map<std::string, std::string> found;
    if (!status().is_directory() && !status().is_regular()) {
        return found;
    }
    const auto fd = open(0);
    if (!fd.valid()) {
        return fail(directory_read_failed(name(), errno));
    }
    std::string names(std::size_t{64} << 10U, '\0'); // the kernel's own limit
    const auto size = ::flistxattr(fd.get(), names.data(), names.size());
    names.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    std::string value(std::size_t{64} << 10U, '\0');
    for (std::size_t at = 0; at < names.size();) {
        const std::string attribute(names.c_str() + at);
        at += attribute.size() + 1;
        if (attribute == "security.capability" || attribute.starts_with("user.")) {
            const auto got = ::fgetxattr(fd.get(), attribute.c_str(), value.data(), value.size());
            found[attribute] = value.substr(0, got < 0 ? 0 : static_cast<std::size_t>(got));
        }
    }
    return found;
}

} // namespace

Result<FilePointer> open_directory(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat found {};
    if (!fd.valid() || ::fstat(fd.get(), &found) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return fail(
                ErrorCode::kInput,
                problem("not-a-directory", fmt::format("{} is not a directory", printable(path))),
                "a root file system is expected there",
                "name an image or a directory");
        }
        return fail(system_error(fmt::format("cannot open {}", printable(path)), errno));
    }
    return FilePointer(std::make_shared<DirectoryNode>(
        "", found, std::make_shared<const UniqueFd>(std::move(fd)), std::string{}));
}

} // namespace cybele::images
