// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/root_image.hpp"

#include "runtime/containers/extended_file.hpp"
#include "runtime/containers/mount_image.hpp"
#include "runtime/containers/reporter.hpp"
#include "runtime/containers/runtime.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "runtime/namespaces/squashfs_mount.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/quote.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

std::string stage_size(const MountRequest& request) {
    // What the program writes lies here: where nothing is set, the kernel's default, half of the
    // memory.
    return request.is_writable ? request.memory_size : "64m";
}

std::string reason(const Error& error) {
    const Fault& fault = error.faults().front();
    return fault.because.empty() ? fault.message : fault.message + ": " + fault.because;
}

/// A directory of the host as the image: read-only, without its devices and setuid programs.
Result<MountedImage>
use_directory(const std::filesystem::path& path, const MountRequest& request, std::string way) {
    const UniqueFd source(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!source.valid()) {
        return fail(system_error("cannot open the directory '" + path.string() + "'", errno));
    }
    CYBELE_TRY(Stage stage, Stage::make(stage_size(request), request.sources));
    CYBELE_TRY(const UniqueFd target, stage.make_directory("image"));
    const unsigned long flags =
        (request.is_image_writable ? 0UL : static_cast<unsigned long>(MS_RDONLY)) | MS_NOSUID |
        MS_NODEV;
    CYBELE_TRY(UniqueFd root,
               namespaces::bind_mount(
                   {.source = source.get(), .target = target.get(), .flags = flags}, "the image"));
    return MountedImage{std::move(stage), std::move(root), std::move(way)};
}

using Mounting = Result<void>(const namespaces::SquashfsPoint&);

namespaces::SquashfsPart part_of(const ImageFile& image) {
    return {image.fd.get(), image.offset, image.size, image.path};
}

/// One way on a stage of its own, which goes again when the way fails.
Result<MountedImage>
attempt(const char* way, const MountRequest& request, const std::function<Mounting>& mounting) {
    CYBELE_TRY(Stage stage, Stage::make(stage_size(request), request.sources));
    CYBELE_CHECK(stage.make_directory("image"));
    if (auto mounted = mounting({stage.fd(), "image"}); !mounted) {
        CYBELE_CHECK(stage.remove());
        return fail(std::move(mounted).error());
    }
    CYBELE_TRY(UniqueFd root, stage.open("image"));
    return MountedImage{std::move(stage), std::move(root), way};
}

/// A file of ext3 as the image; the one that is read is open already.
Result<MountedImage> serve_extended(const ImageFile& image, const MountRequest& request) {
    UniqueFd writable;
    if (request.is_image_writable) {
        (void)flock(image.fd.get(), LOCK_UN); // that of a reader
        CYBELE_TRY(writable, open_extended(image.path, true));
    }
    CYBELE_TRY(Stage stage, Stage::make(stage_size(request), request.sources));
    const int fd = writable.valid() ? writable.get() : image.fd.get();
    CYBELE_TRY(UniqueFd root, mount_extended(stage, {fd, 0, request.is_image_writable}, "image"));
    return MountedImage{std::move(stage), std::move(root), "fuse2fs"};
}

} // namespace

namespace {

// One start per process.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
GlobalOptions message_options;

} // namespace

void configure_messages(const GlobalOptions& global) {
    message_options = global;
}

void tell_if(bool is_wanted, const std::string& text) {
    if (!is_wanted) {
        return;
    }
    if (message_options.follows_apptainer && !message_options.prints_info) {
        return;
    }
    const std::string line =
        (message_options.follows_apptainer ? "INFO:    " : "info: ") + text + '\n';
    (void)!write(STDERR_FILENO, line.data(), line.size());
}

void warn(const std::string& text) {
    const std::string line =
        (message_options.follows_apptainer ? "WARNING: " : "warning: ") + text + '\n';
    (void)!write(STDERR_FILENO, line.data(), line.size());
}

void warn_as_apptainer(const std::string& text) {
    if (message_options.follows_apptainer && !message_options.is_quiet) {
        warn(text);
    }
}

std::optional<namespaces::SquashfsServer> start_early(const ImageFile& image, bool is_root) {
    if (is_root || image.kind != ImageFile::Kind::kSquashfs) {
        return std::nullopt;
    }
    auto server = namespaces::SquashfsServer::start(part_of(image),
                                                    namespaces::SquashfsServer::Mounts::kOther);
    return server ? std::optional(std::move(*server)) : std::nullopt;
}

Result<MountedImage>
mount_image(const ImageFile& image, const MountRequest& request, const Environment& environment) {
    if (image.kind == ImageFile::Kind::kDirectory) {
        return use_directory(image.path, request, "directory");
    }
    if (image.kind == ImageFile::Kind::kExtended) {
        return serve_extended(image, request);
    }
    if (request.is_image_writable) {
        const bool is_sif = image.offset != 0;
        return fail(ErrorCode::kInput,
                    problem(is_sif ? "image-not-writable" : "squashfs-not-writable",
                            "the image '" + printable(image.path.string()) + "' cannot be changed")
                        .about(image.path.native()),
                    "--writable is for a directory; a SIF and a squashfs file are read-only",
                    "make a directory of it by `build --sandbox DIR IMAGE`, or write to memory by "
                    "--writable-tmpfs, or to a directory of its own by --overlay DIR");
    }
    std::string reasons;
    if (request.is_root && !request.is_unpacked) {
        auto mounted = attempt("kernel squashfs", request, [&](const auto& point) {
            return namespaces::mount_squashfs_by_loop(part_of(image), point);
        });
        if (mounted) {
            return mounted;
        }
        reasons += reason(mounted.error()) + "; ";
        tell_if(request.is_verbose, "not by the kernel: " + reason(mounted.error()));
    }
    if (!request.is_unpacked) {
        auto mounted = attempt("FUSE", request, [&](const auto& point) {
            return request.server != nullptr
                       ? request.server->mount(point)
                       : namespaces::mount_squashfs_by_fuse(part_of(image), point);
        });
        if (mounted) {
            return mounted;
        }
        reasons += reason(mounted.error());
    } else {
        reasons = "that was asked for";
    }
    tell_if(request.is_verbose, "the image is unpacked into the cache, since " + reasons);
    std::optional<Reporter> reporter(std::in_place, "unpacking the image", request.is_quiet);
    auto unpacked = unpack_into_cache(image, environment);
    reporter.reset();
    if (!unpacked) {
        return fail(
            std::move(unpacked).error().with_context("unpacking the image, since " + reasons));
    }
    CYBELE_TRY(MountedImage tree, use_directory(unpacked->folder, request, "unpacked"));
    tree.stage.name_image(unpacked->folder.filename());
    tree.lock = std::move(unpacked->lock);
    return tree;
}

MountChoice choose_mount() {
    const namespaces::Abilities abilities = namespaces::probe_abilities();
    if (!abilities.is_root && !abilities.user_namespaces) {
        return {"", "no user namespaces: " + abilities.user_namespaces_because};
    }
    if (abilities.is_root && abilities.loop) {
        return {"kernel squashfs", "this is root, and loop devices can be attached"};
    }
    const std::string before =
        abilities.is_root ? "no loop devices (" + abilities.loop_because + "); " : "";
    if (abilities.fuse) {
        return {"FUSE", before + "FUSE can be mounted"};
    }
    return {"unpacked", before + abilities.fuse_because};
}

} // namespace cybele::runtime
