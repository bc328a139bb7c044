// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/trust.hpp"
#include "images/certificates/verify.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// Whether a certificate is revoked: what is asked, and which answers count.
namespace cybele::images {

/// One certificate of a path that holds, and the next one of the path.
struct RevocationQuestion {
    CertificateHandle certificate;
    CertificateHandle issuer;
    const TrustStore& trust;
    SigningTime time;
};

/// What a list or a responder says, before its age is judged.
struct RevocationAnswer {
    enum class State { kGood, kRevoked, kUnknown };
    State state = State::kUnknown;
    std::int64_t this_update = 0;
    std::optional<std::int64_t> next_update;
    std::int64_t revoked_at = 0; ///< of kRevoked: since when, the earlier of both times it names
    int reason = -1;             ///< CRLReason (RFC 5280 section 5.3.1); -1: none
    std::string because;         ///< of kUnknown
};

/// Asks the given lists, then (with a network) the responders and the distribution points that the
/// certificate names, until one of them knows.
[[nodiscard]] RevocationStatus revocation_status(const RevocationQuestion& question);

/// Judges an answer's age and, for a signature that was stamped before the revocation, its effect.
/// Evidence counts from thisUpdate until nextUpdate (a day where there is none), and also when it
/// was made after the signature that it is asked about.
[[nodiscard]] RevocationStatus weigh(const RevocationAnswer& answer,
                                     const RevocationQuestion& question,
                                     const std::string& source);

} // namespace cybele::images
