// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::images {

/// What one signature object of an image was found to be. An object whose envelope holds signatures
/// of several of the given keys has one state for each of these keys.
struct SignatureState {
    std::uint32_t object = 0; ///< id of the signature object
    std::uint32_t group = 0;
    std::vector<std::uint32_t> covers; ///< ids of the signed objects
    std::string key;                   ///< SHA256:… fingerprint of the key that verified it
    std::string key_file;
    std::string claimed_key; ///< what the (unsigned) envelope says of its first key; may be empty
    bool is_valid = false;
    std::string because; ///< why not
};

struct Verification {
    std::vector<SignatureState> signatures;
    bool is_verified = false;
    std::string because; ///< why not
};

/// Makes a key pair in PKCS#8 / SubjectPublicKeyInfo PEM: `private_file` (0600) and
/// `private_file` with ".pub" put in place of its extension. `algorithm`: ed25519, ecdsa, rsa.
/// Existing files are refused. Gives the public file's path.
[[nodiscard]] Result<std::filesystem::path> new_key(const std::filesystem::path& private_file,
                                                    const std::string& algorithm);

/// Whether a private key can be used for signing, without signing anything: read before a long
/// build.
[[nodiscard]] Result<void> check_signing_key(const std::filesystem::path& key);

/// Signs every object group (DSSE, apptainer/sif pkg/integrity) with a private PEM key.
[[nodiscard]] Result<void>
sign_image(const std::filesystem::path& image, const std::filesystem::path& key, std::int64_t now);

/// Verifies every group with the public PEM keys; verified when each group that is signed, and
/// every group with objects, has a valid signature by one of the keys and all objects of the group
/// are covered. A broken image or key file is an error; a signature that does not hold is told in
/// the result.
[[nodiscard]] Result<Verification> verify_image(const std::filesystem::path& image,
                                                const std::vector<std::filesystem::path>& keys);

} // namespace cybele::images
