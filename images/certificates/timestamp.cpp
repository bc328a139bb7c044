// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/timestamp.hpp"

#include "images/certificates/handles.hpp"
#include "support/digest.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ts.h>

namespace cybele::images {

namespace {

using TimestampRequestMessage = x509::Owner<TS_REQ, TS_REQ_free>;
using Imprint = x509::Owner<TS_MSG_IMPRINT, TS_MSG_IMPRINT_free>;
using HashIdentifier = x509::Owner<X509_ALGOR, X509_ALGOR_free>;
using TimestampResponse = x509::Owner<TS_RESP, TS_RESP_free>;
using Check = x509::Owner<TS_VERIFY_CTX, TS_VERIFY_CTX_free>;
using Number = x509::Owner<BIGNUM, BN_free>;
using Integer = x509::Owner<ASN1_INTEGER, ASN1_INTEGER_free>;
using Token = x509::Owner<PKCS7, PKCS7_free>;

constexpr std::size_t kTimestampNonceSize = 16;
constexpr std::uint64_t kMaximumTimestampAnswer = std::uint64_t{1} << 20U;
constexpr long kTimestampVersion = 1;

tl::unexpected<Error> unusable(std::string because) {
    ERR_clear_error();
    return fail(ErrorCode::kVerification,
                problem("time-stamp-unusable", "the time stamp that was received cannot be used"),
                std::move(because),
                "ask another time-stamp authority");
}

Result<Imprint> imprint_of(std::string_view signature) {
    const Digest digest = sha256(signature);
    Imprint imprint(TS_MSG_IMPRINT_new());
    const HashIdentifier algorithm(X509_ALGOR_new());
    if (imprint == nullptr || algorithm == nullptr ||
        X509_ALGOR_set0(algorithm.get(), OBJ_nid2obj(NID_sha256), V_ASN1_NULL, nullptr) != 1 ||
        TS_MSG_IMPRINT_set_algo(imprint.get(), algorithm.get()) != 1) {
        return x509::refused("cannot make a request for a time stamp");
    }
    std::array<unsigned char, 32> bytes{};
    std::copy(digest.begin(), digest.end(), bytes.begin());
    if (TS_MSG_IMPRINT_set_msg(imprint.get(), bytes.data(), static_cast<int>(bytes.size())) != 1) {
        return x509::refused("cannot make a request for a time stamp");
    }
    return imprint;
}

/// What an authority says that grants nothing.
std::string refusal_of(TS_RESP* response) {
    std::string text;
    const STACK_OF(ASN1_UTF8STRING)* const words =
        TS_STATUS_INFO_get0_text(TS_RESP_get_status_info(response));
    for (int index = 0; index < sk_ASN1_UTF8STRING_num(words); ++index) {
        const ASN1_UTF8STRING* const word = sk_ASN1_UTF8STRING_value(words, index);
        text += fmt::format("{}{}",
                            text.empty() ? ": " : ", ",
                            printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(word)),
                                       static_cast<std::size_t>(ASN1_STRING_length(word))}));
    }
    return "the authority does not grant it" + text;
}

} // namespace

Result<std::string> timestamp_request(std::string_view signature, std::string_view nonce) {
    const TimestampRequestMessage request(TS_REQ_new());
    CYBELE_TRY(const Imprint imprint, imprint_of(signature));
    const Number number(BN_bin2bn(x509::bytes_of(nonce), static_cast<int>(nonce.size()), nullptr));
    const Integer integer(number == nullptr ? nullptr : BN_to_ASN1_INTEGER(number.get(), nullptr));
    if (request == nullptr || integer == nullptr ||
        TS_REQ_set_version(request.get(), kTimestampVersion) != 1 ||
        TS_REQ_set_msg_imprint(request.get(), imprint.get()) != 1 ||
        TS_REQ_set_nonce(request.get(), integer.get()) != 1 ||
        TS_REQ_set_cert_req(request.get(), 1) != 1) {
        return x509::refused("cannot make a request for a time stamp");
    }
    return x509::der_of(request.get(), i2d_TS_REQ);
}

Result<std::string> timestamp_token(std::string_view answer, std::string_view request) {
    const unsigned char* at = x509::bytes_of(request);
    const TimestampRequestMessage asked(
        d2i_TS_REQ(nullptr, &at, static_cast<long>(request.size())));
    at = x509::bytes_of(answer);
    const TimestampResponse response(d2i_TS_RESP(nullptr, &at, static_cast<long>(answer.size())));
    if (asked == nullptr || response == nullptr) {
        return unusable("what was received is not an answer of a time-stamp authority");
    }
    PKCS7* const token = TS_RESP_get_token(response.get());
    if (token == nullptr) {
        return unusable(refusal_of(response.get()));
    }
    // Status, imprint and nonce; the signature is verify_timestamp()'s.
    const Check check(TS_REQ_to_TS_VERIFY_CTX(asked.get(), nullptr));
    if (check == nullptr) {
        return x509::refused("cannot verify a time stamp");
    }
    if (TS_VERIFY_CTX_set_flags(check.get(), TS_VFY_VERSION | TS_VFY_IMPRINT | TS_VFY_NONCE) == 0 ||
        TS_RESP_verify_response(check.get(), response.get()) != 1) {
        return unusable("it is not what was asked for: " + x509::take_reason());
    }
    return x509::der_of(token, i2d_PKCS7);
}

Result<std::string> fetch_timestamp(const std::string& url,
                                    std::string_view signature,
                                    const HttpClient& network,
                                    const TrustStore* trust,
                                    std::int64_t now) {
    CYBELE_TRY(const std::string request,
               timestamp_request(signature, random_bytes(kTimestampNonceSize)));
    HttpRequest post;
    post.method = "POST";
    post.url = url;
    post.headers = {{"Content-Type", "application/timestamp-query"},
                    {"Accept", "application/timestamp-reply"}};
    post.body = request;
    post.access.allows_plain = true; // the token is signed
    post.limits.answer_size = kMaximumTimestampAnswer;
    CYBELE_TRY(const HttpResponse response, network.send(post));
    if (response.status != 200) {
        return fail(ErrorCode::kEnvironment,
                    problem("time-stamp-not-received",
                            fmt::format("cannot get a time stamp from {}", printable(url))),
                    fmt::format("it answers with HTTP status {}", response.status),
                    "check the address, or sign without a time stamp");
    }
    CYBELE_TRY(std::string token, timestamp_token(response.body, request));
    if (trust != nullptr) {
        const TimestampVerdict verdict = verify_timestamp(token, signature, *trust, now);
        if (!verdict.is_valid) {
            return unusable(verdict.because);
        }
    }
    return token;
}

} // namespace cybele::images
