// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/underlay.hpp"

#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/directory.hpp"
#include "support/root_walk.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr std::size_t kFewEntries = 16; // three system calls each; an overlay costs as much as 100

/// Mirrors the directories in which something is missing; all other entries are bound whole.
class Mirror {
public:
    explicit Mirror(std::set<std::filesystem::path> directories)
        : directories_(std::move(directories)) {}

    [[nodiscard]] Result<void>
    copy(int image, int mirror, const std::filesystem::path& path) const {
        CYBELE_TRY(const auto names, names_in(image, path));
        for (const std::string& name : names) {
            CYBELE_CHECK(copy_entry(image, mirror, path / name));
        }
        return {};
    }

private:
    [[nodiscard]] Result<void>
    copy_entry(int image, int mirror, const std::filesystem::path& path) const {
        const std::string name = path.filename().string();
        const UniqueFd source(openat(image, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status = {};
        if (!source.valid() || fstat(source.get(), &status) != 0) {
            return fail(system_error("cannot read '" + path.string() + "' of the image", errno));
        }
        if (S_ISLNK(status.st_mode)) {
            const auto text = link_target(source.get());
            if (!text || symlinkat(text->c_str(), mirror, name.c_str()) != 0) {
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
        const namespaces::BindPoint point{
            .source = source.get(), .target = target.get(), .flags = MS_RDONLY};
        if (auto bound = namespaces::bind_mount(point, path.string()); !bound) {
            return fail(std::move(bound).error());
        }
        return {};
    }

    std::set<std::filesystem::path> directories_;
};

/// A top, and its mirror's name on the stage.
struct UnderlayPlace {
    std::string name;
    std::filesystem::path path;
};

bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
           folder.end();
}

bool hold_few(int image, const std::set<std::filesystem::path>& directories) {
    std::size_t count = 0;
    for (const auto& path : directories) {
        const auto directory = namespaces::open_in_root(image, path);
        if (!directory) {
            return false;
        }
        const auto names = names_in(directory->get(), path);
        if (!names) {
            return false;
        }
        count += names->size();
    }
    return count <= kFewEntries;
}

/// The mirror of one directory on the stage, with its mode and, where that is allowed, its owner.
Result<UniqueFd>
make_mirror(const Stage& stage, int original, const Mirror& mirror, const UnderlayPlace& place) {
    CYBELE_TRY(UniqueFd made, stage.make_directory(place.name.c_str()));
    struct stat status = {};
    if (fstat(original, &status) == 0) {
        (void)fchmodat(stage.fd(), place.name.c_str(), status.st_mode & ALLPERMS, 0);
        (void)fchownat(stage.fd(), place.name.c_str(), status.st_uid, status.st_gid, 0);
    }
    CYBELE_CHECK(mirror.copy(original, made.get(), place.path));
    return made;
}

} // namespace

Underlay plan_underlay(int image, const std::vector<NeededTarget>& missing) {
    Underlay plan;
    std::set<std::filesystem::path> lacking; // a folder comes before what lies below it
    for (const NeededTarget& target : missing) {
        namespaces::Resolved resolved = namespaces::resolve_in_root(image, target.path);
        if (!resolved.missing.empty()) {
            lacking.insert(std::move(resolved.existing));
        }
    }
    for (auto path : lacking) {
        const auto top = std::ranges::find_if(
            plan.tops, [&](const auto& folder) { return is_below(path, folder); });
        const auto& end = top == plan.tops.end() ? *plan.tops.insert(path).first : *top;
        for (; path != end; path = path.parent_path()) {
            plan.directories.insert(path);
        }
        plan.directories.insert(end);
    }
    plan.is_small = !plan.tops.contains("/") && hold_few(image, plan.directories);
    return plan;
}

Result<UniqueFd> make_underlay(const Stage& stage,
                               UniqueFd image,
                               const Underlay& plan,
                               const std::vector<NeededTarget>& missing) {
    const Mirror mirror(plan.directories);
    std::vector<UniqueFd> laid;
    for (const auto& top : plan.tops) {
        const UnderlayPlace place{"underlay" + std::to_string(laid.size()), top};
        const auto original = namespaces::open_in_root(image.get(), top);
        if (!original) {
            return fail(system_error("cannot open '" + top.string() + "' of the image", errno));
        }
        CYBELE_TRY(UniqueFd made, make_mirror(stage, original->get(), mirror, place));
        if (top == top.root_path()) {
            image = std::move(made);
            continue;
        }
        const namespaces::BindPoint point{made.get(), original->get()};
        CYBELE_TRY(UniqueFd mount, namespaces::bind_mount(point, top.string()));
        laid.push_back(std::move(mount));
    }
    for (const NeededTarget& target : missing) {
        namespaces::Making making;
        making.is_directory = target.is_directory;
        if (const auto made = namespaces::make_in_root(image.get(), target.path, making);
            !made && !target.is_optional) {
            return fail(made.error());
        }
    }
    for (const UniqueFd& mount : laid) {
        CYBELE_CHECK(namespaces::add_mount_flags(mount.get(), MS_RDONLY, false));
    }
    return image;
}

} // namespace cybele::runtime
