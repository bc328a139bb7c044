// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/overlay.hpp"

#include "images/sif/sif.hpp"
#include "images/sif/start.hpp"
#include "images/sif/types.hpp"
#include "runtime/containers/extended_file.hpp"
#include "runtime/containers/root_image.hpp"
#include "runtime/namespaces/squashfs_mount.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr std::string_view kReadOnly = ":ro";

Result<void> make_writable_folders(const ImageFile& folder) {
    for (const char* name : {"upper", "work"}) {
        const auto path = folder.path / name;
        if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
            return fail(system_error("cannot make '" + printable(path.string()) + "'", errno));
        }
    }
    return {};
}

/// The read-only part of an overlay's directory: what a writable start left in `upper`, else all.
UniqueFd lower_of(const Overlay& overlay) {
    UniqueFd upper(
        openat(overlay.folder(), "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (upper.valid()) {
        return upper;
    }
    return UniqueFd(openat(overlay.folder(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// The file, if it is an ext3 file system; such a file carries no signatures.
Result<std::optional<Overlay>> open_extended_overlay(const std::string& path, bool is_read_only) {
    std::error_code failed;
    const auto full = std::filesystem::canonical(path, failed);
    if (failed || !std::filesystem::is_regular_file(full, failed)) {
        return std::optional<Overlay>();
    }
    const UniqueFd probe(open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!probe.valid() ||
        images::image_start(probe.get()).kind != images::ImageStart::Kind::kOther ||
        !is_extended(probe.get(), 0)) {
        return std::optional<Overlay>();
    }
    Overlay overlay;
    overlay.file.kind = ImageFile::Kind::kExtended;
    overlay.file.path = full;
    overlay.is_writable = !is_read_only;
    CYBELE_TRY(overlay.file.fd, open_extended(full, overlay.is_writable));
    return std::optional(std::move(overlay));
}

/// Layers in the making: each under a short name on the stage, the topmost first in the option.
class Pile {
public:
    Pile(const Stage& stage, std::string way) : stage_(stage), way_(std::move(way)) {}

    Result<void> add_folder(int folder, bool is_extended) {
        has_extended_ = has_extended_ || is_extended;
        CYBELE_TRY(const UniqueFd point, new_layer());
        return bind(folder, point.get());
    }
    Result<void> add_squashfs(const ImageFile& file, SquashfsPlace place) {
        CYBELE_CHECK(new_layer());
        const namespaces::SquashfsPart part{file.fd.get(), place.offset, place.size, file.path};
        const namespaces::SquashfsPoint point{stage_.fd(), names_.back().c_str()};
        if (way_ == "kernel squashfs") {
            return namespaces::mount_squashfs_by_loop(part, point);
        }
        auto mounted = namespaces::mount_squashfs_by_fuse(part, point);
        if (!mounted) {
            const Fault& fault = mounted.error().faults().front();
            return fail(
                ErrorCode::kEnvironment,
                problem("overlay-failed",
                        "cannot lay '" + printable(file.path.string()) + "' over the image"),
                fault.because.empty() ? fault.message : fault.message + ": " + fault.because,
                "give a directory to --overlay, or open /dev/fuse to users");
        }
        return {};
    }
    [[nodiscard]] bool empty() const {
        return names_.empty();
    }
    /// All of it over `image`.
    Result<UniqueFd> mount_over(int image) {
        const std::string name_below = stage_.image_name("below");
        CYBELE_TRY(const UniqueFd below, stage_.make_directory(name_below.c_str()));
        CYBELE_CHECK(bind(image, below.get()));
        CYBELE_CHECK(stage_.make_directory("piled"));
        // A FUSE root has no permission bits until somebody asks its server, and the overlay takes
        // those that the topmost layer's root has when it is mounted.
        struct stat status = {};
        if (!names_.empty() && fstatat(stage_.fd(), names_.back().c_str(), &status, 0) != 0) {
            return fail(system_error("cannot examine an overlay", errno));
        }
        std::string lower = "lowerdir=";
        for (auto name = names_.rbegin(); name != names_.rend(); ++name) {
            lower += *name + ":";
        }
        lower += name_below;
        if (has_extended_ && has_overlay_program()) {
            return mount_overlay_by_program(stage_, lower, "piled");
        }
        const unsigned long flags = static_cast<unsigned long>(MS_RDONLY) | MS_NOSUID | MS_NODEV;
        if (fchdir(stage_.fd()) != 0 ||
            (mount("overlay", "piled", "overlay", flags, (lower + ",userxattr").c_str()) != 0 &&
             mount("overlay", "piled", "overlay", flags, lower.c_str()) != 0)) {
            return fail(system_error("cannot lay overlays over the image", errno));
        }
        return stage_.open("piled");
    }

private:
    Result<UniqueFd> new_layer() {
        names_.push_back("layer" + std::to_string(names_.size()));
        return stage_.make_directory(names_.back().c_str());
    }
    static Result<void> bind(int from, int to) {
        CYBELE_CHECK(namespaces::bind_mount({from, to}, "a layer"));
        return {};
    }

    const Stage& stage_;
    std::string way_;
    std::vector<std::string> names_;
    bool has_extended_ = false;
};

Result<Overlay> open_overlay(const std::string& option, const ImageDemand* demand) {
    std::string path = option;
    Overlay overlay;
    const bool is_read_only = path.ends_with(kReadOnly);
    if (is_read_only) {
        path.resize(path.size() - kReadOnly.size());
    }
    if (path.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("overlay-option-malformed",
                            "--overlay: expected PATH[:ro], not '" + printable(option) + "'"),
                    "the path is empty",
                    "name a directory, a squashfs file, an ext3 file or a SIF");
    }
    if (demand == nullptr) {
        CYBELE_TRY(std::optional<Overlay> extended, open_extended_overlay(path, is_read_only));
        if (extended) {
            return std::move(*extended);
        }
    }
    auto file = open_image(path, images::host_architecture(), demand);
    if (!file && demand != nullptr) {
        return fail(std::move(file).error().with_context("an overlay must be signed as the image"));
    }
    if (!file) {
        const Fault& fault = file.error().faults().front();
        return fail(ErrorCode::kInput,
                    problem(fault.id == "image-file-missing" ? "overlay-missing"
                            : fault.id == "text-not-a-sif"   ? "overlay-is-text"
                                                             : "overlay-unusable",
                            "cannot use '" + printable(path) + "' as an overlay")
                        .about(path),
                    fault.because.empty() ? fault.message : fault.because,
                    fault.id == "sif-change-interrupted"
                        ? fault.help
                        : "name a directory, a squashfs file, an ext3 file or a SIF");
    }
    overlay.file = std::move(*file);
    if (overlay.file.extended) {
        return fail(
            ErrorCode::kInput,
            problem("overlay-unusable", "cannot use '" + printable(path) + "' as an overlay"),
            "it has an ext3 partition, which is mounted over its own root only",
            "remove the partition with `cybelectl sif del`, or name another SIF");
    }
    const bool is_directory = overlay.file.kind == ImageFile::Kind::kDirectory;
    overlay.is_writable = is_directory && !is_read_only;
    if (!is_directory && !is_read_only) {
        warn_as_apptainer("Overlay image " + overlay.file.path.native() +
                          " is not writable, proceeding with read-only");
    }
    return overlay;
}

} // namespace

const Overlay* writable_overlay(const std::vector<Overlay>& overlays) {
    return find_row(overlays, [](const Overlay& one) { return one.is_writable; });
}

Result<std::vector<Overlay>>
open_overlays(const std::vector<std::string>& options, bool has_tmpfs, const ImageDemand* demand) {
    std::vector<Overlay> overlays;
    for (const std::string& option : options) {
        CYBELE_TRY(Overlay overlay, open_overlay(option, demand));
        if (overlay.is_writable && writable_overlay(overlays) != nullptr) {
            return fail(ErrorCode::kUsage,
                        problem("several-writable-overlays",
                                "the overlays '" +
                                    printable(writable_overlay(overlays)->file.path.string()) +
                                    "' and '" + printable(overlay.file.path.string()) +
                                    "' are both writable")
                            .about(writable_overlay(overlays)->file.path.native(),
                                   overlay.file.path.native()),
                        "what a program writes can go to one of them only",
                        "write ':ro' after the others");
        }
        overlays.push_back(std::move(overlay));
    }
    if (has_tmpfs && writable_overlay(overlays) != nullptr) {
        return fail(ErrorCode::kUsage,
                    problem("tmpfs-and-writable-overlay", "--writable-tmpfs and a writable overlay")
                        .about(writable_overlay(overlays)->file.path.native()),
                    "what the program writes can go to one of them only",
                    "leave one out, or write ':ro' after the overlay");
    }
    const Overlay* const written = writable_overlay(overlays);
    if (written != nullptr && written->file.kind == ImageFile::Kind::kDirectory) {
        CYBELE_CHECK(make_writable_folders(written->file));
    }
    return overlays;
}

Result<void>
add_own_overlay(std::vector<Overlay>& overlays, const ImageFile& image, bool is_writable) {
    if (!image.extended) {
        return {};
    }
    Overlay own;
    own.file.kind = ImageFile::Kind::kExtended;
    own.file.path = image.path;
    own.file.offset = image.extended->offset;
    own.is_writable = is_writable;
    CYBELE_TRY(own.file.fd, open_extended(image.path, is_writable));
    overlays.insert(overlays.begin(), std::move(own));
    return {};
}

Result<void> mount_overlays(const Stage& stage, std::vector<Overlay>& overlays, bool is_root) {
    for (std::size_t i = 0; i < overlays.size(); ++i) {
        Overlay& one = overlays[i];
        if (one.file.kind != ImageFile::Kind::kExtended) {
            continue;
        }
        const std::string name = "extended" + std::to_string(i);
        CYBELE_TRY(one.mounted,
                   mount_extended(
                       stage, {one.file.fd.get(), one.file.offset, one.is_writable}, name.c_str()));
        if (is_root && one.is_writable) {
            (void)mkdirat(one.mounted.get(), "upper", 0755); // whether it is there is seen below
        }
        const UniqueFd upper(
            openat(one.mounted.get(), "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!upper.valid()) {
            return fail(
                ErrorCode::kInput,
                problem("overlay-unusable",
                        "cannot use '" + printable(one.file.path.string()) + "' as an overlay",
                        "upper"),
                "the file system has no folder 'upper'",
                "make one by `apptainer overlay create FILE`");
        }
        if (one.is_writable && mkdirat(one.mounted.get(), "work", 0755) != 0 && errno != EEXIST) {
            return fail(system_error("cannot make a folder in the overlay '" +
                                         printable(one.file.path.string()) + "'",
                                     errno));
        }
    }
    return {};
}

// NOLINTNEXTLINE(readability-function-size): what a pile is made of
Result<UniqueFd> lay_over(const Stage& stage,
                          UniqueFd image,
                          const ImageFile& file,
                          const std::vector<Overlay>& overlays,
                          const std::string& way) {
    Pile pile(stage, way);
    if (way != "unpacked") { // there they are in the folder
        for (const SquashfsPlace& place : file.overlays) {
            CYBELE_CHECK(pile.add_squashfs(file, place));
        }
    }
    for (const Overlay& overlay : overlays) {
        if (overlay.is_writable) {
            continue;
        }
        if (overlay.file.kind != ImageFile::Kind::kSquashfs) {
            const bool is_extended = overlay.file.kind == ImageFile::Kind::kExtended;
            CYBELE_CHECK(pile.add_folder(lower_of(overlay).get(), is_extended));
        } else {
            CYBELE_CHECK(pile.add_squashfs(overlay.file, {overlay.file.offset, overlay.file.size}));
            for (const SquashfsPlace& place : overlay.file.overlays) {
                CYBELE_CHECK(pile.add_squashfs(overlay.file, place));
            }
        }
    }
    return pile.empty() ? Result<UniqueFd>(std::move(image)) : pile.mount_over(image.get());
}

Result<void> check_all_unchanged(const ImageFile& file, const std::vector<Overlay>& overlays) {
    CYBELE_CHECK(check_unchanged(file));
    for (const Overlay& overlay : overlays) {
        CYBELE_CHECK(check_unchanged(overlay.file));
    }
    return {};
}

} // namespace cybele::runtime
