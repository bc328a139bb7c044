// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/chain.hpp"
#include "images/certificates/timestamp.hpp"
#include "images/certificates/trust.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

/// What was learnt of one certificate of a chain.
struct RevocationStatus {
    enum class State { kGood, kRevoked, kUnknown };

    std::string subject;
    State state = State::kUnknown;
    std::string learnt_from; ///< a URL or a file; empty: nowhere
    std::string because;     ///< of a certificate that is not good
};

/// What the chain of a signature was found to be.
struct CertificateVerdict {
    std::string subject;
    std::string issuer;
    std::string fingerprint;       ///< SHA-256 of the leaf, hexadecimal
    std::vector<std::string> path; ///< subjects from the leaf to the root, as far as it was found
    std::string root_identity;     ///< identity_of() the last of them
    bool is_valid = false;
    bool lacks_issuer = false;                ///< no path: an authority's certificate is unknown
    std::string because;                      ///< why not, one sentence without a full stop
    std::string help;                         ///< then one remedy
    std::vector<RevocationStatus> revocation; ///< of each certificate but the root
    std::vector<std::string> warnings;
    std::int64_t judged_at = 0;                ///< Unix seconds: `now`, or the time stamp's
    std::optional<TimestampVerdict> timestamp; ///< where the signature carries one
};

/// Times that count.
struct SigningTime {
    std::int64_t now = 0;
    /// Shown by a valid time stamp: expiry is judged then instead of now.
    std::optional<std::int64_t> signed_at;
};

/// Judges the chain for signing code (RFC 5280 with the key usages of section 4.2.1.12): a path to
/// a root through the chain's own certificates, `extra` ones (an envelope's) and the intermediates;
/// names, path length, usage, expiry and revocation. An Error only where something of the machine
/// is missing; a chain that does not hold is told in the verdict.
[[nodiscard]] Result<CertificateVerdict> verify_chain(const Chain& chain,
                                                      const std::vector<CertificateHandle>& extra,
                                                      const TrustStore& trust,
                                                      const SigningTime& time);

/// What `sign` and `verify` call: judges the chain of one signature. `timestamp` is the token
/// beside it (empty: none); a valid one sets the time of judgement, one that is not makes the
/// verdict invalid only if the chain does not hold without it, and is a warning then.
[[nodiscard]] Result<CertificateVerdict> verify_signer(const Chain& chain,
                                                       std::string_view signature,
                                                       std::string_view timestamp,
                                                       const TrustStore& trust,
                                                       std::int64_t now);

} // namespace cybele::images
