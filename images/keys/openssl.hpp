// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

/// OpenSSL's objects with an owner, and its results with a judge. No result of OpenSSL is dropped:
/// `key_openssl_test` reads the sources for calls that stand alone.
namespace cybele::images::openssl {

struct Free {
    void operator()(BIO* bio) const {
        BIO_free_all(bio);
    }
    void operator()(BIGNUM* number) const {
        BN_clear_free(number);
    }
    void operator()(EVP_MD_CTX* context) const {
        EVP_MD_CTX_free(context);
    }
    void operator()(EVP_PKEY* key) const {
        EVP_PKEY_free(key);
    }
    void operator()(X509_SIG* encrypted) const {
        X509_SIG_free(encrypted);
    }
    void operator()(PKCS8_PRIV_KEY_INFO* inner) const {
        PKCS8_PRIV_KEY_INFO_free(inner);
    }
};

template <class T>
using Owned = std::unique_ptr<T, Free>;

/// Reads from bytes that outlive it; empty without memory.
[[nodiscard]] inline Owned<BIO> reader(std::string_view bytes) {
    return Owned<BIO>(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

[[nodiscard]] inline const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// What OpenSSL said of its first fault, or empty; its queue of faults is empty afterwards.
[[nodiscard]] inline std::string take_reason() {
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return reason == nullptr ? std::string() : std::string(reason);
}

/// kInternal: the library refuses what never fails unless memory is short.
[[nodiscard]] inline tl::unexpected<Error> refused(std::string message) {
    std::string reason = take_reason();
    return fail(ErrorCode::kInternal,
                problem("cryptographic-library", std::move(message)),
                reason.empty() ? "the cryptographic library refuses it"
                               : "the cryptographic library says: " + reason,
                "call it again; memory may be short");
}

} // namespace cybele::images::openssl
