// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/descriptor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The bytes of a SIF header and of its descriptors (reference: apptainer/sif, pkg/sif/sif.go and
/// descriptor.go). Nothing is judged here; Image::open() does that.
namespace cybele::images {

inline constexpr std::string_view kSifMagic{"SIF_MAGIC\0", 10};
inline constexpr std::string_view kSifVersion{"01\0", 3};

inline constexpr std::size_t kHeaderSize = 128;
inline constexpr std::size_t kLaunchScriptSize = 32;
inline constexpr std::size_t kDescriptorSize = 585;
inline constexpr std::size_t kNameSize = 128;
inline constexpr std::size_t kExtraSize = 384;
inline constexpr std::uint64_t kDescriptorsOffset = 4096;
inline constexpr std::uint64_t kMaximumDescriptors = 65535;

/// Negative numbers come out of the decoders as values above this one.
inline constexpr std::uint64_t kMaximumOffset = INT64_MAX;

/// The number that little-endian bytes stand for.
template <class Unsigned>
[[nodiscard]] Unsigned decode_little_endian(std::span<const std::byte> bytes) {
    Unsigned value = 0;
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
        value |= static_cast<Unsigned>(static_cast<Unsigned>(bytes[i]) << (8U * i));
    }
    return value;
}

template <class Unsigned>
void append_little_endian(std::string& bytes, Unsigned value) {
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
        bytes += static_cast<char>(value >> (8U * i) & 0xffU);
    }
}

/// `text` and NULs up to `size` bytes.
void append_padded(std::string& bytes, std::string_view text, std::size_t size);

/// C0, DEL and, in UTF-8, C1: what could steer a terminal; refused in names.
[[nodiscard]] bool has_control_characters(std::string_view text);

/// Without magic and version, which the caller has compared. Text fields keep all but their
/// trailing NULs, so that encoding gives the same bytes again.
[[nodiscard]] Header decode_header(std::span<const std::byte, kHeaderSize> bytes);
[[nodiscard]] std::string encode_header(const Header& header);

/// One entry of the table; `group` is as stored, with its upper four bits. Nothing for an unused
/// entry.
[[nodiscard]] std::optional<Descriptor>
decode_descriptor(std::span<const std::byte, kDescriptorSize> bytes);
/// From a checked descriptor, `group` without the upper bits; an unused entry is all zeros.
[[nodiscard]] std::string encode_descriptor(const Descriptor& descriptor);

} // namespace cybele::images
