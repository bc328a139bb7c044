// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/secret.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace cybele::images {

enum class KeyUse { kPrivate, kPublic };

/// How a private key lies in its PEM block.
enum class KeyForm {
    kPlain,    ///< not encrypted
    kPkcs8,    ///< ENCRYPTED PRIVATE KEY
    kProcType, ///< OpenSSL's own, named by the header Proc-Type
    kCosign    ///< cosign's and sigstore's
};

/// The first PEM block of a key file, with its BEGIN and END lines.
struct PemBlock {
    std::string label;
    Secret text;
    KeyForm form = KeyForm::kPlain;
};

/// The block, if it is one for that use; kInput that names what the file is instead (a certificate,
/// the other half of the pair, DER, an OpenSSH line, …) and the way out.
[[nodiscard]] Result<PemBlock> read_pem(const std::filesystem::path& path, KeyUse use);
/// The same of a text that was read already; `path` names where.
[[nodiscard]] Result<PemBlock>
find_pem(std::string_view text, const std::filesystem::path& path, KeyUse use);

} // namespace cybele::images
