// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/material.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Signature packets of version 4 (RFC 9580, section 5.2).
namespace cybele::images::openpgp {

enum class SignatureType : std::uint8_t {
    kText = 0x01,
    kGenericCertification = 0x10,
    kPositiveCertification = 0x13,
    kSubkeyBinding = 0x18,
    kPrimaryKeyBinding = 0x19,
    kDirectKey = 0x1f,
    kKeyRevocation = 0x20,
    kSubkeyRevocation = 0x28,
    kCertificationRevocation = 0x30,
};

/// Flags of a key (section 5.2.3.29).
inline constexpr unsigned kMayCertify = 0x01;
inline constexpr unsigned kMaySign = 0x02;

/// Seconds by which a clock may be behind the one that signed.
inline constexpr std::int64_t kClockTolerance = 600;

/// What a packet says. Times and flags come from its hashed part only; who issued it is a hint.
struct SignaturePacket {
    SignatureType type{};
    std::uint8_t algorithm = 0;
    HashAlgorithm hash{};
    std::string hashed; ///< the part that the signature covers, from the version on
    std::uint16_t first_bits = 0;
    std::string numbers;

    std::int64_t created = 0;
    std::optional<std::uint32_t> expires_after;     ///< seconds from `created`
    std::optional<std::uint32_t> key_expires_after; ///< seconds from the key's creation
    std::optional<unsigned> key_flags;
    bool is_primary_user_id = false;
    std::optional<std::uint8_t> revocation_code;
    std::string revocation_reason;
    std::string issuer_fingerprint; ///< 40 upper-case digits, or ""
    std::string issuer_key_id;      ///< 16 upper-case digits, or ""
    std::string embedded;           ///< body of a signature packet inside, or ""
    std::string refused;            ///< a critical subpacket that nobody here understands; or ""

    [[nodiscard]] bool names_issuer(const std::string& fingerprint) const;
    [[nodiscard]] bool is_expired(std::int64_t now) const;
};

/// kInput: damaged, of another version than 4 (which is named), or without a time.
[[nodiscard]] Result<SignaturePacket> read_signature(std::string_view body);

/// Whether it is that key's over `data`, the bytes that its type puts in front.
[[nodiscard]] bool
holds(const SignaturePacket& signature, const PublicMaterial& material, std::string_view data);

/// What is hashed of a key or user id (section 5.2.4).
[[nodiscard]] std::string hashed_key(std::string_view public_body);
[[nodiscard]] std::string hashed_user_id(std::string_view body);

/// What to sign: hashed subpackets in order, the way section 5.2.3 lays them out.
class SignatureBuilder {
public:
    SignatureBuilder(SignatureType type, std::uint8_t algorithm, HashAlgorithm hash);
    void critical(std::uint8_t kind, std::string_view content);
    void add(std::uint8_t kind, std::string_view content);
    void add_issuer(const std::string& fingerprint);
    void add_issuer_fingerprint(const std::string& fingerprint);
    /// The notation salt@notations.openpgpjs.org: as many random bytes as the hash takes.
    void add_salt(std::string_view salt);

    /// The digest over `data` and this.
    [[nodiscard]] std::string digest(std::string_view data) const;
    /// The packet's body; `unhashed` are subpackets that are not covered.
    [[nodiscard]] std::string
    body(const std::string& digest, std::string_view numbers, std::string_view unhashed = {}) const;

private:
    [[nodiscard]] std::string hashed() const;
    std::string head_;
    std::string subpackets_;
    HashAlgorithm hash_;
};

/// A subpacket with its length.
[[nodiscard]] std::string subpacket(std::uint8_t kind, std::string_view content);

} // namespace cybele::images::openpgp
