// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/ocsp.hpp"

#include "images/certificates/handles.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <fmt/format.h>
#include <openssl/ocsp.h>
#include <openssl/x509v3.h>

namespace cybele::images {

namespace {

using OcspRequest = x509::Owner<OCSP_REQUEST, OCSP_REQUEST_free>;
using OcspResponse = x509::Owner<OCSP_RESPONSE, OCSP_RESPONSE_free>;
using Basic = x509::Owner<OCSP_BASICRESP, OCSP_BASICRESP_free>;
using Id = x509::Owner<OCSP_CERTID, OCSP_CERTID_free>;

struct FreeUrls {
    void operator()(STACK_OF(OPENSSL_STRING) * urls) const {
        X509_email_free(urls);
    }
};

constexpr std::size_t kOcspNonceSize = 16;
constexpr std::uint64_t kMaximumOcspAnswer = std::uint64_t{1} << 20U;
constexpr int kMaximumResponders = 4;

/// SHA-1 names the certificate here and protects nothing; many responders know no other.
Id id_of(const RevocationQuestion& question) {
    return Id(OCSP_cert_to_id(EVP_sha1(), question.certificate.get(), question.issuer.get()));
}

/// Who answered, and whether it is to this request; empty: all is well.
std::string
judge_responder(OCSP_BASICRESP* basic, OCSP_REQUEST* request, const RevocationQuestion& question) {
    constexpr int kDiffers = 0; // -1: it does not repeat it, which RFC 9654 allows; age is judged
    if (OCSP_check_nonce(request, basic) == kDiffers) {
        return "its answer is to another request (wrong nonce)";
    }
    const auto store = x509::store_of({question.issuer}, question.time.now);
    const auto issuer = x509::stack_of({question.issuer});
    if (!store || !issuer) {
        return "memory is short";
    }
    // Nobody but the issuer and whom the issuer names: no responder that is trusted for all.
    if (OCSP_basic_verify(basic, issuer->get(), store->get(), OCSP_NOEXPLICIT) != 1) {
        return "its answer is not signed by one who may: " + x509::take_reason();
    }
    return {};
}

void read_status(OCSP_BASICRESP* basic, OCSP_CERTID* id, RevocationAnswer& answer) {
    int status = -1;
    ASN1_GENERALIZEDTIME* revoked = nullptr;
    ASN1_GENERALIZEDTIME* this_update = nullptr;
    ASN1_GENERALIZEDTIME* next_update = nullptr;
    if (OCSP_resp_find_status(
            basic, id, &status, &answer.reason, &revoked, &this_update, &next_update) != 1) {
        answer.because = "its answer is about another certificate";
        return;
    }
    answer.this_update = x509::unix_time(this_update);
    if (next_update != nullptr) {
        answer.next_update = x509::unix_time(next_update);
    }
    if (status == V_OCSP_CERTSTATUS_GOOD) {
        answer.state = RevocationAnswer::State::kGood;
    } else if (status == V_OCSP_CERTSTATUS_REVOKED) {
        answer.state = RevocationAnswer::State::kRevoked;
        answer.revoked_at = x509::unix_time(revoked);
    } else {
        answer.because = "it does not know the certificate";
    }
}

RevocationAnswer ask(const std::string& url, const RevocationQuestion& question) {
    RevocationAnswer answer;
    const auto request = ocsp_request(question, random_bytes(kOcspNonceSize));
    if (!request) {
        answer.because = request.error().faults().front().because;
        return answer;
    }
    HttpRequest post;
    post.method = "POST";
    post.url = url;
    post.headers = {{"Content-Type", "application/ocsp-request"},
                    {"Accept", "application/ocsp-response"}};
    post.body = *request;
    post.access.allows_plain = true; // the answer is signed
    post.limits.answer_size = kMaximumOcspAnswer;
    post.limits.exchange = std::chrono::seconds(20);
    const Result<HttpResponse> response = question.trust.network()->send(post);
    if (!response) {
        answer.because = response.error().faults().front().because;
    } else if (response->status != 200) {
        answer.because = fmt::format("it answers with HTTP status {}", response->status);
    } else {
        answer = read_ocsp(response->body, *request, question);
    }
    return answer;
}

} // namespace

Result<std::string> ocsp_request(const RevocationQuestion& question, std::string_view nonce) {
    const OcspRequest request(OCSP_REQUEST_new());
    Id id = id_of(question);
    if (request == nullptr || id == nullptr ||
        OCSP_request_add0_id(request.get(), id.get()) == nullptr) {
        return x509::refused("cannot make a request for a certificate's status");
    }
    (void)id.release(); // the request's now
    std::string bytes(nonce);
    if (!nonce.empty() && OCSP_request_add1_nonce(request.get(),
                                                  reinterpret_cast<unsigned char*>(bytes.data()),
                                                  static_cast<int>(bytes.size())) != 1) {
        return x509::refused("cannot make a request for a certificate's status");
    }
    return x509::der_of(request.get(), i2d_OCSP_REQUEST);
}

RevocationAnswer
read_ocsp(std::string_view der, std::string_view request, const RevocationQuestion& question) {
    RevocationAnswer answer;
    const unsigned char* at = x509::bytes_of(der);
    const OcspResponse response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
    at = x509::bytes_of(request);
    const OcspRequest asked(d2i_OCSP_REQUEST(nullptr, &at, static_cast<long>(request.size())));
    const Id id = id_of(question);
    const int status = response == nullptr ? -1 : OCSP_response_status(response.get());
    const bool is_answer = status == OCSP_RESPONSE_STATUS_SUCCESSFUL;
    const Basic basic(is_answer ? OCSP_response_get1_basic(response.get()) : nullptr);
    if (status > OCSP_RESPONSE_STATUS_SUCCESSFUL) {
        answer.because = fmt::format("it refuses to answer: {}", OCSP_response_status_str(status));
    } else if (basic == nullptr || asked == nullptr || id == nullptr) {
        answer.because = "its answer is not an OCSP response";
    } else {
        answer.because = judge_responder(basic.get(), asked.get(), question);
        if (answer.because.empty()) {
            read_status(basic.get(), id.get(), answer);
        }
    }
    ERR_clear_error();
    return answer;
}

std::vector<RevocationStatus> ask_responders(const RevocationQuestion& question) {
    std::vector<RevocationStatus> statuses;
    if (question.trust.network() == nullptr) {
        return statuses;
    }
    const std::unique_ptr<STACK_OF(OPENSSL_STRING), FreeUrls> urls(
        X509_get1_ocsp(question.certificate.get()));
    const int count = std::min(sk_OPENSSL_STRING_num(urls.get()), kMaximumResponders);
    for (int index = 0; index < count; ++index) {
        const std::string url(sk_OPENSSL_STRING_value(urls.get(), index));
        statuses.push_back(weigh(ask(url, question), question, printable(url)));
        if (statuses.back().state != RevocationStatus::State::kUnknown) {
            break;
        }
    }
    ERR_clear_error();
    return statuses;
}

} // namespace cybele::images
