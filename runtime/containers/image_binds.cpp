// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/image_binds.hpp"

#include "images/sif/kinds.hpp"
#include "images/sif/sif.hpp"
#include "images/sif/start.hpp"
#include "runtime/containers/extended_file.hpp"
#include "runtime/containers/root_image.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/squashfs_mount.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <optional>

#include <fcntl.h>

namespace cybele::runtime {
namespace {

using namespaces::Mount;

constexpr std::string_view kImageBindHelp =
    "image-src= names a place in a squashfs file, an ext3 file or a partition of a SIF";

tl::unexpected<Error> no_image_bind(const std::filesystem::path& path,
                                    const std::string& because,
                                    std::string detail = {},
                                    std::string subject = {}) {
    return fail(ErrorCode::kInput,
                problem("image-bind-unusable",
                        "cannot bind a part of '" + printable(path.string()) + "'",
                        std::move(detail))
                    .about(std::move(subject), path.native()),
                because,
                std::string(kImageBindHelp));
}

/// The partition `id`, or with 0 the first one of data.
Result<images::Descriptor> partition_of(const images::Image& image, std::uint32_t id) {
    for (const images::Descriptor& one : image.descriptors()) {
        const bool is_partition = one.type == images::DataType::kPartition;
        const bool is_meant = id == 0 ? one.part_type() == images::PartType::kData : one.id == id;
        if (is_partition && is_meant) {
            return one;
        }
    }
    return no_image_bind(image.path(),
                         id == 0 ? "the SIF has no partition of data"
                                 : "the SIF has no partition " + std::to_string(id),
                         "partition");
}

} // namespace

void ImageBinds::warn_of_reading(const Part& part, const Mount& mount) {
    if (!mount.is_read_only && !part.is_extended && !part.is_of_sif) {
        warn_as_apptainer("Data image " + part.path.native() +
                          " is not writable, proceeding with read-only");
    }
}

Result<ImageBinds::Part> ImageBinds::open_part(const Mount& mount) {
    Part part;
    std::error_code failed;
    part.path = std::filesystem::canonical(mount.source, failed);
    if (failed) {
        return no_image_bind(mount.source, failed.message());
    }
    if (std::filesystem::is_directory(part.path, failed)) {
        return fail(ErrorCode::kInput,
                    problem("image-bind-of-directory",
                            "cannot bind a part of '" + printable(mount.source.string()) + "'")
                        .about(mount.source.native()),
                    "it is a directory",
                    std::string(kImageBindHelp));
    }
    CYBELE_CHECK(images::check_is_file(part.path));
    part.id = mount.image_id;
    CYBELE_TRY(part.fd, open_for_reading(part.path));
    const images::ImageStart start = images::image_start(part.fd.get());
    if (start.kind == images::ImageStart::Kind::kSif) {
        CYBELE_TRY(UniqueFd same, open_for_reading(part.path));
        CYBELE_TRY(const images::Image image,
                   images::Image::open_shared(std::move(same), part.path));
        CYBELE_TRY(const images::Descriptor found, partition_of(image, part.id));
        part.offset = found.offset;
        part.size = found.size;
        part.is_extended = found.fs_type() == images::FsType::kExt3;
        if (!part.is_extended && found.fs_type() != images::FsType::kSquashfs) {
            return no_image_bind(part.path, "the partition is neither squashfs nor ext3");
        }
    } else if (start.is_squashfs()) {
        CYBELE_TRY(const std::uint64_t size, file_size(part.fd.get(), part.path));
        part.offset = start.offset;
        part.size = size - start.offset;
    } else if (is_extended(part.fd.get(), 0)) {
        part.is_extended = true;
    } else {
        return no_image_bind(part.path, "it is not an image");
    }
    part.is_of_sif = start.kind == images::ImageStart::Kind::kSif;
    warn_of_reading(part, mount);
    if (part.is_extended) {
        part.is_writable = !mount.is_read_only;
        CYBELE_TRY(part.fd, open_extended(part.path, part.is_writable));
    }
    return part;
}

ImageBinds::Part* ImageBinds::find(const Mount& mount) {
    std::error_code failed;
    const auto path = std::filesystem::canonical(mount.source, failed);
    return find_row(parts_,
                    [&](const Part& one) { return one.path == path && one.id == mount.image_id; });
}

Result<ImageBinds> ImageBinds::open(const std::vector<Mount>& mounts) {
    ImageBinds binds;
    for (const Mount& mount : mounts) {
        if (mount.image_source.empty()) {
            continue;
        }
        if (const Part* const known = binds.find(mount)) {
            if (known->is_extended && (known->is_writable || !mount.is_read_only)) {
                return no_image_bind(known->path,
                                     "it is bound a second time, and an ext3 file has one writer",
                                     "in-use");
            }
            warn_of_reading(*known, mount);
            continue;
        }
        CYBELE_TRY(Part part, open_part(mount));
        binds.parts_.push_back(std::move(part));
    }
    return binds;
}

Result<void>
ImageBinds::mount(const Stage& stage, const std::string& way, std::vector<Mount>& mounts) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        Part& part = parts_[i];
        const std::string name = "bound" + std::to_string(i);
        if (part.is_extended) {
            CYBELE_TRY(part.root,
                       mount_extended(
                           stage, {part.fd.get(), part.offset, part.is_writable}, name.c_str()));
            continue;
        }
        CYBELE_CHECK(stage.make_directory(name.c_str()));
        const namespaces::SquashfsPart squashfs{part.fd.get(), part.offset, part.size, part.path};
        const namespaces::SquashfsPoint point{stage.fd(), name.c_str()};
        CYBELE_CHECK(way == "kernel squashfs"
                         ? namespaces::mount_squashfs_by_loop(squashfs, point)
                         : namespaces::mount_squashfs_by_fuse(squashfs, point));
        CYBELE_TRY(part.root, stage.open(name.c_str()));
    }
    for (Mount& mount : mounts) {
        if (mount.image_source.empty()) {
            continue;
        }
        auto source = namespaces::open_in_root(find(mount)->root.get(), mount.image_source);
        if (!source) {
            return no_image_bind(mount.source,
                                 "it has no " + printable(mount.image_source),
                                 "missing",
                                 mount.image_source);
        }
        mount.source_fd = source->get();
        sources_.push_back(std::move(*source));
    }
    return {};
}

} // namespace cybele::runtime
