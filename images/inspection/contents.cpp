// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/contents.hpp"

#include "images/inspection/inspect_json.hpp"
#include "images/inspection/layered_node.hpp"
#include "images/sif/start.hpp"
#include "images/squashfs/nodes.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <array>
#include <system_error>

#include <fmt/format.h>

namespace cybele::images {
namespace {

struct Unreadable {
    FsType type;
    const char* name;
};
constexpr std::array kUnreadable = {
    Unreadable{FsType::kExt3, "ext3"},
    Unreadable{FsType::kArchive, "an archive"},
    Unreadable{FsType::kRaw, "raw"},
    Unreadable{FsType::kEncryptedSquashfs, "an encrypted squashfs"},
    Unreadable{FsType::kGocryptfs, "an encrypted squashfs (gocryptfs)"},
};

/// The overlay partitions, in the order in which a runtime lays them over the root.
Result<void> add_overlays(Contents& contents, const Image& image, const Descriptor& primary) {
    std::uint64_t layer = 0;
    for (const Descriptor& one : image.overlays_of(primary)) {
        if (one.fs_type() != FsType::kSquashfs) {
            contents.note = fmt::format(
                "the overlay partition {} is not a squashfs: its contents are not seen", one.id);
            continue;
        }
        CYBELE_TRY(auto upper, open_squashfs(image.fd(), one.offset, one.size));
        contents.root = lay_over(std::move(contents.root), std::move(upper), ++layer);
    }
    return {};
}

Result<Contents> open_sif(UniqueFd fd, const std::filesystem::path& path) {
    CYBELE_TRY(auto image, Image::open_shared(std::move(fd), path));
    Contents contents;
    const auto partition = image.primary_partition();
    if (!partition) {
        contents.because = "it has no root file system";
    } else if (partition->fs_type() == FsType::kSquashfs) {
        CYBELE_TRY(contents.root, open_squashfs(image.fd(), partition->offset, partition->size));
        CYBELE_CHECK(add_overlays(contents, image, *partition));
    } else {
        contents.because = "its root file system is of an unknown kind";
        for (const auto& kind : kUnreadable) {
            if (kind.type == partition->fs_type()) {
                contents.because = fmt::format("its root file system is {}", kind.name);
            }
        }
    }
    contents.image = std::move(image);
    return contents;
}

} // namespace

Result<Contents> open_contents(const std::filesystem::path& path) {
    std::error_code error;
    Contents contents;
    if (std::filesystem::is_directory(path, error)) {
        CYBELE_TRY(contents.root, open_directory(path.native()));
        return contents;
    }
    CYBELE_TRY(auto fd, open_for_reading(path));
    const ImageStart start = image_start(fd.get());
    if (!start.is_squashfs()) {
        return open_sif(std::move(fd), path);
    }
    CYBELE_TRY(const auto size, file_size(fd.get(), path));
    CYBELE_TRY(contents.root, open_squashfs(fd.get(), start.offset, size - start.offset));
    return contents;
}

Result<FilePointer> files_of(const Contents& contents, std::string_view what) {
    if (!contents.root) {
        return fail(
            ErrorCode::kInput,
            problem("image-files-unreadable",
                    fmt::format("the files of the image cannot be read, which {} needs", what)),
            contents.because,
            "name an image with a squashfs, or the directory it was made of");
    }
    return contents.root;
}

Result<Inspection> inspect_contents(const Contents& contents) {
    if (contents.image) {
        return inspect_image(*contents.image);
    }
    return inspect_files(contents.root);
}

} // namespace cybele::images
