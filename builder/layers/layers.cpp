// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/layers.hpp"

#include "images/container/container.hpp"
#include "images/squashfs/squashfs.hpp"
#include "images/squashfs/unpack.hpp"
#include "runtime/namespaces/squashfs_mount.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// The options that each kind of overlay needs, the newest kernel's first: no attribute may point
/// to a file elsewhere, for layers are packed and mounted again. `volatile` (Linux 5.10): the tree
/// is thrown away if the machine fails, so neither a step's fsync() nor the end of a step, which
/// would sync the complete disk, waits for it.
struct Style {
    const char* attributes;
    std::array<const char*, 4> options;
};
constexpr std::array kStyles = {
    Style{"trusted",
          {"index=off,redirect_dir=off,metacopy=off,volatile",
           "index=off,redirect_dir=off,metacopy=off",
           "index=off,redirect_dir=off",
           ""}},
    Style{"user",
          {"userxattr,index=off,volatile", "userxattr,index=off", "userxattr", "userxattr"}},
};

/// The working directory, given back at the end: names of layers are short inside their folder.
class Inside {
public:
    explicit Inside(const fs::path& directory)
        : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        is_there_ = ::chdir(directory.c_str()) == 0;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
        if (before_.valid()) {
            (void)!::fchdir(before_.get());
        }
    }
    [[nodiscard]] bool is_there() const {
        return is_there_;
    }

private:
    UniqueFd before_;
    bool is_there_ = false;
};

/// In the working directory, over "root".
bool mount_overlay(const std::string& attributes, const std::string& folders) {
    const auto* const style = std::ranges::find(kStyles, attributes, &Style::attributes);
    for (const char* options : style->options) {
        const std::string all = folders + (*options == '\0' ? "" : ",") + options;
        if (::mount("cybelectl", "root", "overlay", 0, all.c_str()) == 0) {
            return true;
        }
        if (errno != EINVAL) {
            return false;
        }
    }
    return false;
}

/// A directory that was deleted and made again hides what it held; a file that was deleted is gone.
bool keeps_deletions() {
    return ::rmdir("root/d/e") == 0 && ::rmdir("root/d") == 0 && ::mkdir("root/d", 0755) == 0 &&
           ::access("root/d/e", F_OK) != 0 && ::access("upper/d", F_OK) == 0;
}

bool try_overlay(const fs::path& directory, const char* attributes) {
    const fs::path trial = directory / "overlay-trial";
    for (const char* name : {"lower/d/e", "upper", "work", "root"}) {
        if (!make_directories(trial / name)) {
            return false;
        }
    }
    bool works = false;
    {
        const Inside inside(trial);
        works = inside.is_there() &&
                mount_overlay(attributes, "lowerdir=lower,upperdir=upper,workdir=work");
        const int saved_errno = errno;
        if (works) {
            works = keeps_deletions();
            (void)::umount2("root", MNT_DETACH);
        }
        errno = saved_errno;
    }
    const int saved_errno = errno;
    (void)remove_tree(trial);
    errno = saved_errno;
    return works;
}

/// A merged tree shows the attributes of the topmost layer's folder.
Result<void> take_attributes(const fs::path& from, const fs::path& to) {
    struct stat status {};
    if (::stat(from.c_str(), &status) != 0 || ::chmod(to.c_str(), status.st_mode & ALLPERMS) != 0 ||
        ::chown(to.c_str(), status.st_uid, status.st_gid) != 0) {
        return fail(system_error("cannot prepare the layer " + printable(to.native()), errno));
    }
    const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
    (void)::utimensat(AT_FDCWD, to.c_str(), times.data(), 0);
    return {};
}

} // namespace

OverlaySupport find_overlay_support(const fs::path& directory) {
    OverlaySupport way;
    way.is_root = ::geteuid() == 0;
    for (const Style& style : kStyles) {
        if (try_overlay(directory, style.attributes)) {
            way.attributes = style.attributes;
            return way;
        }
        way.because = "no overlay can be mounted in " + printable(directory.native()) + ": " +
                      system_error("", errno).faults().front().because;
    }
    return way;
}

namespace {

Result<void>
show_part(const namespaces::SquashfsPart& part, const fs::path& folder, const OverlaySupport& way) {
    const Inside inside(folder.parent_path()); // mounting moves the working directory
    const UniqueFd parent(::open(folder.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string name = folder.filename().native();
    const namespaces::SquashfsPoint point{parent.get(), name.c_str()};
    if (way.is_root && namespaces::mount_squashfs_by_loop(part, point)) {
        return {};
    }
    if (namespaces::mount_squashfs_by_fuse(part, point)) {
        return {};
    }
    return images::unpack_squashfs(
        {part.fd, part.offset, part.size}, folder, images::Whiteouts::kKept);
}

} // namespace

Result<void> pack_layer(const fs::path& folder, const fs::path& file) {
    const UniqueFd fd(
        ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) {
        return fail(system_error("cannot write " + printable(file.native()), errno));
    }
    images::PackOptions options;
    options.skip_devices = true;
    options.keep_opaque = true;
    CYBELE_CHECK(images::write_squashfs(folder, fd.get(), 0, options));
    return {};
}

Result<Layers> Layers::make(fs::path directory, OverlaySupport way) {
    Layers layers(std::move(directory), std::move(way));
    CYBELE_CHECK(make_directories(layers.root_));
    return layers;
}

Result<fs::path> Layers::new_folder() {
    fs::path folder = directory_ / std::to_string(next_++);
    CYBELE_CHECK(make_directories(folder));
    return folder;
}

Result<fs::path> Layers::add_folder() {
    lowers_.push_back({next_, {}, {}});
    return new_folder();
}

Result<void> Layers::add_squashfs(const fs::path& file) {
    CYBELE_TRY(const fs::path folder, add_folder());
    CYBELE_TRY(UniqueFd fd, open_for_reading(file));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), file));
    CYBELE_CHECK(show_part({fd.get(), 0, size, file}, folder, way_));
    note_packed(std::move(fd), file);
    return {};
}

void Layers::note_packed(UniqueFd squashfs, fs::path file) {
    lowers_.back().squashfs = std::move(squashfs);
    lowers_.back().file = std::move(file);
}

std::vector<LayerFile> Layers::files() const {
    std::vector<LayerFile> list;
    for (const Lower& lower : lowers_) {
        if (lower.squashfs.valid() && !lower.file.empty()) {
            list.push_back({lower.squashfs.get(), lower.file});
        }
    }
    return list;
}

std::vector<fs::path> Layers::folders() const {
    std::vector<fs::path> list;
    list.reserve(lowers_.size());
    for (const Lower& lower : lowers_) {
        list.push_back(directory_ / std::to_string(lower.number));
    }
    return list;
}

std::vector<images::TreeLayer> Layers::shown() const {
    std::vector<images::TreeLayer> list;
    for (const Lower& lower : lowers_) {
        const fs::path folder = directory_ / std::to_string(lower.number);
        const auto size = lower.squashfs.valid() ? file_size(lower.squashfs.get(), folder)
                                                 : Result<std::uint64_t>(0);
        // Without a size it is a folder, which is read in any case.
        list.push_back({folder, size ? lower.squashfs.get() : -1, size.value_or(0)});
    }
    if (is_open_) {
        list.push_back({upper(), -1, 0});
    }
    return list;
}

Result<void> Layers::begin() {
    upper_ = next_;
    CYBELE_TRY(const fs::path upper, new_folder());
    CYBELE_CHECK(take_attributes(folders().back(), upper));
    CYBELE_CHECK(remove_tree(directory_ / "work"));
    CYBELE_CHECK(make_directories(directory_ / "work", 0700));
    const Inside inside(directory_);
    std::string lowers; // the topmost first
    for (const Lower& lower : lowers_) {
        lowers.insert(0, fmt::format("{}:", lower.number));
    }
    lowers.pop_back();
    if (!inside.is_there() ||
        !mount_overlay(way_.attributes,
                       fmt::format("lowerdir={},upperdir={},workdir=work", lowers, upper_))) {
        return fail(system_error("cannot lay the steps over each other", errno));
    }
    is_open_ = true;
    return {};
}

Result<fs::path> Layers::end() {
    if (std::exchange(is_open_, false) && ::umount2(root_.c_str(), 0) != 0) {
        return fail(system_error("cannot close the layer of a step", errno));
    }
    lowers_.push_back({upper_, {}, {}});
    return directory_ / std::to_string(upper_);
}

} // namespace cybele::builder
