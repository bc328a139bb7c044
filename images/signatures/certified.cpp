// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/certified.hpp"

#include "images/certificates/verify.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cybele::images {

namespace {

/// The finding by one chain; nothing where its leaf did not make the signature.
Result<std::optional<CertificateFinding>> check_chain(const Chain& chain,
                                                      std::string_view bytes,
                                                      const EnvelopeSignature& signature,
                                                      const TrustStore& store,
                                                      std::int64_t now) {
    const Result<PublicKey> key = chain.leaf_key();
    if (!key || !key->verifies(bytes, signature.bytes)) {
        return std::optional<CertificateFinding>();
    }
    CYBELE_TRY(const CertificateVerdict verdict,
               verify_signer(chain, signature.bytes, signature.timestamp, store, now));
    CertificateFinding finding;
    finding.fingerprint = verdict.fingerprint;
    finding.key = key->fingerprint();
    finding.file = chain.path().native();
    finding.subject = verdict.subject;
    finding.root = verdict.path.empty() ? "" : verdict.path.back();
    finding.root_identity = verdict.root_identity;
    if (verdict.timestamp && verdict.timestamp->is_valid) {
        finding.stamped = verdict.timestamp->time;
    }
    finding.is_valid = verdict.is_valid;
    finding.lacks_issuer = verdict.lacks_issuer;
    finding.because = verdict.because;
    finding.help = verdict.help;
    finding.warnings = verdict.warnings;
    return std::optional(std::move(finding));
}

bool is_one_of(const std::vector<Chain>& given, const Chain& chain) {
    const std::string leaf = fingerprint_of(chain.leaf());
    return std::ranges::any_of(
        given, [&](const Chain& one) { return fingerprint_of(one.leaf()) == leaf; });
}

} // namespace

CertificateJudge judge_by_certificates(std::shared_ptr<const TrustStore> store,
                                       std::vector<Chain> given,
                                       bool takes_others,
                                       std::int64_t now) {
    return [store = std::move(store), given = std::move(given), takes_others, now](
               std::string_view bytes,
               const EnvelopeSignature& signature) -> Result<std::optional<CertificateFinding>> {
        if (!signature.chain.empty()) {
            const Result<Chain> chain = Chain::parse(signature.chain, "");
            if (chain && (takes_others || is_one_of(given, *chain))) {
                CYBELE_TRY(auto finding, check_chain(*chain, bytes, signature, *store, now));
                if (finding) {
                    return finding;
                }
            }
        }
        for (const Chain& chain : given) {
            CYBELE_TRY(auto finding, check_chain(chain, bytes, signature, *store, now));
            if (finding) {
                return finding;
            }
        }
        return std::optional<CertificateFinding>();
    };
}

} // namespace cybele::images
