// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/handles.hpp"

#include <ctime>

#include <fmt/format.h>
#include <openssl/x509_vfy.h>

namespace cybele::images::x509 {

namespace {

/// 112 bits of security: RSA from 2048, no SHA-1 in what is signed (SSL_CTX_set_security_level(3)).
constexpr int kSecurityLevel = 2;

} // namespace

CertificateHandle share(X509* certificate) {
    if (certificate == nullptr || X509_up_ref(certificate) != 1) {
        return nullptr;
    }
    return {certificate, X509_free};
}

Result<Stack> stack_of(const std::vector<CertificateHandle>& certificates) {
    Stack stack(sk_X509_new_null());
    for (const CertificateHandle& certificate : certificates) {
        if (stack == nullptr || sk_X509_push(stack.get(), certificate.get()) <= 0) {
            return refused("cannot collect certificates");
        }
    }
    if (stack == nullptr) {
        return refused("cannot collect certificates");
    }
    return stack;
}

Result<Store> store_of(const std::vector<CertificateHandle>& anchors, std::int64_t at) {
    Store store(X509_STORE_new());
    if (store == nullptr || X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN) != 1) {
        return refused("cannot make a pool of certificates");
    }
    for (const CertificateHandle& anchor : anchors) {
        if (X509_STORE_add_cert(store.get(), anchor.get()) != 1) {
            return refused("cannot make a pool of certificates");
        }
    }
    X509_VERIFY_PARAM* const parameters = X509_STORE_get0_param(store.get());
    X509_VERIFY_PARAM_set_time(parameters, at);
    X509_VERIFY_PARAM_set_auth_level(parameters, kSecurityLevel);
    return store;
}

std::string take_reason() {
    const char* data = nullptr;
    int flags = 0;
    const unsigned long code = ERR_peek_last_error_data(&data, &flags);
    const char* const reason = ERR_reason_error_string(code);
    std::string text = reason == nullptr ? "it gives no reason" : reason;
    if (data != nullptr && *data != '\0' && (static_cast<unsigned>(flags) & ERR_TXT_STRING) != 0) {
        text += fmt::format(" ({})", data);
    }
    ERR_clear_error();
    return text;
}

tl::unexpected<Error> refused(const std::string& what) {
    return fail(ErrorCode::kInternal,
                problem("certificate-library", what),
                "the cryptographic library says: " + take_reason(),
                "call it again; memory may be short");
}

std::int64_t unix_time(const ASN1_TIME* time) {
    std::tm parts{};
    if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) {
        return 0;
    }
    return ::timegm(&parts);
}

std::string shown_time(std::int64_t unix_seconds) {
    const std::time_t time = unix_seconds;
    std::tm parts{};
    if (::gmtime_r(&time, &parts) == nullptr) {
        return "an impossible time";
    }
    return fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
                       parts.tm_year + 1900,
                       parts.tm_mon + 1,
                       parts.tm_mday,
                       parts.tm_hour,
                       parts.tm_min,
                       parts.tm_sec);
}

} // namespace cybele::images::x509
