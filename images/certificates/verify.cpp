// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/verify.hpp"

#include "images/certificates/handles.hpp"
#include "images/certificates/judgement.hpp"
#include "images/certificates/revocation.hpp"

#include <fmt/format.h>

namespace cybele::images {

namespace {

using State = RevocationStatus::State;

/// What was learnt of one certificate, put into the verdict.
void conclude(RevocationStatus status, Revocation mode, CertificateVerdict& verdict) {
    std::string sentence;
    if (status.state == State::kRevoked) {
        verdict.because = fmt::format("the certificate of '{}' does not hold: {} ({})",
                                      status.subject,
                                      status.because,
                                      status.learnt_from);
        verdict.help = "have the image signed again with a certificate that is not revoked";
    } else if (status.state == State::kUnknown) {
        sentence = fmt::format("whether the certificate of '{}' is revoked could not be learnt: {}",
                               status.subject,
                               status.because);
        if (mode == Revocation::kHard) {
            verdict.because = std::move(sentence);
            verdict.help =
                "give the list of revoked certificates (--crl FILE), or ask the signer for "
                "a certificate that names a responder which answers";
        } else {
            verdict.warnings.push_back(std::move(sentence));
        }
    }
    verdict.revocation.push_back(std::move(status));
}

/// The root speaks for itself: nobody could say that it is revoked.
void judge_revocation(const std::vector<CertificateHandle>& path,
                      const TrustStore& trust,
                      const SigningTime& time,
                      CertificateVerdict& verdict) {
    for (std::size_t index = 0; index + 1 < path.size() && verdict.because.empty(); ++index) {
        const RevocationQuestion question{path[index], path[index + 1], trust, time};
        conclude(revocation_status(question), trust.revocation(), verdict);
    }
}

} // namespace

Result<CertificateVerdict> verify_chain(const Chain& chain,
                                        const std::vector<CertificateHandle>& extra,
                                        const TrustStore& trust,
                                        const SigningTime& time) {
    CertificateVerdict verdict;
    verdict.subject = subject_of(chain.leaf());
    verdict.issuer = issuer_of(chain.leaf());
    verdict.fingerprint = fingerprint_of(chain.leaf());
    verdict.judged_at = time.signed_at.value_or(time.now);

    PathQuestion question;
    question.leaf = chain.leaf();
    for (const auto* const from : {&chain.certificates(), &extra, &trust.intermediates()}) {
        question.untrusted.insert(question.untrusted.end(), from->begin(), from->end());
    }
    question.anchors = trust.roots();
    question.is_system_pool = trust.is_system_pool();
    question.at = verdict.judged_at;
    CYBELE_TRY(PathJudgement judgement, judge_path(question));
    for (const CertificateHandle& certificate : judgement.path) {
        verdict.path.push_back(subject_of(certificate));
    }
    if (!judgement.path.empty()) {
        verdict.root_identity = identity_of(judgement.path.back());
    }
    verdict.lacks_issuer = judgement.lacks_issuer;
    verdict.because = std::move(judgement.because);
    verdict.help = std::move(judgement.help);
    // Only now: addresses in certificates that nobody vouches for are not asked.
    if (verdict.because.empty() && trust.revocation() != Revocation::kNone) {
        judge_revocation(judgement.path, trust, time, verdict);
    }
    verdict.is_valid = verdict.because.empty();
    return verdict;
}

Result<CertificateVerdict> verify_signer(const Chain& chain,
                                         std::string_view signature,
                                         std::string_view timestamp,
                                         const TrustStore& trust,
                                         std::int64_t now) {
    SigningTime time{now, std::nullopt};
    std::optional<TimestampVerdict> stamp;
    if (!timestamp.empty()) {
        stamp = verify_timestamp(timestamp, signature, trust, now);
        if (stamp->is_valid) {
            time.signed_at = stamp->time;
        }
    }
    CYBELE_TRY(CertificateVerdict verdict, verify_chain(chain, {}, trust, time));
    if (stamp && !stamp->is_valid) {
        verdict.warnings.push_back("the time stamp does not count: " + stamp->because);
    }
    verdict.timestamp = std::move(stamp);
    return verdict;
}

} // namespace cybele::images
