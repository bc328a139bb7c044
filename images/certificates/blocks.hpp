// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/chain.hpp"
#include "images/certificates/trust.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

/// The certificates and revocation lists that bytes hold, whatever form they have.
namespace cybele::images {

struct CertificateBlocks {
    std::vector<CertificateHandle> certificates; ///< in the file's order
    std::vector<RevocationListHandle> lists;
    bool has_key = false; ///< a key stood among them
};

/// PEM blocks among other text, or DER of a certificate, a list, or a PKCS #7 bundle of both.
/// kInput: damaged, or more than `limit` of them; none at all is for the caller to judge.
[[nodiscard]] Result<CertificateBlocks>
parse_blocks(std::string_view bytes, const std::filesystem::path& name, std::size_t limit);

} // namespace cybele::images
