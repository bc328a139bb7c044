// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/signatures/dsse.hpp"
#include "images/signatures/report.hpp"
#include "images/signatures/verify.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Who made the signatures of DSSE envelopes, in an image or beside it.
namespace cybele::images {

/// Fills the state's signer, key and certificate: by a key of the trusted, else by a certificate;
/// without either, `because` says why.
[[nodiscard]] Result<void> find_signer(std::string_view bytes,
                                       const EnvelopeSignature& signature,
                                       const Trust& trust,
                                       SignatureState& state);

/// One state for each signature of the envelope. OpenPGP keys sign no envelopes.
[[nodiscard]] Result<std::vector<SignatureState>> judge_envelope(const Envelope& envelope,
                                                                 const Trust& trust);

/// Why too few of those who count made the valid ones of these signatures; empty: enough did.
[[nodiscard]] std::string lacking_signers(const std::vector<SignatureState>& states,
                                          const Trust& trust);

} // namespace cybele::images
