// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>

namespace cybele::images {

enum class KeyUse { kPrivate, kPublic };

/// The first PEM block of a key file, with its BEGIN and END lines.
struct PemBlock {
    std::string label;
    std::string text;
};

/// The block, if it is one for that use; kInput that names what the file is instead (a certificate,
/// the other half of the pair, an encrypted key, DER, an OpenSSH line, …) and the way out.
[[nodiscard]] Result<PemBlock> read_pem(const std::filesystem::path& path, KeyUse use);

} // namespace cybele::images
