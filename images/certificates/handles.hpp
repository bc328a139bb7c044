// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/chain.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>

/// Owners of OpenSSL's objects for X.509, and its times.
namespace cybele::images::x509 {

template <auto Function>
struct FreeBy {
    template <class T>
    void operator()(T* object) const {
        Function(object);
    }
};
template <class T, auto Function>
using Owner = std::unique_ptr<T, FreeBy<Function>>;

using Bio = Owner<BIO, BIO_free_all>;
using Store = Owner<X509_STORE, X509_STORE_free>;
using Context = Owner<X509_STORE_CTX, X509_STORE_CTX_free>;

/// A stack that does not own what is in it.
struct FreeStack {
    void operator()(STACK_OF(X509) * stack) const {
        sk_X509_free(stack);
    }
};
using Stack = std::unique_ptr<STACK_OF(X509), FreeStack>;

[[nodiscard]] inline Bio reader(std::string_view bytes) {
    return Bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}
[[nodiscard]] inline const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// Shares a certificate that somebody else owns.
[[nodiscard]] CertificateHandle share(X509* certificate);

/// A stack of the certificates, for as long as they live. kInternal: memory is short.
[[nodiscard]] Result<Stack> stack_of(const std::vector<CertificateHandle>& certificates);

/// A store with these anchors that judges at a time. Any of them ends a path, an intermediate too.
[[nodiscard]] Result<Store> store_of(const std::vector<CertificateHandle>& anchors,
                                     std::int64_t at);

/// The DER form by one of OpenSSL's i2d functions; kInternal: it refuses.
template <class T, class Encode>
[[nodiscard]] Result<std::string> der_of(T* object, const Encode& encode);

/// What OpenSSL said last, with its details; its queue of faults is empty afterwards.
[[nodiscard]] std::string take_reason();
/// kInternal with that reason.
[[nodiscard]] tl::unexpected<Error> refused(const std::string& what);

/// Unix seconds; 0 for a time that cannot be read.
[[nodiscard]] std::int64_t unix_time(const ASN1_TIME* time);
/// "2026-11-21 15:04:05 UTC".
[[nodiscard]] std::string shown_time(std::int64_t unix_seconds);

template <class T, class Encode>
Result<std::string> der_of(T* object, const Encode& encode) {
    unsigned char* bytes = nullptr;
    const int size = encode(object, &bytes);
    if (size <= 0) {
        return refused("cannot encode");
    }
    std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    return text;
}

} // namespace cybele::images::x509
