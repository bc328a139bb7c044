// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/stage.hpp"

#include "runtime/containers/extended_file.hpp"
#include "runtime/containers/underlay.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/system_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

/// Covered one after the other until one is there; nothing is looked up in them by name later.
constexpr const char* kPlaces[] = {
    "/mnt", "/media", "/srv", "/opt", "/var", "/tmp", "/usr", "/etc"};

/// Whether one of the sources is `place` or lies above it.
bool is_held(const std::vector<int>& sources, const UniqueFd& place) {
    UniqueFd folder(openat(place.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (folder.valid()) {
        if (std::ranges::any_of(sources, [&](int source) {
                return namespaces::is_same_file(source, folder.get());
            })) {
            return true;
        }
        UniqueFd above(openat(folder.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (namespaces::is_same_file(above.get(), folder.get())) {
            return false;
        }
        folder = std::move(above);
    }
    return true;
}

} // namespace

Result<Stage> Stage::make(const std::string& size, const std::vector<int>& sources) {
    const std::string options = size.empty() ? "mode=0755" : "mode=0755,size=" + size;
    // The places that no source holds first; one that a source holds is better than none.
    for (const bool may_be_held : {false, true}) {
        for (const char* place : kPlaces) {
            const UniqueFd target(::open(place, O_PATH | O_DIRECTORY | O_CLOEXEC));
            if (!target.valid() || (!may_be_held && is_held(sources, target))) {
                continue;
            }
            CYBELE_CHECK(
                namespaces::mount_over(target.get(), "tmpfs", MS_NOSUID | MS_NODEV, options));
            Stage stage;
            stage.fd_.reset(::open(place, O_PATH | O_DIRECTORY | O_CLOEXEC));
            if (!stage.fd_.valid() || fchdir(stage.fd_.get()) != 0) {
                return fail(system_error("cannot enter a new tmpfs", errno));
            }
            return stage;
        }
    }
    return fail(ErrorCode::kEnvironment,
                problem("no-root-folder", "no folder to put the root file system together"),
                "this host has none of /mnt, /tmp, /var, /usr and /etc",
                "mkdir /tmp");
}

Result<UniqueFd> Stage::make_directory(const char* name) const {
    if (mkdirat(fd(), name, 0755) != 0 && errno != EEXIST) {
        return fail(system_error("cannot make a directory in a new tmpfs", errno));
    }
    return open(name);
}

Result<UniqueFd> Stage::make_file(const char* name, std::string_view bytes) const {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    const UniqueFd file(openat(fd(), name, flags, 0644));
    if (!file.valid()) {
        return fail(system_error("cannot make a file in a new tmpfs", errno));
    }
    CYBELE_CHECK(write_all(file.get(), bytes, name));
    // Whatever the user's umask: the payload may have other ids (root's container).
    (void)fchmod(file.get(), 0644);
    return open(name);
}

Result<UniqueFd> Stage::open(const char* name) const {
    UniqueFd opened(openat(fd(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.valid()) {
        return fail(system_error("cannot open what was mounted", errno));
    }
    return opened;
}

Result<void> Stage::remove() {
    // "." is the tmpfs itself, wherever it lies.
    if (fchdir(fd()) != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) {
        return fail(system_error("cannot unmount a tmpfs", errno));
    }
    fd_.reset();
    return {};
}

namespace {

std::vector<NeededTarget> missing_of(int root, const std::vector<NeededTarget>& targets) {
    std::vector<NeededTarget> missing;
    std::copy_if(targets.begin(), targets.end(), std::back_inserter(missing), [&](const auto& one) {
        return !namespaces::open_in_root(root, one.path);
    });
    return missing;
}

Result<void> make_targets(int root, const std::vector<NeededTarget>& targets) {
    for (const NeededTarget& target : targets) {
        namespaces::Making making;
        making.is_directory = target.is_directory;
        if (const auto made = namespaces::make_in_root(root, target.path, making);
            !made && !target.is_optional) {
            return fail(made.error());
        }
    }
    return {};
}

bool is_fuse(int fd) {
    constexpr auto kFuse = 0x65735546; // statfs(2)
    struct statfs status = {};
    const UniqueFd folder(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return fstatfs(folder.get(), &status) == 0 && status.f_type == kFuse;
}

/// Mount points that the image lacks, as a layer of their own: the folder `kept` stays as it is.
Result<void> make_points(const Stage& stage, int image, const std::vector<NeededTarget>& targets) {
    CYBELE_TRY(const UniqueFd points, stage.make_directory("points"));
    for (const NeededTarget& target : targets) {
        const namespaces::Resolved resolved = namespaces::resolve_in_root(image, target.path);
        namespaces::Making making;
        making.is_directory = target.is_directory;
        (void)namespaces::make_in_root(
            points.get(), resolved.existing / resolved.missing, making); // else made on the top
    }
    return {};
}

/// Directories of an overlay: `upper` and `work` on the stage or in the folder `kept`, the image
/// below, and below that, with a folder, the layer of mount points.
Result<UniqueFd>
mount_overlay(const Stage& stage, int image, int kept, const std::vector<NeededTarget>& missing) {
    if (kept >= 0) {
        CYBELE_CHECK(make_points(stage, image, missing));
    }
    const std::string below = stage.image_name("lower");
    CYBELE_TRY(const UniqueFd lower, stage.make_directory(below.c_str()));
    CYBELE_CHECK(namespaces::bind_mount({image, lower.get()}, "the image"));
    for (const char* name : {"upper", "work", "overlay"}) {
        CYBELE_CHECK(stage.make_directory(name));
    }
    if (kept >= 0) {
        CYBELE_TRY(const UniqueFd folder, stage.make_directory("kept"));
        CYBELE_CHECK(namespaces::bind_mount(
            {.source = kept, .target = folder.get(), .is_recursive = false}, "the overlay"));
    }
    // The root directory's mode and owner are those of the upper one.
    struct stat status = {};
    if (kept < 0 && fstat(image, &status) == 0) {
        (void)fchmodat(stage.fd(), "upper", status.st_mode & ALLPERMS, 0);
        (void)fchownat(stage.fd(), "upper", status.st_uid, status.st_gid, 0);
    }
    if (fchdir(stage.fd()) != 0) {
        return fail(system_error("cannot enter a new tmpfs", errno));
    }
    const std::string lowers = below + (kept >= 0 ? ":points" : "");
    const std::string plain =
        "lowerdir=" + lowers +
        (kept >= 0 ? ",upperdir=kept/upper,workdir=kept/work" : ",upperdir=upper,workdir=work");
    const unsigned long flags = MS_NOSUID | MS_NODEV;
    // As an ordinary user overlayfs keeps its marks in user.*, since Linux 5.11.
    if (mount("overlay", "overlay", "overlay", flags, (plain + ",userxattr").c_str()) != 0 &&
        mount("overlay", "overlay", "overlay", flags, plain.c_str()) != 0) {
        const int saved_errno = errno;
        if (kept >= 0 && is_fuse(kept)) { // the kernel writes to no such file system
            return mount_overlay_by_program(
                stage, "lowerdir=" + lowers + ",upperdir=kept/upper,workdir=kept/work", "overlay");
        }
        return fail(system_error("cannot mount an overlay", saved_errno));
    }
    return stage.open("overlay");
}

} // namespace

Result<PreparedRoot> prepare_root(const Stage& stage, UniqueFd image, const RootNeeds& needs) {
    const auto missing = missing_of(image.get(), needs.targets);
    if (!needs.is_writable && missing.empty()) {
        return PreparedRoot{std::move(image), "image"};
    }
    const Underlay plan = plan_underlay(image.get(), missing);
    if (!needs.is_writable && (plan.is_small || !needs.may_overlay)) {
        CYBELE_TRY(UniqueFd root, make_underlay(stage, std::move(image), plan, missing));
        return PreparedRoot{std::move(root), "underlay"};
    }
    auto overlay = mount_overlay(stage, image.get(), needs.kept, missing);
    auto made = overlay ? make_targets(overlay->get(), missing) : Result<void>();
    if (overlay && made) {
        return PreparedRoot{std::move(*overlay), "overlay"};
    }
    if (needs.is_writable) {
        return fail(overlay ? std::move(made).error() : std::move(overlay).error());
    }
    CYBELE_TRY(UniqueFd underlay, make_underlay(stage, std::move(image), plan, missing));
    return PreparedRoot{std::move(underlay), "underlay"};
}

} // namespace cybele::runtime
