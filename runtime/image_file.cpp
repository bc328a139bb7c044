// SPDX-License-Identifier: Apache-2.0
#include "runtime/image_file.hpp"

#include "images/sif/sif.hpp"
#include "images/start.hpp"
#include "support/quote.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace cybele::runtime {
namespace {

Result<void> fill_from_sif(ImageFile& file, const std::string& host) {
    CYBELE_TRY(const images::Image image, images::Image::open(file.path));
    CYBELE_TRY(const images::Descriptor partition, image.root_squashfs());
    const std::string shown = printable(file.path.string());
    if (partition.arch() != host) {
        return fail(ErrorCode::kInput,
                    "the image '" + shown + "' is for " + partition.arch() + ", this machine is " +
                        host,
                    "its programs cannot run here",
                    "build or pull it for " + host);
    }
    file.offset = partition.offset;
    file.size = partition.size;
    for (const images::Descriptor& one : image.descriptors()) {
        if (one.type != images::DataType::kPartition ||
            one.part_type() != images::PartType::kOverlay || one.group != partition.group) {
            continue;
        }
        if (one.fs_type() != images::FsType::kSquashfs) {
            return fail(ErrorCode::kInput,
                        "the overlay partition " + std::to_string(one.id) + " of '" + shown +
                            "' cannot be mounted",
                        "it is no squashfs, and its kernel driver would trust what it reads",
                        "remove it with 'sif del', or run the image with apptainer");
        }
        file.overlays.push_back({one.offset, one.size});
    }
    return {};
}

} // namespace

Result<ImageFile> open_image(const std::filesystem::path& path,
                             const std::string& host_architecture) {
    ImageFile file;
    std::error_code failed;
    file.path = std::filesystem::canonical(path, failed);
    if (failed) {
        const bool is_reference = path.native().find("://") != std::string::npos;
        return fail(ErrorCode::kInput,
                    "cannot open the image '" + printable(path.string()) + "'",
                    path.empty() ? "the path is empty" : failed.message(),
                    is_reference ? "make a SIF of it first: `cybelectl build " +
                                       printable(path.string()) + " -o NAME.sif`"
                                 : "check the path of the image");
    }
    struct stat status = {};
    if (stat(file.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        file.fd.reset(open(file.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        return file;
    }
    CYBELE_TRY(file.fd, open_for_reading(file.path));
    file.kind = ImageFile::Kind::kSquashfs;
    const images::ImageStart start = images::image_start(file.fd.get());
    if (start.is_squashfs()) {
        CYBELE_TRY(const std::uint64_t size, file_size(file.fd.get(), file.path));
        file.offset = start.offset;
        file.size = size - start.offset;
        return file;
    }
    CYBELE_CHECK(fill_from_sif(file, host_architecture));
    return file;
}

} // namespace cybele::runtime
