// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/revocation.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The online certificate status protocol (RFC 6960).
namespace cybele::images {

/// Asks each responder that the certificate names (authority information access) until one knows.
/// Empty: it names none, or there is no network.
[[nodiscard]] std::vector<RevocationStatus> ask_responders(const RevocationQuestion& question);

/// A request in DER for one certificate, with a nonce (RFC 9654; empty: none). kInternal.
[[nodiscard]] Result<std::string> ocsp_request(const RevocationQuestion& question,
                                               std::string_view nonce);

/// Judges a responder's answer: whole, signed by the issuer or by a responder that the issuer's
/// certificate says may (key usage OCSPSigning, valid at `now`), to this request where it repeats
/// the nonce, about this certificate. Its age is left to weigh().
[[nodiscard]] RevocationAnswer
read_ocsp(std::string_view der, std::string_view request, const RevocationQuestion& question);

} // namespace cybele::images
