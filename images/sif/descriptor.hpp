// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/types.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

/// Marks a group number where it is stored: group 1 is 0xF0000001, no group 0xF0000000.
inline constexpr std::uint32_t kGroupMask = 0xF0000000U;

/// Stored for every time of a deterministic image: the zero time of Go,
/// 1 January of the year 1.
inline constexpr std::int64_t kDeterministicTime = -62135596800;

/// An OpenPGP version 4 fingerprint, as a signature object carries it.
using Fingerprint = std::array<std::uint8_t, 20>;

/// One used entry of the descriptor table, checked.
struct Descriptor {
    DataType type{};
    std::uint32_t id = 0;     ///< table index + 1
    std::uint32_t group = 0;  ///< 0: none (stored as kGroupMask)
    std::uint32_t link = 0;   ///< as stored: an object id, or kGroupMask | group
    std::uint64_t offset = 0; ///< from the start of the file
    std::uint64_t size = 0;
    std::uint64_t size_with_padding = 0;
    std::int64_t created = 0;
    std::int64_t modified = 0;
    std::int64_t uid = 0;
    std::int64_t gid = 0;
    std::string name;
    std::array<std::uint8_t, 384> extra{};

    /// A link to a group needs all four marking bits; with fewer it is an object's number.
    [[nodiscard]] bool is_group_link() const {
        return (link & kGroupMask) == kGroupMask;
    }
    /// The group that this object is linked to; nothing without such a link.
    [[nodiscard]] std::optional<std::uint32_t> linked_group() const;
    /// The object that this one is linked to (it need not exist); nothing without such a link.
    [[nodiscard]] std::optional<std::uint32_t> linked_object() const;

    // What `extra` says, for the type that has it; kNone, "" or nothing for every other type.
    [[nodiscard]] FsType fs_type() const;
    [[nodiscard]] PartType part_type() const;
    [[nodiscard]] std::string arch() const; ///< of a partition: "amd64", else ""
    [[nodiscard]] HashType hash_type() const;
    /// Of a signature: who signed; nothing where it is all zeros, as in the DSSE form.
    [[nodiscard]] std::optional<Fingerprint> fingerprint() const;
    [[nodiscard]] MessageFormat message_format() const;
    [[nodiscard]] MessageType message_type() const;
    [[nodiscard]] SbomFormat sbom() const;
    /// Of an OCI object: "sha256:" and 64 hexadecimal digits; "" where it is something else.
    [[nodiscard]] std::string oci_digest() const;
};

struct Header {
    std::string launch_script;
    std::string arch;                ///< "amd64", … or "unknown"
    std::array<char, 3> arch_code{}; ///< as stored: two digits and NUL
    std::array<std::uint8_t, 16> id{};
    std::int64_t created = 0;
    std::int64_t modified = 0;
    std::uint64_t descriptors_free = 0;
    std::uint64_t descriptors_total = 0;
    std::uint64_t descriptors_offset = 0;
    std::uint64_t descriptors_size = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t data_size = 0;

    /// Nil id and both times kDeterministicTime: what is changed later keeps that time.
    [[nodiscard]] bool is_deterministic() const;
};

// `extra` of each type of object that has one. NewObject takes it; what is left is filled with NUL.
[[nodiscard]] std::vector<std::uint8_t>
partition_extra(FsType fs, PartType part, std::string_view arch);
/// Of a signature in the OpenPGP form; without a fingerprint, in the DSSE form.
[[nodiscard]] std::vector<std::uint8_t>
signature_extra(HashType hash, const std::optional<Fingerprint>& fingerprint);
[[nodiscard]] std::vector<std::uint8_t> sbom_extra(SbomFormat format);
/// `digest` is SHA-256 of the object's bytes.
[[nodiscard]] std::vector<std::uint8_t> oci_digest_extra(std::span<const std::uint8_t, 32> digest);

/// A random id (UUID version 4, raw bytes) for NewImage::id.
[[nodiscard]] std::array<std::uint8_t, 16> random_image_id();
/// As text: 3fa802cc-358b-45e3-bcc0-69dc7a45f9f8.
[[nodiscard]] std::string image_id_text(const std::array<std::uint8_t, 16>& id);

} // namespace cybele::images
