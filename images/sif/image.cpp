// SPDX-License-Identifier: Apache-2.0
#include "images/sif/image.hpp"

#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// What a root partition is that is no squashfs.
struct Root {
    FsType type;
    std::string_view is;
    std::string_view help;
};

constexpr Root kRoots[] = {
    {FsType::kExt3,
     "it is an ext3 file system, which needs a mount by root",
     "build a new image from it: apptainer build new.sif IMAGE"},
    {FsType::kArchive, "it is an archive, which cannot be mounted", "build the image again"},
    {FsType::kRaw, "it is raw data, with no known file system", "build the image again"},
    {FsType::kEncryptedSquashfs,
     "it is encrypted (LUKS2), and only its owner's key opens it",
     "run it with apptainer and its key, or build it again without --encrypt"},
    {FsType::kGocryptfs,
     "it is encrypted (gocryptfs), and only its owner's key opens it",
     "run it with apptainer and its key, or build it again without --encrypt"},
};

} // namespace

Result<Descriptor> Image::object(std::uint32_t id) const {
    std::string known;
    for (const Descriptor& descriptor : descriptors_) {
        if (descriptor.id == id) {
            return descriptor;
        }
        known += (known.empty() ? "" : ", ") + std::to_string(descriptor.id);
    }
    constexpr std::size_t kShown = 200;
    if (known.size() > kShown) {
        known.replace(known.rfind(',', kShown), std::string::npos, ", …");
    }
    return fail(ErrorCode::kInput,
                problem("sif-object-missing",
                        fmt::format("no object {} in {}", id, printable(path_.native()))),
                known.empty() ? "it has no objects" : fmt::format("its objects are {}", known),
                "`cybelectl sif list` shows them");
}

Result<Descriptor> Image::primary_partition() const {
    for (const Descriptor& descriptor : descriptors_) {
        if (descriptor.part_type() == PartType::kPrimary) {
            return descriptor;
        }
    }
    const bool is_oci = contains(descriptors_, DataType::kOciRootIndex, &Descriptor::type);
    if (is_oci) {
        return fail(ErrorCode::kInput,
                    problem("oci-sif-unsupported",
                            fmt::format("no root file system in {}", printable(path_.native()))),
                    "it is an OCI-SIF of SingularityCE, whose layers are separate objects",
                    "build the image without --oci, or pull it again from its registry");
    }
    return fail(ErrorCode::kInput,
                problem("root-file-system-missing",
                        fmt::format("no root file system in {}", printable(path_.native())))
                    .about(path_.native()),
                "none of its objects is a primary system partition",
                "build the image again, or mark the right partition with `sif setprim`");
}

Result<Descriptor> Image::root_squashfs() const {
    CYBELE_TRY(Descriptor root, primary_partition());
    if (root.fs_type() == FsType::kSquashfs) {
        return root;
    }
    const auto* const known = std::ranges::find(kRoots, root.fs_type(), &Root::type);
    const bool is_known = known != std::end(kRoots);
    return fail(ErrorCode::kInput,
                problem("root-file-system-unreadable",
                        fmt::format("the root file system of {} cannot be read",
                                    printable(path_.native()))),
                is_known ? std::string(known->is)
                         : fmt::format("its file system has the unknown type {}",
                                       static_cast<std::int32_t>(root.fs_type())),
                is_known ? std::string(known->help) : "build the image again");
}

std::vector<Descriptor> Image::overlays_of(const Descriptor& root) const {
    std::vector<Descriptor> overlays;
    for (const Descriptor& one : descriptors_) {
        if (one.part_type() == PartType::kOverlay && one.group == root.group) {
            overlays.push_back(one);
        }
    }
    return overlays;
}

Result<std::string> Image::read_object(const Descriptor& descriptor, std::uint64_t limit) const {
    if (descriptor.size > limit) {
        return fail(
            ErrorCode::kInput,
            problem("sif-object-too-big",
                    fmt::format(
                        "object {} of {} is too big", descriptor.id, printable(path_.native()))),
            fmt::format("it has {} bytes; at most {} are read here", descriptor.size, limit),
            "look at it with `cybelectl sif dump`");
    }
    std::string bytes(static_cast<std::size_t>(descriptor.size), '\0');
    CYBELE_CHECK(read_at(
        fd_.get(), descriptor.offset, std::as_writable_bytes(std::span<char>(bytes)), path_));
    return bytes;
}

Result<void> Image::copy_object(const Descriptor& descriptor, int to, const fs::path& name) const {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 18U;
    std::vector<char> buffer(static_cast<std::size_t>(std::min(kPiece, descriptor.size)));
    for (std::uint64_t done = 0; done < descriptor.size;) {
        const auto count = static_cast<std::size_t>(std::min(kPiece, descriptor.size - done));
        const std::span<char> piece(buffer.data(), count);
        CYBELE_CHECK(
            read_at(fd_.get(), descriptor.offset + done, std::as_writable_bytes(piece), path_));
        CYBELE_CHECK(write_all(to, {piece.data(), piece.size()}, name));
        done += count;
    }
    return {};
}

} // namespace cybele::images
