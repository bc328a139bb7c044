// SPDX-License-Identifier: Apache-2.0
#include "images/sif.hpp"
#include "images/sif_copy.hpp"
#include "images/sif_format.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kImageMode = 0755;

Result<void> write_at(int fd, std::uint64_t offset, std::string_view bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("cannot write " + printable(path.native()), errno));
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return {};
}

Result<void> set_length(int fd, std::uint64_t length, const fs::path& path) {
    if (::ftruncate(fd, static_cast<off_t>(length)) != 0) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    return {};
}

tl::unexpected<Error> refused(const fs::path& path, std::string because, std::string help) {
    return fail(ErrorCode::kInput,
                fmt::format("cannot add the object to {}", printable(path.native())),
                std::move(because),
                std::move(help));
}

/// Puts objects into a file whose header and table are known, in the order of the reference: the
/// data first, then the table, then the header.
class Writer {
public:
    Writer(int fd, const fs::path& path, Header header, const std::vector<Descriptor>& used)
        : fd_(fd), path_(path), header_(std::move(header)), table_(header_.descriptors_total),
          end_(header_.data_offset) {
        for (const Descriptor& descriptor : used) {
            end_ = std::max(end_, descriptor.offset + descriptor.size);
            has_primary_ = has_primary_ || descriptor.part_type() == PartType::kPrimary;
            table_[descriptor.id - 1] = descriptor;
        }
    }

    Result<void> add(const NewObject& object, std::int64_t time) {
        const auto slot = std::find(table_.begin(), table_.end(), std::nullopt);
        if (slot == table_.end()) {
            return refused(path_,
                           fmt::format("all {} descriptors are in use", table_.size()),
                           "delete an object, or build the image with more descriptors");
        }
        CYBELE_TRY(Descriptor descriptor, describe(object));
        const std::uint64_t alignment = std::max<std::uint64_t>(1, object.alignment);
        descriptor.id = static_cast<std::uint32_t>(slot - table_.begin()) + 1;
        descriptor.offset = (end_ + alignment - 1) / alignment * alignment;
        descriptor.created = time;
        descriptor.modified = time;
        descriptor.size = object.bytes.size();
        if (object.write) {
            CYBELE_TRY(descriptor.size, object.write(fd_, descriptor.offset));
        } else {
            CYBELE_CHECK(write_at(fd_, descriptor.offset, object.bytes, path_));
        }
        descriptor.size_with_padding = descriptor.offset + descriptor.size - end_;
        end_ = descriptor.offset + descriptor.size;
        header_.data_size = end_ - header_.data_offset;
        header_.descriptors_free -= 1;
        if (descriptor.part_type() == PartType::kPrimary) {
            has_primary_ = true;
            std::copy_n(descriptor.extra.begin() + 8, 3, header_.arch_code.begin());
        }
        *slot = std::move(descriptor);
        return {};
    }

    Result<void> finish(std::int64_t time) {
        header_.modified = time;
        std::string table;
        table.reserve(table_.size() * kDescriptorSize);
        for (const std::optional<Descriptor>& entry : table_) {
            table += entry ? encode_descriptor(*entry) : std::string(kDescriptorSize, '\0');
        }
        CYBELE_CHECK(write_at(fd_, header_.descriptors_offset, table, path_));
        return write_at(fd_, 0, encode_header(header_), path_);
    }

    [[nodiscard]] std::uint64_t end() const {
        return end_;
    }

private:
    /// What does not depend on the place in the file; refuses what the reader would refuse.
    Result<Descriptor> describe(const NewObject& object) const {
        if (object.name.size() > kNameSize) {
            return refused(
                path_,
                fmt::format("its name has {} bytes; {} is the most", object.name.size(), kNameSize),
                "shorten it, or leave it out");
        }
        if (!is_utf8(object.name) || has_control_characters(object.name)) {
            return refused(path_,
                           fmt::format("its name has control characters or is no UTF-8: {}",
                                       printable(object.name)),
                           "choose a plain name");
        }
        if (object.extra.size() > kExtraSize || (object.group & kGroupMask) != 0 ||
            (object.type == DataType::kSignature && object.bytes.size() > kMaximumSignatureSize)) {
            return fail(ErrorCode::kInternal,
                        "an object does not fit the SIF format",
                        "its extra data, group or signature is too large");
        }
        Descriptor descriptor;
        descriptor.type = object.type;
        descriptor.group = object.group;
        descriptor.link = object.link;
        descriptor.name = object.name;
        std::copy(object.extra.begin(), object.extra.end(), descriptor.extra.begin());
        if (has_primary_ && descriptor.part_type() == PartType::kPrimary) {
            return refused(path_,
                           "the image already contains a primary partition",
                           "add it as a system partition, then make it the primary one");
        }
        return descriptor;
    }

    int fd_;
    const fs::path& path_;
    Header header_;
    std::vector<std::optional<Descriptor>> table_;
    std::uint64_t end_;
    bool has_primary_ = false;
};

/// The file that a name stands for, so that a link stays a link when its target is replaced.
fs::path resolve(const fs::path& path) {
    std::error_code error;
    fs::path real = fs::canonical(path, error);
    return error ? path : real;
}

} // namespace

Result<void> write_image(const fs::path& path, const NewImage& image) {
    if (image.launch_script.size() >= kLaunchScriptSize) {
        return fail(ErrorCode::kInput,
                    "the launch script is too long",
                    fmt::format("it has {} bytes; {} is the most",
                                image.launch_script.size(),
                                kLaunchScriptSize - 1),
                    "shorten it");
    }
    if (image.descriptors > kMaximumDescriptors) {
        return fail(ErrorCode::kInput,
                    "too many descriptors are asked for",
                    fmt::format("{} of {}", image.descriptors, kMaximumDescriptors),
                    "ask for fewer");
    }
    const std::int64_t time = image.time.value_or(kDeterministicTime);
    Header header;
    header.launch_script = image.launch_script;
    header.arch_code = {'0', '0', '\0'};
    header.id = image.id.value_or(std::array<std::uint8_t, 16>{});
    header.created = time;
    header.descriptors_free = image.descriptors;
    header.descriptors_total = image.descriptors;
    header.descriptors_offset = kDescriptorsOffset;
    header.descriptors_size = image.descriptors * kDescriptorSize;
    header.data_offset = header.descriptors_offset + header.descriptors_size;

    CYBELE_TRY(PendingFile file, PendingFile::create(path, kImageMode));
    Writer writer(file.fd(), path, std::move(header), {});
    for (const NewObject& object : image.objects) {
        CYBELE_CHECK(writer.add(object, time));
    }
    CYBELE_CHECK(set_length(file.fd(), writer.end(), path));
    CYBELE_CHECK(writer.finish(time));
    return file.commit();
}

Result<void>
add_objects(const fs::path& path, const std::vector<NewObject>& objects, std::int64_t now) {
    const fs::path real = resolve(path);
    CYBELE_TRY(const Image image, Image::open(real));
    struct stat status {};
    if (::fstat(image.fd(), &status) != 0) {
        return fail(system_error("cannot examine " + printable(path.native()), errno));
    }
    const std::int64_t time = image.header().is_deterministic() ? kDeterministicTime : now;
    CYBELE_TRY(PendingFile file, PendingFile::create(real, kImageMode));
    CYBELE_CHECK(
        copy_whole_file(image.fd(), file.fd(), static_cast<std::uint64_t>(status.st_size), real));
    Writer writer(file.fd(), path, image.header(), image.descriptors());
    for (const NewObject& object : objects) {
        CYBELE_CHECK(writer.add(object, time));
    }
    CYBELE_TRY(const std::uint64_t length, file_size(file.fd(), real));
    if (length < writer.end()) { // an empty object behind an alignment gap
        CYBELE_CHECK(set_length(file.fd(), writer.end(), real));
    }
    CYBELE_CHECK(writer.finish(time));
    CYBELE_CHECK(keep_owner_and_mode(status, file.fd(), real));
    return file.commit();
}

} // namespace cybele::images
