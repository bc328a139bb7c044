// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

/// DSSE envelopes (secure-systems-lab/dsse, envelope.md and protocol.md), as SIF signatures use
/// them.
namespace cybele::images {

inline constexpr std::string_view kSifMetadataType = "application/vnd.sylabs.sif-metadata+json";

struct EnvelopeSignature {
    std::string key_id; ///< a hint, not signed itself; empty: none
    std::string bytes;  ///< raw
    /// The signer's certificates as PEM, the leaf first; empty: none. A hint like the key id: it is
    /// not signed. Field "cert", as other writers of DSSE have it.
    std::string chain{};
    /// RFC 3161 token over `bytes`, DER; empty: none. Field "timestamp", base64.
    std::string timestamp{};
};

struct Envelope {
    std::string payload_type;
    std::string payload; ///< raw
    std::vector<EnvelopeSignature> signatures;
};

/// What is signed: `DSSEv1 <len> <type> <len> <payload>`.
[[nodiscard]] std::string pre_authentication_encoding(std::string_view type,
                                                      std::string_view payload);

/// Compact JSON in Apptainer's order, without a final newline.
[[nodiscard]] std::string write_envelope(const Envelope& envelope);

/// Takes either alphabet of base64 and white space around the object. kInput: no such envelope, or
/// more than 64 signatures in it.
[[nodiscard]] Result<Envelope> parse_envelope(std::string_view text);

} // namespace cybele::images
