// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/signed.hpp"

#include "images/sif/format.hpp"
#include "images/sif/start.hpp"
#include "images/signatures/dsse.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/signature.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace cybele::images {

bool is_signed(const Image& image) {
    return contains(image.descriptors(), DataType::kSignature, &Descriptor::type);
}

bool is_signed(std::string_view start) {
    if (image_start(start).kind != ImageStart::Kind::kSif || start.size() < kHeaderSize) {
        return false;
    }
    const auto bytes = std::as_bytes(std::span<const char>(start));
    const Header header = decode_header(bytes.first<kHeaderSize>());
    std::uint64_t at = header.descriptors_offset;
    for (std::uint64_t i = 0;
         i < header.descriptors_total && at <= bytes.size() && bytes.size() - at >= kDescriptorSize;
         ++i, at += kDescriptorSize) {
        const auto object = decode_descriptor(bytes.subspan(at).first<kDescriptorSize>());
        if (object && object->type == DataType::kSignature) {
            return true;
        }
    }
    return false;
}

Result<std::string> broken_signature(const Image& image) {
    struct Claimed {
        std::uint32_t object = 0;
        std::uint32_t group = 0;
        SignedMessage message;
    };
    std::vector<Claimed> all;
    std::set<std::uint32_t> unread; ///< groups with signatures that only a keyring can read
    ObjectDigests digests(image);
    const auto groups = signable_groups(image);
    for (const Descriptor& object : image.descriptors()) {
        const std::uint32_t group = object.link & ~kGroupMask;
        if (object.type != DataType::kSignature || !object.is_group_link() ||
            !std::binary_search(groups.begin(), groups.end(), group)) {
            continue;
        }
        CYBELE_TRY(const std::string text, image.read_object(object, kMaximumSignatureSize));
        const auto envelope = parse_envelope(text);
        if (!envelope || envelope->payload_type != kSifMetadataType) {
            unread.insert(group);
            continue;
        }
        auto message = parse_message(envelope->payload);
        if (!message) {
            return fmt::format("signature {}: {}", object.id, message.error().message());
        }
        expect_digests(*message, image, group, digests);
        all.push_back({object.id, group, std::move(*message)});
    }
    std::map<std::uint32_t, std::string> broken; // of a group the first reason; empty: one fits
    for (const Claimed& one : all) {
        std::vector<std::uint32_t> covers;
        CYBELE_TRY(std::string because,
                   compare_message(one.message, image, one.group, digests, covers));
        if (because.empty()) {
            broken[one.group].clear();
        } else {
            broken.try_emplace(one.group,
                               fmt::format("signature {}: {}", one.object, std::move(because)));
        }
    }
    for (const auto& [group, because] : broken) {
        if (!because.empty() && !unread.contains(group)) {
            return because;
        }
    }
    return std::string();
}

} // namespace cybele::images
