// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/crl.hpp"

#include "images/certificates/blocks.hpp"
#include "images/certificates/handles.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/x509v3.h>

namespace cybele::images {

namespace {

using PublicKeyOwner = x509::Owner<EVP_PKEY, EVP_PKEY_free>;
using Points = x509::Owner<CRL_DIST_POINTS, CRL_DIST_POINTS_free>;
using IssuingPoint = x509::Owner<ISSUING_DIST_POINT, ISSUING_DIST_POINT_free>;

constexpr std::uint64_t kMaximumList = std::uint64_t{64} << 20U;
constexpr std::size_t kMaximumPoints = 4;

/// The URLs in a full name of a distribution point.
void collect_urls(const DIST_POINT_NAME* name, std::vector<std::string>& urls) {
    if (name == nullptr || name->type != 0) {
        return;
    }
    for (int index = 0; index < sk_GENERAL_NAME_num(name->name.fullname); ++index) {
        const GENERAL_NAME* const entry = sk_GENERAL_NAME_value(name->name.fullname, index);
        if (entry->type == GEN_URI) {
            const ASN1_IA5STRING* const uri = entry->d.uniformResourceIdentifier;
            urls.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                              static_cast<std::size_t>(ASN1_STRING_length(uri)));
        }
    }
}

/// Of lists that the certificate's issuer itself makes for all reasons.
std::vector<std::string> points_of(const CertificateHandle& certificate) {
    std::vector<std::string> urls;
    const Points points(static_cast<CRL_DIST_POINTS*>(
        X509_get_ext_d2i(certificate.get(), NID_crl_distribution_points, nullptr, nullptr)));
    for (int index = 0; points != nullptr && index < sk_DIST_POINT_num(points.get()); ++index) {
        const DIST_POINT* const point = sk_DIST_POINT_value(points.get(), index);
        if (point->reasons == nullptr && point->CRLissuer == nullptr) {
            collect_urls(point->distpoint, urls);
        }
    }
    ERR_clear_error();
    return urls;
}

/// Why a list's issuingDistributionPoint leaves the certificate out; empty: it does not.
std::string judge_scope(const RevocationListHandle& list, const CertificateHandle& certificate) {
    int is_critical = 0;
    const IssuingPoint scope(static_cast<ISSUING_DIST_POINT*>(
        X509_CRL_get_ext_d2i(list.get(), NID_issuing_distribution_point, &is_critical, nullptr)));
    if (scope == nullptr) {
        return is_critical == -1 ? "" : "its list cannot be read";
    }
    const bool is_authority = X509_check_ca(certificate.get()) != 0;
    if (scope->indirectCRL > 0 || scope->onlyattr > 0 || scope->onlysomereasons != nullptr ||
        (scope->onlyuser > 0 && is_authority) || (scope->onlyCA > 0 && !is_authority)) {
        return "its list is for other certificates";
    }
    std::vector<std::string> urls;
    collect_urls(scope->distpoint, urls);
    const std::vector<std::string> points = points_of(certificate);
    const bool is_same = urls.empty() || std::ranges::any_of(urls, [&](const auto& url) {
                             return contains(points, url);
                         });
    return is_same ? "" : "its list is that of another distribution point";
}

/// A delta has only what changed; a critical extension that is not known may change anything.
bool has_strange_extension(const RevocationListHandle& list) {
    for (int index = 0; index < X509_CRL_get_ext_count(list.get()); ++index) {
        X509_EXTENSION* const extension = X509_CRL_get_ext(list.get(), index);
        const int kind = OBJ_obj2nid(X509_EXTENSION_get_object(extension));
        if (kind == NID_delta_crl || (X509_EXTENSION_get_critical(extension) != 0 &&
                                      kind != NID_issuing_distribution_point)) {
            return true;
        }
    }
    return false;
}

/// Why the list is not the issuer's word; empty: it is.
std::string judge_list(const RevocationListHandle& list, const RevocationQuestion& question) {
    const PublicKeyOwner key(X509_get_pubkey(question.issuer.get()));
    if (key == nullptr || X509_CRL_verify(list.get(), key.get()) != 1) {
        ERR_clear_error();
        return "its list is not signed by the certificate's issuer";
    }
    if ((X509_get_key_usage(question.issuer.get()) & KU_CRL_SIGN) == 0) {
        return "the certificate's issuer may not sign lists";
    }
    if (has_strange_extension(list)) {
        return "its list is a delta or has a critical extension that is not known";
    }
    return judge_scope(list, question.certificate);
}

void read_entry(X509_REVOKED* entry, RevocationAnswer& answer) {
    answer.state = RevocationAnswer::State::kRevoked;
    answer.revoked_at = x509::unix_time(X509_REVOKED_get0_revocationDate(entry));
    const x509::Owner<ASN1_ENUMERATED, ASN1_ENUMERATED_free> reason(static_cast<ASN1_ENUMERATED*>(
        X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, nullptr, nullptr)));
    if (reason != nullptr) {
        answer.reason = static_cast<int>(ASN1_ENUMERATED_get(reason.get()));
    }
    const x509::Owner<ASN1_GENERALIZEDTIME, ASN1_GENERALIZEDTIME_free> invalid(
        static_cast<ASN1_GENERALIZEDTIME*>(
            X509_REVOKED_get_ext_d2i(entry, NID_invalidity_date, nullptr, nullptr)));
    if (invalid != nullptr) {
        answer.revoked_at = std::min(answer.revoked_at, x509::unix_time(invalid.get()));
    }
    ERR_clear_error();
}

bool is_issuers(const RevocationListHandle& list, const CertificateHandle& certificate) {
    return X509_NAME_cmp(X509_CRL_get_issuer(list.get()),
                         X509_get_issuer_name(certificate.get())) == 0;
}

RevocationStatus ask_point(const std::string& url, const RevocationQuestion& question) {
    HttpRequest request;
    request.url = url;
    request.access.allows_plain = true; // the list is signed
    request.limits.answer_size = kMaximumList;
    request.limits.exchange = std::chrono::seconds(60);
    const Result<HttpResponse> response = question.trust.network()->send(request);
    RevocationAnswer answer;
    if (!response) {
        answer.because = response.error().faults().front().because;
    } else if (response->status != 200) {
        answer.because = fmt::format("it answers with HTTP status {}", response->status);
    } else {
        const auto blocks = parse_blocks(response->body, url, 1);
        answer.because = "its answer is not a revocation list";
        if (blocks && !blocks->lists.empty()) {
            answer = read_list(blocks->lists.front(), question);
        }
    }
    return weigh(answer, question, printable(url));
}

} // namespace

RevocationAnswer read_list(const RevocationListHandle& list, const RevocationQuestion& question) {
    RevocationAnswer answer;
    if (!is_issuers(list, question.certificate)) {
        answer.because = "its list is that of another issuer";
        return answer;
    }
    answer.because = judge_list(list, question);
    if (!answer.because.empty()) {
        return answer;
    }
    answer.this_update = x509::unix_time(X509_CRL_get0_lastUpdate(list.get()));
    if (const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get())) {
        answer.next_update = x509::unix_time(next);
    }
    X509_REVOKED* entry = nullptr;
    constexpr int kRevoked = 1; // 2: taken off the list again
    if (X509_CRL_get0_by_cert(list.get(), &entry, question.certificate.get()) == kRevoked) {
        read_entry(entry, answer);
    } else {
        answer.state = RevocationAnswer::State::kGood;
    }
    return answer;
}

std::vector<RevocationStatus> ask_given_lists(const RevocationQuestion& question) {
    std::vector<RevocationStatus> statuses;
    for (const RevocationListHandle& list : question.trust.crls()) {
        if (is_issuers(list, question.certificate)) {
            statuses.push_back(weigh(read_list(list, question), question, "the given list"));
        }
    }
    // A newer list counts for more than an older one that does not know of the revocation yet.
    std::stable_sort(statuses.begin(), statuses.end(), [](const auto& left, const auto& right) {
        return left.state == RevocationStatus::State::kRevoked &&
               right.state != RevocationStatus::State::kRevoked;
    });
    return statuses;
}

std::vector<RevocationStatus> ask_distribution_points(const RevocationQuestion& question) {
    std::vector<RevocationStatus> statuses;
    if (question.trust.network() == nullptr) {
        return statuses;
    }
    for (const std::string& url : points_of(question.certificate)) {
        const bool is_web = url.starts_with("http://") || url.starts_with("https://");
        if (is_web && statuses.size() < kMaximumPoints) {
            statuses.push_back(ask_point(url, question));
            if (statuses.back().state != RevocationStatus::State::kUnknown) {
                break;
            }
        }
    }
    return statuses;
}

} // namespace cybele::images
