// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/trust.hpp"
#include "images/signatures/policy.hpp"
#include "images/signatures/verify.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::images {

/// Files and words that say who counts: from options, or from a Policy.
struct TrustRequest {
    std::vector<std::filesystem::path> keys;         ///< public PEM keys
    std::vector<PublicKey> read_keys;                ///< those that were read already
    std::vector<std::filesystem::path> keyrings;     ///< of OpenPGP keys
    bool use_default_keyrings = false;               ///< Apptainer's own and the machine's, too
    std::vector<std::string> pgp;                    ///< fingerprints that count; empty: all
    std::vector<std::filesystem::path> certificates; ///< of signers; chains
    bool use_certificates = false;                   ///< also those that lie beside the signatures
    bool accepts_legacy = false; ///< signatures of Singularity 3.0 to 3.5, which cover bytes only
    bool counts_roots = false;   ///< each root is a signer of its own (a Policy's)
    CertificateTrust authorities;
    std::string require = "any";
    std::int64_t now = 0;

    [[nodiscard]] bool is_empty() const {
        return keys.empty() && read_keys.empty() && keyrings.empty() && !use_default_keyrings &&
               certificates.empty() && !use_certificates;
    }
};

/// Adds what a policy names; paths are relative to the policy's file. A policy that names
/// fingerprints takes the keys from the default keyrings and those of the request. kInput: files
/// that are not there, each with its place; kUsage: an unknown word of `revocation`.
[[nodiscard]] Result<void> add_policy(const Policy& policy, TrustRequest& request);

/// Equal for requests that trust the same: its words, and the content of all its files.
[[nodiscard]] Result<std::string> identity_of(const TrustRequest& request,
                                              const Environment& environment);

/// Reads all of it once. kInput: a file that is not what it should be; kUsage: more signers are
/// required than there are.
[[nodiscard]] Result<Trust> load_trust(const TrustRequest& request, const Environment& environment);

} // namespace cybele::images
