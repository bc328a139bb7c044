// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/chain.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The path from a signer's certificate to an anchor, built and judged by OpenSSL, with the usage
/// rules for signed code.
namespace cybele::images {

struct PathQuestion {
    CertificateHandle leaf;
    std::vector<CertificateHandle> untrusted; ///< that may stand between
    std::vector<CertificateHandle> anchors;
    bool is_system_pool = false; ///< for the sentence
    std::int64_t at = 0;         ///< Unix seconds
};

struct PathJudgement {
    std::vector<CertificateHandle> path; ///< leaf first, as far as it was found
    bool lacks_issuer = false;           ///< no certificate of an authority on it is known
    std::string because;                 ///< why it does not hold; empty: it does
    std::string help;
};

/// kInternal: memory is short. Everything else is told in the judgement.
[[nodiscard]] Result<PathJudgement> judge_path(const PathQuestion& question);

} // namespace cybele::images
