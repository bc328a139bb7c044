// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/keys/pem.hpp"
#include "support/error.hpp"
#include "support/secret.hpp"

#include <filesystem>

namespace cybele::images {

/// The PKCS #8 DER inside of an ENCRYPTED COSIGN or SIGSTORE PRIVATE KEY: base64 of a JSON that
/// names scrypt (N of 32768, 65536 or 131072, r 8, p 1) and nacl/secretbox (reference: sigstore's
/// encrypted package, go-securesystemslib). kInput: damaged, other parameters, a wrong passphrase.
[[nodiscard]] Result<Secret>
decrypt_cosign(const PemBlock& block, const Secret& passphrase, const std::filesystem::path& path);

/// The key in the file was not opened by its passphrase.
[[nodiscard]] tl::unexpected<Error> wrong_passphrase(const std::filesystem::path& path);

} // namespace cybele::images
