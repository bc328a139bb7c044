// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/handles.hpp"
#include "images/certificates/timestamp.hpp"
#include "support/find.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/ts.h>

namespace cybele::images {

namespace {

using Check = x509::Owner<TS_VERIFY_CTX, TS_VERIFY_CTX_free>;
using Token = x509::Owner<PKCS7, PKCS7_free>;
using Info = x509::Owner<TS_TST_INFO, TS_TST_INFO_free>;

constexpr std::int64_t kTimestampClockSkew = 300;

/// Hashes whose collisions nobody makes; SHA-1 and MD5 would let a stamp serve another signature.
constexpr int kStrongHashes[] = {NID_sha256, NID_sha384, NID_sha512, NID_sha3_256, NID_sha3_512};

/// Reasons that OpenSSL gives, as sentences.
struct TimestampSentence {
    int reason;
    const char* words;
};
constexpr TimestampSentence kTimestampSentences[] = {
    {TS_R_MESSAGE_IMPRINT_MISMATCH, "it is over another signature"},
    {TS_R_SIGNATURE_FAILURE, "its own signature does not hold"},
    {TS_R_ESS_SIGNING_CERTIFICATE_ERROR, "it names another certificate than it was signed with"},
    {TS_R_TSA_NAME_MISMATCH, "it names another authority than it was signed by"},
    {TS_R_THERE_MUST_BE_ONE_SIGNER, "it has none or several signers"},
};

TimestampVerdict refused_timestamp(TimestampVerdict verdict, std::string because) {
    ERR_clear_error();
    verdict.is_valid = false;
    verdict.because = std::move(because);
    return verdict;
}

/// Subject of who signed it, with the certificates in the token.
std::string authority_of(PKCS7* token) {
    const x509::Stack signers(PKCS7_get0_signers(token, nullptr, 0));
    if (signers == nullptr || sk_X509_num(signers.get()) == 0) {
        ERR_clear_error();
        return {};
    }
    return subject_of(x509::share(sk_X509_value(signers.get(), 0)));
}

bool has_sound_hash(const TS_TST_INFO* info) {
    TS_MSG_IMPRINT* const imprint =
        TS_TST_INFO_get_msg_imprint(const_cast<TS_TST_INFO*>(info)); // NOLINT: reads
    const ASN1_OBJECT* algorithm = nullptr;
    X509_ALGOR_get0(&algorithm, nullptr, nullptr, TS_MSG_IMPRINT_get_algo(imprint));
    return contains(kStrongHashes, OBJ_obj2nid(algorithm));
}

std::string reason() {
    const unsigned long code = ERR_peek_last_error();
    const auto* const known =
        std::ranges::find_if(kTimestampSentences, [&](const TimestampSentence& row) {
            return ERR_GET_LIB(code) == ERR_LIB_TS && ERR_GET_REASON(code) == row.reason;
        });
    if (known != std::end(kTimestampSentences)) {
        ERR_clear_error();
        return known->words;
    }
    const bool is_chain =
        ERR_GET_LIB(code) == ERR_LIB_TS && ERR_GET_REASON(code) == TS_R_CERTIFICATE_VERIFY_ERROR;
    return (is_chain ? "the authority's certificate does not hold: " : "") + x509::take_reason();
}

/// Makes what OpenSSL verifies with: the bytes, and the roots at the stamped time.
Check check_of(std::string_view signature, const TrustStore& trust, std::int64_t time) {
    Check check(TS_VERIFY_CTX_new());
    auto store = x509::store_of(trust.timestamp_roots(), time);
    x509::Bio data = x509::reader(signature);
    if (check == nullptr || !store || data == nullptr) {
        return nullptr;
    }
    STACK_OF(X509)* const untrusted = sk_X509_new_null();
    for (const CertificateHandle& certificate : trust.intermediates()) {
        if (untrusted == nullptr || X509_up_ref(certificate.get()) != 1 ||
            sk_X509_push(untrusted, certificate.get()) <= 0) {
            sk_X509_pop_free(untrusted, X509_free);
            return nullptr;
        }
    }
    // The check owns all three from here on.
    const bool done =
        TS_VERIFY_CTX_set_flags(
            check.get(), TS_VFY_VERSION | TS_VFY_DATA | TS_VFY_SIGNER | TS_VFY_SIGNATURE) != 0 &&
        TS_VERIFY_CTX_set_store(check.get(), store->release()) != nullptr &&
        TS_VERIFY_CTX_set_data(check.get(), data.release()) != nullptr &&
        (untrusted == nullptr || TS_VERIFY_CTX_set_certs(check.get(), untrusted) != nullptr);
    return done ? std::move(check) : nullptr;
}

} // namespace

TimestampVerdict verify_timestamp(std::string_view token,
                                  std::string_view signature,
                                  const TrustStore& trust,
                                  std::int64_t now) {
    TimestampVerdict verdict;
    const unsigned char* at = x509::bytes_of(token);
    const Token parsed(d2i_PKCS7(nullptr, &at, static_cast<long>(token.size())));
    const Info info(parsed == nullptr ? nullptr : PKCS7_to_TS_TST_INFO(parsed.get()));
    if (info == nullptr) {
        return refused_timestamp(verdict, "it is not a time stamp");
    }
    verdict.authority = authority_of(parsed.get());
    verdict.time = x509::unix_time(TS_TST_INFO_get_time(info.get()));
    if (verdict.time <= 0 || verdict.time > now + kTimestampClockSkew) {
        return refused_timestamp(
            verdict,
            fmt::format("it is from {}, which is yet to come", x509::shown_time(verdict.time)));
    }
    if (!has_sound_hash(info.get())) {
        return refused_timestamp(verdict, "its hash is not one that can be relied on");
    }
    const Check check = check_of(signature, trust, verdict.time);
    if (check == nullptr) {
        return refused_timestamp(verdict, "memory is short");
    }
    if (TS_RESP_verify_token(check.get(), parsed.get()) != 1) {
        return refused_timestamp(verdict, reason());
    }
    ERR_clear_error();
    verdict.is_valid = true;
    return verdict;
}

} // namespace cybele::images
