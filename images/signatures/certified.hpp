// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/chain.hpp"
#include "images/certificates/trust.hpp"
#include "images/signatures/verify.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cybele::images {

/// Judges signatures by the chains that lie beside them and by `given` ones (of signatures without
/// a chain), as of `now` (Unix seconds). Unless it `takes_others`, only the leaves of `given`
/// count: a chain beside a signature then adds what lies between such a leaf and its root.
[[nodiscard]] CertificateJudge judge_by_certificates(std::shared_ptr<const TrustStore> store,
                                                     std::vector<Chain> given,
                                                     bool takes_others,
                                                     std::int64_t now);

} // namespace cybele::images
