// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/signature.hpp"

#include "images/openpgp/packet.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::uint8_t kVersion = 4;
constexpr unsigned kCritical = 0x80;
constexpr std::size_t kMaximumSubpackets = 256;
constexpr std::string_view kSaltName = "salt@notations.openpgpjs.org";

tl::unexpected<Error> unusable_signature(std::string_view because) {
    return fail(ErrorCode::kInput,
                problem("openpgp-signature-unusable", "an OpenPGP signature cannot be used"),
                std::string(because),
                "sign again with a key of version 4");
}

std::optional<std::uint32_t> seconds(Cursor& content) {
    const std::uint32_t value = content.u32();
    return value == 0 || content.has_failed() ? std::nullopt : std::optional(value); // 0: never
}

void read_creation(SignaturePacket& signature, Cursor& content) {
    signature.created = content.u32();
}
void read_expiry(SignaturePacket& signature, Cursor& content) {
    signature.expires_after = seconds(content);
}
void read_key_expiry(SignaturePacket& signature, Cursor& content) {
    signature.key_expires_after = seconds(content);
}
void read_issuer(SignaturePacket& signature, Cursor& content) {
    signature.issuer_key_id = upper_hex(content.bytes(8));
}
void read_issuer_fingerprint(SignaturePacket& signature, Cursor& content) {
    if (content.u8() == kVersion) {
        signature.issuer_fingerprint = upper_hex(content.bytes(20));
    }
}
void read_primary(SignaturePacket& signature, Cursor& content) {
    signature.is_primary_user_id = content.u8() != 0;
}
void read_flags(SignaturePacket& signature, Cursor& content) {
    signature.key_flags = content.at_end() ? 0U : content.u8();
}
void read_reason(SignaturePacket& signature, Cursor& content) {
    signature.revocation_code = content.u8();
    signature.revocation_reason = content.rest();
}
void read_embedded(SignaturePacket& signature, Cursor& content) {
    signature.embedded = content.rest();
}
void ignore(SignaturePacket&, Cursor&) {}

/// A subpacket that is understood (section 5.2.3.7); of others a critical one makes the signature
/// void.
struct SubpacketRow {
    std::uint8_t kind;
    void (*read)(SignaturePacket&, Cursor&);
    bool may_be_unhashed; ///< it proves itself, or is a hint
};
constexpr SubpacketRow kSubpacketRows[] = {
    {2, read_creation, false},   {3, read_expiry, false},
    {4, ignore, false},                               // exportable
    {7, ignore, false},                               // revocable
    {9, read_key_expiry, false}, {11, ignore, false}, // preferred ciphers
    {16, read_issuer, true},     {21, ignore, false}, // preferred hashes
    {22, ignore, false},                              // preferred compression
    {23, ignore, false},                              // key server's preferences
    {24, ignore, false},                              // preferred key server
    {25, read_primary, false},   {26, ignore, false}, // policy's address
    {27, read_flags, false},     {28, ignore, false}, // signer's user id
    {29, read_reason, false},    {30, ignore, false}, // features
    {32, read_embedded, true},   {33, read_issuer_fingerprint, true},
    {34, ignore, false}, // preferred AEAD
    {35, ignore, false}, // intended recipient
    {39, ignore, false}, // preferred AEAD cipher suites
};

constexpr std::uint8_t kNotation = 20;

/// Notations are not looked into: a critical one of another name than the salt's says something
/// that nobody here understands.
void read_notation(SignaturePacket& signature, Cursor content, bool is_critical) {
    (void)content.u32();
    const std::size_t length = content.u16();
    (void)content.u16();
    const std::string_view name = content.bytes(length);
    if (is_critical && name != kSaltName) {
        signature.refused = fmt::format("notation {}", printable(name));
    }
}

/// The signature covers the hashed area alone.
enum class Area { kHashed, kUnhashed };

void read_subpacket(SignaturePacket& signature, unsigned kind, Cursor content, Area area) {
    const bool is_hashed = area == Area::kHashed;
    const bool is_critical = (kind & kCritical) != 0;
    kind &= ~kCritical;
    if (kind == kNotation && is_hashed) {
        read_notation(signature, content, is_critical);
        return;
    }
    const auto* const row = std::ranges::find(kSubpacketRows, kind, &SubpacketRow::kind);
    if (row == std::end(kSubpacketRows)) {
        if (is_hashed && is_critical) {
            signature.refused = fmt::format("subpacket {}", kind);
        }
        return;
    }
    if (is_hashed || row->may_be_unhashed) {
        row->read(signature, content);
    }
}

bool read_subpackets(SignaturePacket& signature, std::string_view bytes, Area area) {
    Cursor cursor(bytes);
    for (std::size_t count = 0; !cursor.at_end(); ++count) {
        std::size_t length = cursor.u8();
        if (length >= 192 && length < 255) {
            length = (length - 192) * 256 + cursor.u8() + 192;
        } else if (length == 255) {
            length = cursor.u32();
        }
        if (length == 0 || count == kMaximumSubpackets) {
            return false;
        }
        const unsigned kind = cursor.u8();
        const std::string_view content = cursor.bytes(length - 1);
        if (cursor.has_failed()) {
            return false;
        }
        read_subpacket(signature, kind, Cursor(content), area);
    }
    return !cursor.has_failed();
}

std::string trailer(std::size_t hashed_size) {
    std::string bytes = "\x04\xff";
    append_u32(bytes, hashed_size);
    return bytes;
}

std::string from_hex(const std::string& digits) {
    std::string bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
        const auto value = [](char digit) {
            return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'A' + 10);
        };
        bytes += static_cast<char>(value(digits[at]) << 4U | value(digits[at + 1]));
    }
    return bytes;
}

} // namespace

bool SignaturePacket::names_issuer(const std::string& fingerprint) const {
    if (!issuer_fingerprint.empty()) {
        return issuer_fingerprint == fingerprint;
    }
    return issuer_key_id.empty() || fingerprint.ends_with(issuer_key_id);
}

bool SignaturePacket::is_expired(std::int64_t now) const {
    return expires_after && created + *expires_after <= now;
}

Result<SignaturePacket> read_signature(std::string_view body) {
    Cursor cursor(body);
    const unsigned version = cursor.u8();
    if (version != kVersion) {
        return unusable_signature(
            fmt::format("it is of version {}; only version 4 is supported", version));
    }
    SignaturePacket signature;
    signature.type = static_cast<SignatureType>(cursor.u8());
    signature.algorithm = cursor.u8();
    signature.hash = static_cast<HashAlgorithm>(cursor.u8());
    const std::string_view hashed = cursor.bytes(cursor.u16());
    signature.hashed = body.substr(0, body.size() - cursor.rest().size());
    const std::string_view unhashed = cursor.bytes(cursor.u16());
    signature.first_bits = cursor.u16();
    signature.numbers = cursor.rest();
    // What is not covered is read first, so that what is covered wins.
    if (cursor.has_failed() || !read_subpackets(signature, unhashed, Area::kUnhashed) ||
        !read_subpackets(signature, hashed, Area::kHashed)) {
        return unusable_signature("its fields are cut short");
    }
    if (signature.created == 0) {
        return unusable_signature("it does not say when it was made");
    }
    return signature;
}

bool holds(const SignaturePacket& signature,
           const PublicMaterial& material,
           std::string_view data) {
    std::string bytes(data);
    bytes += signature.hashed;
    bytes += trailer(signature.hashed.size());
    const std::string digest = digest_of(signature.hash, bytes);
    return digest.size() >= 2 && Cursor(digest).u16() == signature.first_bits &&
           verifies(material, signature.algorithm, signature.hash, digest, signature.numbers);
}

std::string hashed_key(std::string_view public_body) {
    std::string bytes = "\x99";
    append_u16(bytes, public_body.size());
    return bytes.append(public_body);
}

std::string hashed_user_id(std::string_view body) {
    std::string bytes = "\xb4";
    append_u32(bytes, body.size());
    return bytes.append(body);
}

std::string subpacket(std::uint8_t kind, std::string_view content) {
    std::string bytes;
    const std::size_t length = content.size() + 1;
    if (length < 192) {
        bytes += static_cast<char>(length);
    } else {
        bytes += '\xff';
        append_u32(bytes, length);
    }
    bytes += static_cast<char>(kind);
    return bytes.append(content);
}

SignatureBuilder::SignatureBuilder(SignatureType type, std::uint8_t algorithm, HashAlgorithm hash)
    : hash_(hash) {
    head_ = {static_cast<char>(kVersion),
             static_cast<char>(type),
             static_cast<char>(algorithm),
             static_cast<char>(hash)};
}

void SignatureBuilder::critical(std::uint8_t kind, std::string_view content) {
    add(static_cast<std::uint8_t>(kind | kCritical), content);
}

void SignatureBuilder::add(std::uint8_t kind, std::string_view content) {
    subpackets_ += subpacket(kind, content);
}

void SignatureBuilder::add_issuer(const std::string& fingerprint) {
    add(16, from_hex(fingerprint).substr(12));
}

void SignatureBuilder::add_issuer_fingerprint(const std::string& fingerprint) {
    add(33, static_cast<char>(kVersion) + from_hex(fingerprint));
}

void SignatureBuilder::add_salt(std::string_view salt) {
    const std::size_t size = digest_of(hash_, {}).size() / 2; // 16 for SHA-256 (section 9.5)
    std::string content(4, '\0');                             // not for people to read
    append_u16(content, kSaltName.size());
    append_u16(content, std::min(size, salt.size()));
    content += kSaltName;
    content += salt.substr(0, size);
    add(kNotation, content);
}

std::string SignatureBuilder::hashed() const {
    std::string bytes = head_;
    append_u16(bytes, subpackets_.size());
    return bytes + subpackets_;
}

std::string SignatureBuilder::digest(std::string_view data) const {
    const std::string covered = hashed();
    std::string bytes(data);
    bytes += covered;
    bytes += trailer(covered.size());
    return digest_of(hash_, bytes);
}

std::string SignatureBuilder::body(const std::string& digest,
                                   std::string_view numbers,
                                   std::string_view unhashed) const {
    std::string bytes = hashed();
    append_u16(bytes, unhashed.size());
    bytes += unhashed;
    bytes += digest.substr(0, 2);
    return bytes.append(numbers);
}

} // namespace cybele::images::openpgp
