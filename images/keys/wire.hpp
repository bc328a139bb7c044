// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

struct evp_pkey_st; // OpenSSL's EVP_PKEY

namespace cybele::images {

/// What names a key: its SSH wire form (RFC 4253, 5656, 8709), over which fingerprints go.
struct KeyWire {
    std::string bytes;
    std::string algorithm;       ///< for people: "Ed25519", "ECDSA P-256", "RSA 3072"
    bool is_known_to_ssh = true; ///< to Apptainer's SSH library
};

/// Nothing for a key that SIF signatures do not take.
[[nodiscard]] std::optional<KeyWire> wire_of(evp_pkey_st* key);

/// "SHA256:" and the unpadded base64 of the wire form's SHA-256, as `ssh-keygen -l` prints it.
[[nodiscard]] std::string fingerprint_of(const KeyWire& wire);

} // namespace cybele::images
