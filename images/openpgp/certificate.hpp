// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// OpenPGP keys and clear-signed messages (RFC 4880, with the algorithms of RFC 9580 for keys of
/// version 4), over OpenSSL's primitives.
namespace cybele::images::openpgp {

/// Kinds of packets that a key is made of (RFC 9580, section 5).
enum class Tag : std::uint8_t {
    kSignature = 2,
    kSecretKey = 5,
    kPublicKey = 6,
    kSecretSubkey = 7,
    kMarker = 10,
    kTrust = 12,
    kUserId = 13,
    kPublicSubkey = 14,
    kUserAttribute = 17,
    kPadding = 21,
};

[[nodiscard]] constexpr bool is_key(Tag tag) {
    return tag == Tag::kPublicKey || tag == Tag::kSecretKey || tag == Tag::kPublicSubkey ||
           tag == Tag::kSecretSubkey;
}

/// A key, user id or attribute with the signatures behind it, as they were read.
struct Component {
    Tag tag{};
    std::string body;                    ///< of the packet, without its header
    std::vector<std::string> signatures; ///< bodies
};

/// Where the private part of a key is.
enum class SecretPart {
    kNone,      ///< the packet is a public one
    kClear,     ///< not encrypted
    kLocked,    ///< encrypted with a passphrase
    kElsewhere, ///< on a card, or left out (GnuPG's offline primary keys)
};

/// One key of a certificate, primary or subkey, and what the certificate says of it.
struct KeyState {
    std::string fingerprint; ///< 40 upper-case hexadecimal digits
    std::string algorithm;   ///< "Ed25519", "RSA 4096", "NIST P-256", …
    std::int64_t created = 0;
    std::optional<std::int64_t> expires; ///< Unix seconds; unset: never
    bool can_certify = false;
    bool can_sign = false;
    bool is_revoked = false;
    /// Why the key is unusable whatever its times: revoked, or not bound by a valid signature of
    /// the primary key (for signing: and one by the subkey in return); empty: it is usable.
    std::string because;
    SecretPart secret = SecretPart::kNone;
};

/// What a certificate says of itself, after every self-signature was checked.
struct CertificateState {
    std::vector<KeyState> keys;        ///< the primary key first
    std::vector<std::string> user_ids; ///< valid and not revoked, the primary one first

    /// The primary user id, or the words "no user id".
    [[nodiscard]] std::string name() const;
};

/// A transferable public or secret key of version 4: a primary key, its user ids and subkeys. What
/// is read is kept to the byte, signatures of strangers too.
class Certificate {
public:
    /// `components` begins with a primary key of version 4.
    explicit Certificate(std::vector<Component> components);
    Certificate(const Certificate&) = default;
    Certificate(Certificate&&) = default;
    Certificate& operator=(const Certificate&) = default;
    Certificate& operator=(Certificate&&) = default;
    /// Wipes private parts, which may lie open.
    ~Certificate();

    [[nodiscard]] const std::vector<Component>& components() const {
        return components_;
    }
    /// Of the primary key: 40 upper-case hexadecimal digits.
    [[nodiscard]] const std::string& fingerprint() const {
        return fingerprints_.front();
    }
    /// Of the primary key and of each subkey of version 4; empty for other versions.
    [[nodiscard]] const std::vector<std::string>& fingerprints() const {
        return fingerprints_;
    }
    [[nodiscard]] bool has_secret() const;
    /// The same without private parts.
    [[nodiscard]] Certificate public_half() const;
    /// Takes over what `other`, of the same fingerprint, has more; whether there was anything.
    bool merge(const Certificate& other);
    /// Binary packets, new-format headers.
    [[nodiscard]] std::string packets() const;

    /// Checks the self-signatures as of `now` (Unix seconds) and says what they say. Up to 256 are
    /// looked at; a certificate with more is no honest one.
    [[nodiscard]] CertificateState state(std::int64_t now) const;

private:
    std::vector<Component> components_;
    std::vector<std::string> fingerprints_;
};

} // namespace cybele::images::openpgp
