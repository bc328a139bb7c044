// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/image_file.hpp"

#include "images/sif/copy.hpp"
#include "images/sif/kinds.hpp"
#include "images/sif/sif.hpp"
#include "images/sif/start.hpp"
#include "images/signatures/signed.hpp"
#include "runtime/containers/extended_file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

Result<UniqueFd> same_file(const UniqueFd& fd) {
    UniqueFd same(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    return same.valid() ? Result<UniqueFd>(std::move(same))
                        : fail(system_error("cannot open the image", errno));
}

FileState state_of(const struct stat& status) {
    return {status.st_size,
            {status.st_mtim.tv_sec, status.st_mtim.tv_nsec},
            {status.st_ctim.tv_sec, status.st_ctim.tv_nsec}};
}

/// Who else may write to the file could change it at any time, also while it is mounted.
bool is_in_safe_hands(const struct stat& status) {
    return (status.st_uid == geteuid() || status.st_uid == 0) &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Where the last byte that the image's own table names ends.
std::uint64_t end_of(const images::Image& image) {
    const images::Header& header = image.header();
    std::uint64_t end = std::max(header.descriptors_offset + header.descriptors_size,
                                 header.data_offset + header.data_size);
    for (const images::Descriptor& object : image.descriptors()) {
        end = std::max(end, object.offset + object.size);
    }
    return end;
}

/// A file without a name that holds the same; nobody has it open for writing any more.
Result<UniqueFd>
private_copy(const ImageFile& file, std::uint64_t size, const ImageDemand& demand) {
    CYBELE_TRY(const PendingFile copy,
               PendingFile::create(demand.scratch / "cybelectl-image", 0600));
    CYBELE_CHECK(images::copy_whole_file(
        file.fd.get(), copy.fd(), size, demand.scratch / "cybelectl-image"));
    return copy.reopen();
}

/// Puts what is verified in the place of the file, and verifies it.
Result<images::Image> take_verified(ImageFile& file, const ImageDemand& demand) {
    CYBELE_TRY(UniqueFd named, same_file(file.fd));
    // Refuses what is not a SIF, and one whose change was interrupted.
    CYBELE_TRY(const images::Image first, images::Image::open_shared(std::move(named), file.path));
    if (!images::is_signed(first)) { // refused by its table, whatever its size
        CYBELE_CHECK(demand.verify(first));
    }
    struct stat status = {};
    if (fstat(file.fd.get(), &status) != 0) {
        return fail(system_error("cannot examine the image", errno));
    }
    const bool is_safe = is_in_safe_hands(status);
    file.verified = state_of(status);
    if (!is_safe || status.st_size <= kMaximumCopy) {
        auto copy = private_copy(file, end_of(first), demand);
        if (copy) {
            file.fd = std::move(*copy);
            file.verified.reset();
        } else if (!is_safe) {
            const Fault& fault = copy.error().faults().front();
            return fail(ErrorCode::kEnvironment,
                        problem("verified-copy-failed",
                                "cannot copy the image '" + printable(file.path.string()) +
                                    "' for its verification"),
                        fault.message + (fault.because.empty() ? "" : ": " + fault.because),
                        "others may write to the image, so a private copy is verified and run; set "
                        "TMPDIR to a folder with enough space");
        }
    }
    CYBELE_TRY(UniqueFd same, same_file(file.fd));
    CYBELE_TRY(images::Image image, images::Image::open_shared(std::move(same), file.path));
    CYBELE_CHECK(demand.verify(image));
    CYBELE_CHECK(check_unchanged(file));
    return image;
}

Result<images::Image> open_sif(ImageFile& file, const ImageDemand* demand) {
    if (demand != nullptr) {
        return take_verified(file, *demand);
    }
    CYBELE_TRY(UniqueFd same, same_file(file.fd)); // what is mounted is what is read here
    return images::Image::open_shared(std::move(same), file.path);
}

Result<void> fill_from_sif(ImageFile& file,
                           const images::Image& image,
                           const std::string& host,
                           const ImageDemand* demand) {
    CYBELE_TRY(const images::Descriptor partition, image.root_squashfs());
    const std::string shown = printable(file.path.string());
    if (partition.arch() != host) {
        return fail(ErrorCode::kInput,
                    problem("image-other-processor",
                            "the image '" + shown + "' is for " + partition.arch() +
                                ", this machine is " + host),
                    "its programs cannot run here",
                    "build or pull it for " + host);
    }
    file.offset = partition.offset;
    file.size = partition.size;
    for (const images::Descriptor& one : image.overlays_of(partition)) {
        if (one.fs_type() == images::FsType::kExt3 && demand == nullptr && !file.extended) {
            file.extended = SquashfsPlace{one.offset, one.size};
            continue;
        }
        if (one.fs_type() != images::FsType::kSquashfs) {
            return fail(ErrorCode::kInput,
                        problem("overlay-partition-kind",
                                "the overlay partition " + std::to_string(one.id) + " of '" +
                                    shown + "' cannot be mounted"),
                        "it is not a squashfs, and its kernel driver would trust what it reads",
                        "remove it with 'sif del', or run the image with apptainer");
        }
        file.overlays.push_back({one.offset, one.size});
    }
    return {};
}

} // namespace

Result<void> check_unchanged(const ImageFile& file) {
    struct stat status = {};
    if (!file.verified ||
        (fstat(file.fd.get(), &status) == 0 && state_of(status) == *file.verified)) {
        return {};
    }
    return fail(ErrorCode::kVerification,
                problem("image-changed-while-verified",
                        "the image '" + printable(file.path.string()) + "' is not verified"),
                "it was changed while it was being verified",
                "start again when no other program writes to it");
}

Result<ImageFile> open_image(const std::filesystem::path& path,
                             const std::string& host_architecture,
                             const ImageDemand* demand) {
    ImageFile file;
    std::error_code failed;
    // A descriptor of this process may be of a file without a name.
    const bool is_descriptor = path.native().starts_with("/proc/self/fd/");
    file.path = is_descriptor ? path : std::filesystem::canonical(path, failed);
    if (failed) {
        const bool is_reference = path.native().find("://") != std::string::npos;
        return fail(ErrorCode::kInput,
                    problem(!path.empty() && failed == std::errc::no_such_file_or_directory
                                ? "image-file-missing"
                                : "image-not-opened",
                            "cannot open the image '" + printable(path.string()) + "'",
                            system_error("", failed.value()).faults().front().id)
                        .about(path.native()),
                    path.empty() ? "the path is empty" : failed.message(),
                    is_reference ? "make a SIF of it first: `cybelectl build " +
                                       printable(path.string()) + " -o NAME.sif`"
                                 : "check the path of the image");
    }
    struct stat status = {};
    if (stat(file.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        if (demand != nullptr) {
            return fail(ErrorCode::kVerification,
                        problem("directory-not-verifiable",
                                "'" + printable(file.path.string()) + "' cannot be verified"),
                        "it is a directory, and only a SIF carries signatures",
                        "build a SIF of it and sign that");
        }
        file.fd.reset(open(file.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        return file;
    }
    CYBELE_CHECK(images::check_is_file(file.path)); // a pipe would be waited for
    auto opened = open_for_reading(file.path);
    if (!opened && access(file.path.c_str(), R_OK) != 0 && errno == EACCES) {
        return fail(ErrorCode::kEnvironment,
                    problem("image-not-readable",
                            "cannot open the image '" + printable(file.path.string()) + "'")
                        .about(file.path.native()),
                    "Permission denied",
                    "check the permissions of the file and of the folders above it");
    }
    CYBELE_TRY(file.fd, std::move(opened));
    file.kind = ImageFile::Kind::kSquashfs;
    const images::ImageStart start = images::image_start(file.fd.get());
    if (start.is_squashfs() && demand == nullptr) {
        CYBELE_TRY(const std::uint64_t size, file_size(file.fd.get(), file.path));
        file.offset = start.offset;
        file.size = size - start.offset;
        return file;
    }
    if (demand == nullptr && is_extended(file.fd.get(), 0)) {
        file.kind = ImageFile::Kind::kExtended;
        CYBELE_TRY(file.fd, open_extended(file.path, false));
        return file;
    }
    CYBELE_TRY(const images::Image image, open_sif(file, demand));
    CYBELE_CHECK(fill_from_sif(file, image, host_architecture, demand));
    return file;
}

} // namespace cybele::runtime
