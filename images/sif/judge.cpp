// SPDX-License-Identifier: Apache-2.0
#include "images/sif/judge.hpp"

#include "images/sif/format.hpp"
#include "images/sif/image.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {

namespace {

bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t end) {
    return offset <= end && size <= end - offset;
}

} // namespace

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
        return fmt::format("its header claims {} descriptors in {} bytes; they would need {}",
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
        return fmt::format("the name of object {} has control characters or is not UTF-8: {}",
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

Reason judge_overlaps(std::vector<Extent>& extents) {
    std::ranges::sort(extents, {}, &Extent::offset);
    for (std::size_t i = 1; i < extents.size(); ++i) {
        if (extents[i].offset < extents[i - 1].offset + extents[i - 1].size) {
            return fmt::format("objects {} and {} overlap", extents[i - 1].id, extents[i].id);
        }
    }
    return {};
}

Reason judge_primary(const std::vector<Descriptor>& primaries, const Header& header) {
    if (primaries.empty()) {
        return {};
    }
    const Descriptor* const primary = &primaries.front();
    if (primaries.size() > 1) {
        return fmt::format(
            "objects {} and {} are both its primary partition", primary->id, primaries[1].id);
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

} // namespace cybele::images
