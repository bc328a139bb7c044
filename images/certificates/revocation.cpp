// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/revocation.hpp"

#include "images/certificates/crl.hpp"
#include "images/certificates/handles.hpp"
#include "images/certificates/ocsp.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/ocsp.h>

namespace cybele::images {

namespace {

using State = RevocationStatus::State;

constexpr std::int64_t kRevocationClockSkew = 300;
constexpr std::int64_t kDay = 86'400;

struct RevocationReason {
    int number;
    const char* words;
};
/// RFC 5280 section 5.3.1.
constexpr RevocationReason kRevocationReasons[] = {
    {OCSP_REVOKED_STATUS_KEYCOMPROMISE, "its key is compromised"},
    {OCSP_REVOKED_STATUS_CACOMPROMISE, "its authority is compromised"},
    {OCSP_REVOKED_STATUS_AFFILIATIONCHANGED, "its holder belongs elsewhere"},
    {OCSP_REVOKED_STATUS_SUPERSEDED, "another one replaced it"},
    {OCSP_REVOKED_STATUS_CESSATIONOFOPERATION, "it is no longer needed"},
    {OCSP_REVOKED_STATUS_CERTIFICATEHOLD, "it is on hold"},
};

std::string shown_reason(int number) {
    for (const RevocationReason& reason : kRevocationReasons) {
        if (reason.number == number) {
            return fmt::format(": {}", reason.words);
        }
    }
    return {};
}

/// A thief can set any date: a compromised key makes signatures of all times doubtful.
bool is_compromise(int reason) {
    return reason == OCSP_REVOKED_STATUS_KEYCOMPROMISE ||
           reason == OCSP_REVOKED_STATUS_CACOMPROMISE;
}

/// Why the answer's age makes it useless; empty: it counts.
std::string judge_age(const RevocationAnswer& answer, const SigningTime& time) {
    if (answer.this_update > time.now + kRevocationClockSkew) {
        return fmt::format("its answer is from {}, which is yet to come",
                           x509::shown_time(answer.this_update));
    }
    const std::int64_t until = answer.next_update.value_or(answer.this_update + kDay);
    const bool is_after_signing = time.signed_at && answer.this_update >= *time.signed_at;
    if (until + kRevocationClockSkew < time.now && !is_after_signing) {
        return fmt::format("its answer is out of date since {}", x509::shown_time(until));
    }
    return {};
}

void join(std::string& reasons, const RevocationStatus& status) {
    if (!status.because.empty()) {
        reasons += fmt::format("{}{}{}{}",
                               reasons.empty() ? "" : "; ",
                               status.learnt_from,
                               status.learnt_from.empty() ? "" : ": ",
                               status.because);
    }
}

} // namespace

RevocationStatus weigh(const RevocationAnswer& answer,
                       const RevocationQuestion& question,
                       const std::string& source) {
    RevocationStatus status;
    status.learnt_from = source;
    status.because = answer.because;
    if (answer.state == RevocationAnswer::State::kUnknown) {
        return status;
    }
    if (std::string because = judge_age(answer, question.time); !because.empty()) {
        // What is revoked stays so, whatever the age; only a hold can end.
        const bool is_final = answer.state == RevocationAnswer::State::kRevoked &&
                              answer.reason != OCSP_REVOKED_STATUS_CERTIFICATEHOLD &&
                              answer.this_update <= question.time.now + kRevocationClockSkew;
        if (!is_final) {
            status.because = std::move(because);
            return status;
        }
    }
    const auto& signed_at = question.time.signed_at;
    const bool is_later =
        signed_at && answer.revoked_at > *signed_at && !is_compromise(answer.reason);
    if (answer.state == RevocationAnswer::State::kGood || is_later) {
        status.state = State::kGood;
        return status;
    }
    status.state = State::kRevoked;
    status.because = fmt::format(
        "it was revoked on {}{}", x509::shown_time(answer.revoked_at), shown_reason(answer.reason));
    return status;
}

RevocationStatus revocation_status(const RevocationQuestion& question) {
    using Ask = std::vector<RevocationStatus> (*)(const RevocationQuestion&);
    constexpr std::array<Ask, 3> kAsked{ask_given_lists, ask_responders, ask_distribution_points};
    std::string reasons;
    RevocationStatus result;
    for (const Ask ask : kAsked) {
        for (RevocationStatus& status : ask(question)) {
            if (status.state != State::kUnknown) {
                status.subject = subject_of(question.certificate);
                return std::move(status);
            }
            join(reasons, status);
        }
    }
    result.subject = subject_of(question.certificate);
    result.because = !reasons.empty() ? reasons
                     : question.trust.network() == nullptr
                         ? "no list of its issuer is given, and the network is not used"
                         : "it names neither a responder (OCSP) nor a revocation list";
    return result;
}

} // namespace cybele::images
