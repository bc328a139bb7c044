// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/trust.hpp"
#include "support/error.hpp"
#include "support/http.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Time stamps over the bytes of a signature (RFC 3161): they prove that it existed at a time, so
/// that it can be verified after its certificate has expired.
namespace cybele::images {

struct TimestampVerdict {
    bool is_valid = false;
    std::string because;   ///< why not
    std::int64_t time = 0; ///< Unix seconds; also of one whose chain does not hold
    std::string authority; ///< subject of the authority's certificate
};

/// A request over SHA-256 of the signature, with `nonce` (8 to 32 bytes) and the wish for the
/// authority's certificates: DER.
[[nodiscard]] Result<std::string> timestamp_request(std::string_view signature,
                                                    std::string_view nonce);

/// The token (DER of a ContentInfo) of a whole answer, if it grants what was asked. kVerification:
/// it refuses, or answers something else (imprint, nonce).
[[nodiscard]] Result<std::string> timestamp_token(std::string_view answer,
                                                  std::string_view request);

/// Asks the authority at `url` (http: is allowed: the token is signed), judges the answer, and
/// gives the token for EnvelopeSignature::timestamp. The authority's chain is judged where `trust`
/// is given, at `now`. kEnvironment: not reachable; kVerification: its answer is not what it should
/// be.
[[nodiscard]] Result<std::string> fetch_timestamp(const std::string& url,
                                                  std::string_view signature,
                                                  const HttpClient& network,
                                                  const TrustStore* trust,
                                                  std::int64_t now);

/// Judges a token over a signature: its imprint, its own signature, and the authority's chain (key
/// usage timeStamping alone and critical, RFC 3161 section 2.3; valid at the stamped time). A time
/// in the future of `now` is refused.
[[nodiscard]] TimestampVerdict verify_timestamp(std::string_view token,
                                                std::string_view signature,
                                                const TrustStore& trust,
                                                std::int64_t now);

} // namespace cybele::images
