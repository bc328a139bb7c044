// SPDX-License-Identifier: Apache-2.0
#include "runtime/underlay.hpp"

#include "namespaces/resolve.hpp"
#include "namespaces/system_calls.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const {
        closedir(directory);
    }
};

/// Mirrors the directories in which something is missing; all other entries are bound whole.
class Mirror {
public:
    explicit Mirror(std::set<std::filesystem::path> directories)
        : directories_(std::move(directories)) {}

    Result<void> copy(int image, int mirror, const std::filesystem::path& path) const {
        const int listing = openat(image, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (listing < 0) {
            return fail(system_error(
                "cannot read the directory '" + path.string() + "' of the image", errno));
        }
        const std::unique_ptr<DIR, CloseDirectory> entries(fdopendir(listing));
        while (const dirent* entry = readdir(entries.get())) {
            const std::string name = static_cast<const char*>(entry->d_name);
            if (name != "." && name != "..") {
                CYBELE_CHECK(copy_entry(image, mirror, path / name));
            }
        }
        return {};
    }

private:
    Result<void> copy_entry(int image, int mirror, const std::filesystem::path& path) const {
        const std::string name = path.filename().string();
        const UniqueFd source(openat(image, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status = {};
        if (!source.valid() || fstat(source.get(), &status) != 0) {
            return fail(system_error("cannot read '" + path.string() + "' of the image", errno));
        }
        if (S_ISLNK(status.st_mode)) {
            std::array<char, 4096> text = {};
            const ssize_t size = readlinkat(source.get(), "", text.data(), text.size() - 1);
            if (size < 0 || symlinkat(text.data(), mirror, name.c_str()) != 0) {
                return fail(system_error("cannot copy the link '" + path.string() + "'", errno));
            }
            return {};
        }
        const bool is_directory = S_ISDIR(status.st_mode);
        const int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
        const bool made = is_directory
                              ? mkdirat(mirror, name.c_str(), status.st_mode & ALLPERMS) == 0
                              : UniqueFd(openat(mirror, name.c_str(), flags, 0644)).valid();
        const UniqueFd target(openat(mirror, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!made || !target.valid()) {
            return fail(system_error("cannot make a mount point", errno));
        }
        if (is_directory && directories_.contains(path)) {
            return copy(source.get(), target.get(), path);
        }
        const namespaces::BindPoint point{source.get(), target.get(), true, MS_RDONLY};
        if (auto bound = namespaces::bind_mount(point, path.string()); !bound) {
            return fail(std::move(bound).error());
        }
        return {};
    }

    std::set<std::filesystem::path> directories_;
};

} // namespace

Result<UniqueFd>
make_underlay(const Stage& stage, int image, const std::vector<NeededTarget>& targets) {
    std::set<std::filesystem::path> directories;
    for (const NeededTarget& target : targets) {
        const namespaces::Resolved resolved = namespaces::resolve_in_root(image, target.path);
        if (resolved.missing.empty()) {
            continue;
        }
        for (auto path = resolved.existing; path != path.root_path(); path = path.parent_path()) {
            directories.insert(path);
        }
    }
    CYBELE_TRY(UniqueFd root, stage.make_directory("underlay"));
    CYBELE_CHECK(Mirror(std::move(directories)).copy(image, root.get(), "/"));
    for (const NeededTarget& target : targets) {
        namespaces::Making making;
        making.is_directory = target.is_directory;
        if (const auto made = namespaces::make_in_root(root.get(), target.path, making);
            !made && !target.is_optional) {
            return fail(made.error());
        }
    }
    return root;
}

} // namespace cybele::runtime
