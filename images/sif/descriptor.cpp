// SPDX-License-Identifier: Apache-2.0
#include "images/sif/descriptor.hpp"

#include "images/sif/format.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/random.hpp"

#include <algorithm>

namespace cybele::images {

namespace {

// Places in `extra` (docs/reference/sif-format.md, "Types").
constexpr std::size_t kPartTypeAt = 4;
constexpr std::size_t kArchAt = 8;
constexpr std::size_t kEntityAt = 4;
constexpr std::size_t kEntitySize = 256;
constexpr std::size_t kMessageTypeAt = 4;
constexpr std::string_view kDigestStart = "sha256:";
constexpr std::size_t kDigestTextSize = kDigestStart.size() + 64;

/// The number at a place of `extra`, in an object of this type; 0 in any other.
template <class Number>
Number extra_number(const Descriptor& descriptor, DataType type, std::size_t at) {
    std::uint32_t value = 0;
    if (descriptor.type == type) {
        for (std::size_t i = 0; i < 4; ++i) {
            value |= std::uint32_t{descriptor.extra[at + i]} << (8U * i);
        }
    }
    return static_cast<Number>(static_cast<std::int32_t>(value));
}

template <class... Number>
std::vector<std::uint8_t> numbers(Number... number) {
    std::string bytes;
    (append_little_endian(bytes, static_cast<std::uint32_t>(number)), ...);
    return {bytes.begin(), bytes.end()};
}

} // namespace

std::optional<std::uint32_t> Descriptor::linked_group() const {
    return is_group_link() ? std::optional(link & ~kGroupMask) : std::nullopt;
}

std::optional<std::uint32_t> Descriptor::linked_object() const {
    return is_group_link() || link == 0 ? std::nullopt : std::optional(link);
}

FsType Descriptor::fs_type() const {
    return extra_number<FsType>(*this, DataType::kPartition, 0);
}

PartType Descriptor::part_type() const {
    return extra_number<PartType>(*this, DataType::kPartition, kPartTypeAt);
}

std::string Descriptor::arch() const {
    if (type != DataType::kPartition) {
        return "";
    }
    const std::array<char, 2> code{static_cast<char>(extra[kArchAt]),
                                   static_cast<char>(extra[kArchAt + 1])};
    return std::string(architecture_name({code.data(), code.size()}));
}

HashType Descriptor::hash_type() const {
    return extra_number<HashType>(*this, DataType::kSignature, 0);
}

std::optional<Fingerprint> Descriptor::fingerprint() const {
    Fingerprint found{};
    if (type == DataType::kSignature) {
        std::copy_n(extra.begin() + kEntityAt, found.size(), found.begin());
    }
    return found == Fingerprint{} ? std::nullopt : std::optional(found);
}

MessageFormat Descriptor::message_format() const {
    return extra_number<MessageFormat>(*this, DataType::kCryptoMessage, 0);
}

MessageType Descriptor::message_type() const {
    return extra_number<MessageType>(*this, DataType::kCryptoMessage, kMessageTypeAt);
}

SbomFormat Descriptor::sbom() const {
    return extra_number<SbomFormat>(*this, DataType::kSbom, 0);
}

std::string Descriptor::oci_digest() const {
    if (type != DataType::kOciRootIndex && type != DataType::kOciBlob) {
        return "";
    }
    const auto end = std::ranges::find(extra, 0);
    std::string text(extra.begin(), end);
    const bool is_digest =
        text.size() == kDigestTextSize && text.starts_with(kDigestStart) &&
        text.find_first_not_of("0123456789abcdef", kDigestStart.size()) == std::string::npos;
    return is_digest ? text : "";
}

bool Header::is_deterministic() const {
    return id == std::array<std::uint8_t, 16>{} && created == kDeterministicTime &&
           modified == kDeterministicTime;
}

std::vector<std::uint8_t> partition_extra(FsType fs, PartType part, std::string_view arch) {
    std::vector<std::uint8_t> extra = numbers(fs, part);
    const std::string_view code = architecture_code(arch);
    extra.insert(extra.end(), code.begin(), code.end());
    extra.push_back(0);
    return extra;
}

std::vector<std::uint8_t> signature_extra(HashType hash,
                                          const std::optional<Fingerprint>& fingerprint) {
    std::vector<std::uint8_t> extra = numbers(hash);
    extra.resize(kEntityAt + kEntitySize);
    if (fingerprint) {
        std::copy(fingerprint->begin(), fingerprint->end(), extra.begin() + kEntityAt);
    }
    return extra;
}

std::vector<std::uint8_t> sbom_extra(SbomFormat format) {
    return numbers(format);
}

std::vector<std::uint8_t> oci_digest_extra(std::span<const std::uint8_t, 32> digest) {
    const std::string text = std::string(kDigestStart) + hex(digest);
    return {text.begin(), text.end()};
}

std::array<std::uint8_t, 16> random_image_id() {
    const std::string bytes = random_bytes(16);
    std::array<std::uint8_t, 16> id{};
    std::transform(bytes.begin(), bytes.end(), id.begin(), [](char c) {
        return static_cast<std::uint8_t>(c);
    });
    id[6] = static_cast<std::uint8_t>((id[6] & 0x0fU) | 0x40U);
    id[8] = static_cast<std::uint8_t>((id[8] & 0x3fU) | 0x80U);
    return id;
}

std::string image_id_text(const std::array<std::uint8_t, 16>& id) {
    std::string text = hex(id);
    for (const std::size_t at : {8U, 13U, 18U, 23U}) {
        text.insert(at, 1, '-');
    }
    return text;
}

} // namespace cybele::images
