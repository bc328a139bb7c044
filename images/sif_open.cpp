// SPDX-License-Identifier: Apache-2.0
#include "images/sif.hpp"
#include "images/sif_format.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// What is wrong with an image; empty: nothing.
using Reason = std::string;

tl::unexpected<Error> damaged(const fs::path& path, const Reason& reason) {
    return fail(ErrorCode::kInput,
                fmt::format("the image {} is damaged", printable(path.native())),
                reason,
                "copy, pull or build the image again");
}

/// What a file is that is no SIF, by bytes at a place in it.
struct Kind {
    std::size_t offset;
    std::string_view bytes;
    std::string_view name;
    std::string_view help;
};

constexpr std::string_view kRebuild = "make a SIF of it: apptainer build new.sif FILE";
constexpr std::string_view kName = "check the name: an image ends in .sif";

constexpr Kind kKinds[] = {
    {0, "hsqs", "a bare squashfs file", kRebuild},
    {31, "hsqs", "a bare squashfs file with a launch script (Singularity 2)", kRebuild},
    {1080, "\x53\xef", "a bare ext file system", kRebuild},
    {257, "ustar", "a tar archive", "give the image, not an archive of it"},
    {0, "\x1f\x8b", "a gzip file", "unpack it first: gunzip FILE"},
    {0, "\x28\xb5\x2f\xfd", "a zstd file", "unpack it first: unzstd FILE"},
    {0, "\xfd\x37zXZ", "an xz file", "unpack it first: unxz FILE"},
    {0, "PK\x03\x04", "a zip archive", "unpack it first: unzip FILE"},
    {0, "\x7f\x45LF", "a program or library (ELF)", kName},
    {0, "#!", "a script", kName},
};

bool is_text(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) {
        return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r';
    });
}

tl::unexpected<Error> no_sif(const fs::path& path, std::string_view start, std::uint64_t size) {
    std::string_view is = "something else: the magic word SIF_MAGIC is missing";
    std::string_view help = kName;
    const auto* const kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) {
        return start.size() >= k.offset && start.substr(k.offset).starts_with(k.bytes);
    });
    if (kind != std::end(kKinds)) {
        is = kind->name;
        help = kind->help;
    } else if (size == 0) {
        is = "an empty file";
    } else if (is_text(start.substr(0, kHeaderSize))) {
        is = "a text file";
    } else if (size < kHeaderSize) {
        is = "too short for a header";
    }
    return fail(ErrorCode::kInput,
                fmt::format("{} is no SIF image", printable(path.native())),
                fmt::format("it is {}", is),
                std::string(help));
}

/// A file that can be read at any place. Asked by name first, for opening a pipe would wait.
Result<void> check_is_file(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status) || fs::is_regular_file(status)) {
        return {}; // what is missing or out of reach is told by the opening
    }
    const std::string_view is =
        fs::is_directory(status) ? "it is a directory" : "it is a pipe, a socket or a device";
    return fail(ErrorCode::kInput,
                fmt::format("{} is no SIF image", printable(path.native())),
                std::string(is),
                "give the .sif file");
}

bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t end) {
    return offset <= end && size <= end - offset;
}

Reason judge_header(const Header& header, std::uint64_t size) {
    const struct {
        std::string_view name;
        std::uint64_t value;
    } numbers[] = {
        {"free descriptors", header.descriptors_free},
        {"descriptors", header.descriptors_total},
        {"descriptor offset", header.descriptors_offset},
        {"descriptor size", header.descriptors_size},
        {"data offset", header.data_offset},
        {"data size", header.data_size},
    };
    for (const auto& number : numbers) {
        if (number.value > kMaximumOffset) {
            return fmt::format("its header has a negative number of {}", number.name);
        }
    }
    if (header.descriptors_total > kMaximumDescriptors) {
        return fmt::format("its header claims {} descriptors; at most {} are read",
                           header.descriptors_total,
                           kMaximumDescriptors);
    }
    if (header.descriptors_size != header.descriptors_total * kDescriptorSize) {
        return fmt::format("its header claims {} descriptors in {} bytes; they would take {}",
                           header.descriptors_total,
                           header.descriptors_size,
                           header.descriptors_total * kDescriptorSize);
    }
    if (header.descriptors_offset < kHeaderSize) {
        return "its descriptor table overlaps its header";
    }
    if (!fits(header.descriptors_offset, header.descriptors_size, size)) {
        return fmt::format("its descriptor table ends beyond the end of the file ({} bytes)", size);
    }
    if (header.data_offset < header.descriptors_offset + header.descriptors_size) {
        return "its data area overlaps its descriptor table";
    }
    if (!fits(header.data_offset, header.data_size, size)) {
        return fmt::format("its data area ends beyond the end of the file ({} bytes)", size);
    }
    return {};
}

Reason judge_descriptor(const Descriptor& object, const Header& header, std::uint64_t size) {
    if ((object.group & kGroupMask) != kGroupMask) {
        return fmt::format("the group of object {} lacks its mark", object.id);
    }
    if (object.offset > kMaximumOffset || object.size > kMaximumOffset ||
        object.size_with_padding > kMaximumOffset) {
        return fmt::format("object {} has a negative offset or size", object.id);
    }
    if (object.offset < header.data_offset) {
        return fmt::format("object {} starts before the data area", object.id);
    }
    if (!fits(object.offset, object.size, size)) {
        return fmt::format("object {} ends beyond the end of the file ({} bytes)", object.id, size);
    }
    if (!is_utf8(object.name) || has_control_characters(object.name)) {
        return fmt::format("the name of object {} has control characters or is no UTF-8: {}",
                           object.id,
                           printable(object.name));
    }
    if (object.type == DataType::kSignature && object.size > kMaximumSignatureSize) {
        return fmt::format("the signature object {} has {} bytes; at most {} are read",
                           object.id,
                           object.size,
                           kMaximumSignatureSize);
    }
    return {};
}

Reason judge_overlaps(const std::vector<Descriptor>& descriptors) {
    std::vector<const Descriptor*> order;
    for (const Descriptor& descriptor : descriptors) {
        if (descriptor.size > 0) {
            order.push_back(&descriptor);
        }
    }
    std::sort(order.begin(), order.end(), [](const Descriptor* a, const Descriptor* b) {
        return a->offset < b->offset;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (order[i]->offset < order[i - 1]->offset + order[i - 1]->size) {
            return fmt::format("objects {} and {} overlap", order[i - 1]->id, order[i]->id);
        }
    }
    return {};
}

Reason judge_primary(const std::vector<Descriptor>& descriptors, const Header& header) {
    const Descriptor* primary = nullptr;
    for (const Descriptor& descriptor : descriptors) {
        if (descriptor.part_type() != PartType::kPrimary) {
            continue;
        }
        if (primary != nullptr) {
            return fmt::format(
                "objects {} and {} are both its primary partition", primary->id, descriptor.id);
        }
        primary = &descriptor;
    }
    if (primary == nullptr) {
        return {};
    }
    for (std::size_t i = 0; i < header.arch_code.size(); ++i) {
        if (static_cast<std::uint8_t>(header.arch_code[i]) != primary->extra[8 + i]) {
            return fmt::format("its header says architecture {}, its primary partition {}",
                               header.arch,
                               primary->arch());
        }
    }
    return {};
}

/// The used entries of the table, read in pieces so that a huge table costs no second copy.
Result<std::vector<Descriptor>>
read_table(int fd, const Header& header, std::uint64_t size, const fs::path& path) {
    constexpr std::uint64_t kPiece = 512;
    std::vector<Descriptor> descriptors;
    std::vector<std::byte> buffer;
    std::uint64_t unused = 0;
    for (std::uint64_t first = 0; first < header.descriptors_total; first += kPiece) {
        const std::uint64_t count = std::min(kPiece, header.descriptors_total - first);
        buffer.resize(static_cast<std::size_t>(count) * kDescriptorSize);
        CYBELE_CHECK(
            read_at(fd, header.descriptors_offset + first * kDescriptorSize, buffer, path));
        for (std::size_t i = 0; i < count; ++i) {
            const auto entry = std::span<const std::byte>(buffer).subspan(i * kDescriptorSize);
            auto descriptor = decode_descriptor(entry.first<kDescriptorSize>());
            if (!descriptor) {
                ++unused;
                continue;
            }
            if (descriptor->id != first + i + 1) {
                return damaged(path,
                               fmt::format("entry {} of its descriptor table has the id {}",
                                           first + i + 1,
                                           descriptor->id));
            }
            if (const Reason reason = judge_descriptor(*descriptor, header, size);
                !reason.empty()) {
                return damaged(path, reason);
            }
            descriptor->group &= ~kGroupMask;
            descriptors.push_back(std::move(*descriptor));
        }
    }
    if (unused != header.descriptors_free) {
        return damaged(path,
                       fmt::format("its header claims {} free descriptors, but {} are",
                                   header.descriptors_free,
                                   unused));
    }
    return descriptors;
}

} // namespace

Result<Image> Image::open(const fs::path& path) {
    CYBELE_CHECK(check_is_file(path));
    Image image;
    image.path_ = path;
    CYBELE_TRY(image.fd_, open_for_reading(path));
    CYBELE_TRY(const std::uint64_t size, file_size(image.fd(), path));
    constexpr std::uint64_t kStart = 2048; // enough for the table of other kinds of files
    std::string start(static_cast<std::size_t>(std::min(size, kStart)), '\0');
    CYBELE_CHECK(read_at(image.fd(), 0, std::as_writable_bytes(std::span<char>(start)), path));
    const std::string_view magic =
        std::string_view(start).substr(std::min(start.size(), kLaunchScriptSize), kSifMagic.size());
    if (magic != kSifMagic) {
        return no_sif(path, start, size);
    }
    if (size < kHeaderSize) {
        return damaged(path, fmt::format("it ends within its header, at byte {}", size));
    }
    const std::string_view version =
        std::string_view(start).substr(kLaunchScriptSize + kSifMagic.size(), kSifVersion.size());
    if (version != kSifVersion) {
        return fail(
            ErrorCode::kInput,
            fmt::format("{} has an unknown version of the SIF format", printable(path.native())),
            fmt::format("it says version {}; only 01 is known", printable(version)),
            "build the image again, or use a newer cybelectl");
    }
    image.header_ = decode_header(std::as_bytes(std::span<const char>(start)).first<kHeaderSize>());
    if (const Reason reason = judge_header(image.header_, size); !reason.empty()) {
        return damaged(path, reason);
    }
    CYBELE_TRY(image.descriptors_, read_table(image.fd(), image.header_, size, path));
    Reason reason = judge_overlaps(image.descriptors_);
    if (reason.empty()) {
        reason = judge_primary(image.descriptors_, image.header_);
    }
    if (!reason.empty()) {
        return damaged(path, reason);
    }
    return image;
}

} // namespace cybele::images
