// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/secret.hpp"

#include <filesystem>
#include <string>

namespace cybele::images {

struct NewPemKey {
    std::filesystem::path file; ///< the private one; the public one has .pub as its extension
    /// ed25519, ecdsa (P-256), ecdsa-p384, ecdsa-p521, rsa (3072 bits), rsa-4096.
    std::string algorithm = "ed25519";
    Secret passphrase; ///< empty: the private key is not encrypted
};

/// Makes a key pair: `file` in PKCS #8 (mode 0600), encrypted with AES-256 by a key of 600 000
/// rounds of PBKDF2 with HMAC-SHA-256 where there is a passphrase, and a SubjectPublicKeyInfo.
/// Existing files are refused (kInput). Gives the public file's path.
[[nodiscard]] Result<std::filesystem::path> new_key(const NewPemKey& wanted);

/// The same without a passphrase: `private_file` and `algorithm` (ed25519, ecdsa, rsa).
[[nodiscard]] Result<std::filesystem::path> new_key(const std::filesystem::path& private_file,
                                                    const std::string& algorithm);

} // namespace cybele::images
