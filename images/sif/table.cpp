// SPDX-License-Identifier: Apache-2.0
#include "images/sif/table.hpp"

#include "images/sif/disk.hpp"
#include "images/sif/format.hpp"
#include "support/digest.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPartitionArchAt = 8; ///< in a partition's `extra`
constexpr std::size_t kPartitionTypeAt = 4; ///< the same

tl::unexpected<Error> refused_object(const fs::path& path, std::string because, std::string help) {
    return fail(ErrorCode::kInput,
                problem("sif-object-refused",
                        fmt::format("cannot add the object to {}", printable(path.native()))),
                std::move(because),
                std::move(help));
}

bool is_oci(DataType type) {
    return type == DataType::kOciRootIndex || type == DataType::kOciBlob;
}

/// The next multiple of `alignment`; nothing where the format has no number for it.
std::optional<std::uint64_t> align(std::uint64_t offset, std::uint64_t alignment) {
    const std::uint64_t over = alignment <= 1 ? 0 : offset % alignment;
    if (over == 0) {
        return offset;
    }
    const std::uint64_t gap = alignment - over;
    return gap > kMaximumOffset - offset ? std::nullopt : std::optional(offset + gap);
}

void set_part_type(Descriptor& descriptor, PartType type, std::int64_t time) {
    descriptor.extra[kPartitionTypeAt] =
        static_cast<std::uint8_t>(type); // all of them are below 256
    descriptor.modified = time;
}

} // namespace

Table::Table(Header header, const std::vector<Descriptor>& used, fs::path path)
    : header_(std::move(header)), entries_(header_.descriptors_total),
      is_erased_(header_.descriptors_total), path_(std::move(path)) {
    for (const Descriptor& descriptor : used) {
        entries_[descriptor.id - 1] = descriptor;
    }
}

std::uint64_t Table::end() const {
    std::uint64_t end = header_.data_offset;
    for (const auto& entry : entries_) {
        if (entry) {
            end = std::max(end, entry->offset + entry->size);
        }
    }
    return end;
}

/// What does not depend on the place in the file; refuses what the reader would refuse.
Result<Descriptor> Table::describe(const NewObject& object) const {
    if (object.name.size() > kNameSize) {
        return refused_object(
            path_,
            fmt::format("its name has {} bytes; {} is the most", object.name.size(), kNameSize),
            "shorten it, or leave it out");
    }
    if (!is_utf8(object.name) || has_control_characters(object.name)) {
        return refused_object(path_,
                              fmt::format("its name has control characters or is not UTF-8: {}",
                                          printable(object.name)),
                              "choose a plain name");
    }
    if (object.extra.size() > kExtraSize || (object.group & kGroupMask) != 0 ||
        (object.type == DataType::kSignature && object.bytes.size() > kMaximumSignatureSize)) {
        return fail(ErrorCode::kInternal,
                    problem("sif-object-fields", "an object does not fit the SIF format"),
                    "its extra data, group or signature is too large");
    }
    Descriptor descriptor;
    descriptor.type = object.type;
    descriptor.group = object.group;
    descriptor.link = object.link;
    descriptor.name = object.name;
    std::copy(object.extra.begin(), object.extra.end(), descriptor.extra.begin());
    const bool is_second = descriptor.part_type() == PartType::kPrimary &&
                           std::ranges::any_of(entries_, [](const auto& entry) {
                               return entry && entry->part_type() == PartType::kPrimary;
                           });
    if (is_second) {
        return refused_object(path_,
                              "the image already contains a primary partition",
                              "add it as a system partition, then make it the primary one");
    }
    return descriptor;
}

Result<void> Table::write_bytes(int fd, const NewObject& object, Descriptor& descriptor) const {
    descriptor.size = object.bytes.size();
    if (object.write) {
        CYBELE_TRY(descriptor.size, object.write(fd, descriptor.offset));
    } else {
        CYBELE_CHECK(write_at(fd, descriptor.offset, object.bytes, path_));
    }
    if (descriptor.type == DataType::kSignature && descriptor.size > kMaximumSignatureSize) {
        return refused_object(path_,
                              fmt::format("a signature of {} bytes; {} is the most",
                                          descriptor.size,
                                          kMaximumSignatureSize),
                              "is it the right file?");
    }
    if (is_oci(object.type) && object.extra.empty()) {
        CYBELE_TRY(const Digest digest,
                   sha256_range(fd, descriptor.offset, descriptor.size, path_));
        const std::vector<std::uint8_t> extra = oci_digest_extra(digest);
        std::copy(extra.begin(), extra.end(), descriptor.extra.begin());
    }
    return {};
}

Result<void> Table::add(int fd, const NewObject& object, std::int64_t time) {
    const auto slot = std::find(entries_.begin(), entries_.end(), std::nullopt);
    if (slot == entries_.end()) {
        return refused_object(path_,
                              fmt::format("all {} descriptors are in use", entries_.size()),
                              "delete an object, or build the image with more descriptors");
    }
    CYBELE_TRY(Descriptor descriptor, describe(object));
    const std::uint64_t before = end();
    const auto offset = align(before, object.alignment);
    if (!offset) {
        return refused_object(path_,
                              fmt::format("no place is aligned to {}", object.alignment),
                              "ask for a smaller alignment");
    }
    descriptor.id = static_cast<std::uint32_t>(slot - entries_.begin()) + 1;
    descriptor.offset = *offset;
    descriptor.created = time;
    descriptor.modified = time;
    CYBELE_CHECK(write_bytes(fd, object, descriptor));
    CYBELE_TRY(const std::uint64_t length, file_size(fd, path_));
    const std::uint64_t after = descriptor.offset + descriptor.size;
    if (length < after) { // an empty object behind an alignment gap
        CYBELE_CHECK(set_length(fd, after, path_));
    }
    descriptor.size_with_padding = after - before;
    header_.data_size = after - header_.data_offset;
    header_.descriptors_free -= 1;
    if (descriptor.part_type() == PartType::kPrimary) {
        take_architecture(&descriptor);
    }
    *slot = std::move(descriptor);
    return {};
}

Result<Descriptor*> Table::find(std::uint32_t id) {
    Descriptor* found = nullptr;
    if (id != 0 && id <= entries_.size()) {
        std::optional<Descriptor>& entry = entries_[id - 1];
        found = entry ? &*entry : nullptr;
    }
    if (found == nullptr) {
        return fail(ErrorCode::kInput,
                    problem("sif-object-missing",
                            fmt::format("no object {} in {}", id, printable(path_.native()))),
                    {},
                    "`cybelectl sif list` shows its objects");
    }
    return found;
}

Result<Descriptor> Table::erase(std::uint32_t id) {
    CYBELE_TRY(Descriptor* const entry, find(id));
    Descriptor erased = std::move(*entry);
    entries_[id - 1].reset();
    is_erased_[id - 1] = true;
    header_.descriptors_free += 1;
    if (erased.part_type() == PartType::kPrimary) {
        take_architecture(nullptr);
    }
    return erased;
}

Result<bool> Table::set_primary(std::uint32_t id, std::int64_t time) {
    CYBELE_TRY(Descriptor* const entry, find(id));
    Descriptor& wanted = *entry;
    if (wanted.part_type() == PartType::kPrimary) {
        return false;
    }
    if (wanted.part_type() != PartType::kSystem) {
        return fail(ErrorCode::kInput,
                    problem("sif-primary-refused",
                            fmt::format("object {} of {} cannot be the primary partition",
                                        id,
                                        printable(path_.native()))),
                    wanted.type == DataType::kPartition
                        ? fmt::format("it is not a system partition but one of type {}",
                                      part_type_name(wanted.part_type()))
                        : fmt::format("it is not a partition but {}", data_type_name(wanted.type)),
                    "name a system partition; `cybelectl sif list` shows them");
    }
    for (auto& other : entries_) {
        if (other && other->part_type() == PartType::kPrimary) {
            set_part_type(*other, PartType::kSystem, time);
        }
    }
    set_part_type(wanted, PartType::kPrimary, time);
    take_architecture(&wanted);
    return true;
}

void Table::take_architecture(const Descriptor* primary) {
    header_.arch_code = {'0', '0', '\0'};
    if (primary != nullptr) {
        std::copy_n(primary->extra.begin() + kPartitionArchAt,
                    header_.arch_code.size(),
                    header_.arch_code.begin());
    }
    header_.arch = architecture_name({header_.arch_code.data(), 2});
}

void Table::compact() {
    header_.data_size = end() - header_.data_offset;
}

Result<void> Table::write(int fd) const {
    std::string table;
    table.reserve(entries_.size() * kDescriptorSize);
    for (const std::optional<Descriptor>& entry : entries_) {
        table += entry ? encode_descriptor(*entry) : std::string(kDescriptorSize, '\0');
    }
    CYBELE_CHECK(write_at(fd, header_.descriptors_offset, table, path_));
    return write_at(fd, 0, encode_header(header_), path_);
}

Result<std::vector<JournalPiece>> Table::changes(int fd) const {
    std::vector<JournalPiece> pieces;
    std::string before(kDescriptorSize, '\0');
    const auto compare = [&](std::uint64_t offset, std::string after) -> Result<void> {
        before.resize(after.size());
        CYBELE_CHECK(read_at(fd, offset, std::as_writable_bytes(std::span<char>(before)), path_));
        if (before != after) {
            pieces.push_back({offset, before, std::move(after)});
        }
        return {};
    };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const std::optional<Descriptor>& entry = entries_[i];
        if (entry || is_erased_[i]) {
            CYBELE_CHECK(
                compare(header_.descriptors_offset + i * kDescriptorSize,
                        entry ? encode_descriptor(*entry) : std::string(kDescriptorSize, '\0')));
        }
    }
    CYBELE_CHECK(compare(0, encode_header(header_)));
    return pieces;
}

} // namespace cybele::images
