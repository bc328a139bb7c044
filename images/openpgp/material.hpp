// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st; // OpenSSL's EVP_PKEY
struct evp_md_st;   // OpenSSL's EVP_MD

/// Numbers of OpenPGP keys and signatures as OpenSSL takes them.
namespace cybele::images::openpgp {

using KeyHandle = std::shared_ptr<evp_pkey_st>;

/// RFC 9580, section 9.5.
enum class HashAlgorithm : std::uint8_t {
    kMd5 = 1,
    kSha1 = 2,
    kRipemd160 = 3,
    kSha256 = 8,
    kSha384 = 9,
    kSha512 = 10,
    kSha224 = 11,
};

/// "SHA256" as the header of a clear-signed message has it; "number 99" for an unknown one.
[[nodiscard]] std::string hash_name(HashAlgorithm hash);
/// nullptr: not one that we take for anything (MD5, RIPEMD-160, unknown ones).
[[nodiscard]] const evp_md_st* hash_of(HashAlgorithm hash);
/// Whether a message signed with it counts: SHA-2 only.
[[nodiscard]] bool is_strong(HashAlgorithm hash);
/// Of all bytes at once; empty for a hash that is not taken.
[[nodiscard]] std::string digest_of(HashAlgorithm hash, std::string_view bytes);

/// The public part of a key packet of version 4.
struct PublicMaterial {
    std::uint8_t algorithm = 0; ///< RFC 9580, section 9.1
    std::string name;           ///< "RSA 4096", "Ed25519", "NIST P-384", "algorithm 99"
    std::int64_t created = 0;
    std::size_t size = 0;      ///< bytes of the public part of the packet's body
    std::size_t hash_bits = 0; ///< that a digest must have at least
    KeyHandle key;             ///< unset: of a kind that does not sign, or that we do not take
    std::string because;       ///< why it is unset
};

/// Reads the public part of a key packet's body (of a secret one too). kInput: damaged. Unknown
/// algorithms are no error, but have no `key` and size 0.
[[nodiscard]] Result<PublicMaterial> read_public(std::string_view body);

/// Of a packet of version 4: 40 upper-case hexadecimal digits (RFC 9580, section 5.5.4).
/// `public_body` is the public part alone.
[[nodiscard]] std::string fingerprint_of(std::string_view public_body);

/// Whether `numbers`, the algorithm's part of a signature packet, is that key's over a digest.
[[nodiscard]] bool verifies(const PublicMaterial& material,
                            std::uint8_t algorithm,
                            HashAlgorithm hash,
                            const std::string& digest,
                            std::string_view numbers);

/// The key with its private numbers, in the clear; kInput where they are damaged or do not belong
/// to the public part.
[[nodiscard]] Result<KeyHandle> read_private(const PublicMaterial& material,
                                             std::string_view public_body,
                                             std::string_view numbers);

/// The algorithm's part of a signature packet.
[[nodiscard]] Result<std::string> sign_digest(const PublicMaterial& material,
                                              const KeyHandle& key,
                                              HashAlgorithm hash,
                                              const std::string& digest);

} // namespace cybele::images::openpgp
