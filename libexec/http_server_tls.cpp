// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_server_tls.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace cybele::http {
namespace {

constexpr long kDay = 86400;
constexpr long kLifeOfCertificate = 3650 * kDay; // replaced with each start of the server

struct FreeOpenssl {
    void operator()(BIO* bio) const {
        BIO_free(bio);
    }
    void operator()(X509* certificate) const {
        X509_free(certificate);
    }
    void operator()(EVP_PKEY* key) const {
        EVP_PKEY_free(key);
    }
    void operator()(X509_EXTENSION* extension) const {
        X509_EXTENSION_free(extension);
    }
};
template <typename T>
using Held = std::unique_ptr<T, FreeOpenssl>;

Held<BIO> text_bio(const std::string& text) {
    return Held<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string pem_of(X509* certificate) {
    const Held<BIO> bio(BIO_new(BIO_s_mem()));
    char* bytes = nullptr;
    if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) {
        return {};
    }
    const long size = BIO_get_mem_data(bio.get(), &bytes); // NOLINT: a macro of OpenSSL
    return {bytes, static_cast<std::size_t>(std::max(size, 0L))};
}

bool is_address(std::string_view name) {
    return name.find(':') != std::string_view::npos ||
           std::all_of(name.begin(), name.end(), [](char letter) {
               return std::isdigit(static_cast<unsigned char>(letter)) != 0 || letter == '.';
           });
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context); // NOLINT: a macro of OpenSSL
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    const Held<X509_EXTENSION> extension(
        X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Self-signed, so that who gets it by a safe way can prove the server with it.
Held<X509> make_certificate(EVP_PKEY* key, const std::vector<std::string>& names) {
    Held<X509> made(X509_new());
    unsigned char number[8];
    if (!made || RAND_bytes(number, sizeof number) != 1) {
        return nullptr;
    }
    std::uint64_t serial = 0;
    for (const unsigned char byte : number) {
        serial = serial << 8U | byte;
    }
    std::string alternatives;
    for (const std::string& name : names) {
        alternatives += (alternatives.empty() ? "" : ",") +
                        std::string(is_address(name) ? "IP:" : "DNS:") + name;
    }
    const std::string common = "cybelectl";
    X509_NAME* subject = X509_get_subject_name(made.get());
    const bool is_good =
        X509_set_version(made.get(), 2) == 1 &&
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1U) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay) != nullptr &&
        X509_gmtime_adj(X509_getm_notAfter(made.get()), kLifeOfCertificate) != nullptr &&
        X509_set_pubkey(made.get(), key) == 1 &&
        X509_NAME_add_entry_by_txt(subject,
                                   "CN",
                                   MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(common.data()),
                                   static_cast<int>(common.size()),
                                   -1,
                                   0) == 1 &&
        X509_set_issuer_name(made.get(), subject) == 1 &&
        add_extension(made.get(), NID_basic_constraints, "critical,CA:TRUE") &&
        (alternatives.empty() || add_extension(made.get(), NID_subject_alt_name, alternatives)) &&
        X509_sign(made.get(), key, EVP_sha256()) > 0;
    return is_good ? std::move(made) : nullptr;
}

bool use_own(SSL_CTX* context, const TlsSettings& settings, std::string& certificate) {
    const Held<EVP_PKEY> key(EVP_EC_gen("P-256"));
    if (!key) {
        return false;
    }
    const Held<X509> made = make_certificate(key.get(), settings.names);
    if (!made || SSL_CTX_use_certificate(context, made.get()) != 1 ||
        SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
        return false;
    }
    certificate = pem_of(made.get());
    return !certificate.empty();
}

bool use_given(SSL_CTX* context, const TlsSettings& settings) {
    const Held<BIO> chain = text_bio(settings.certificate);
    const Held<BIO> key_text = text_bio(settings.key);
    const Held<X509> first(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
    const Held<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
    if (!first || !key || SSL_CTX_use_certificate(context, first.get()) != 1 ||
        SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
        return false;
    }
    while (X509* next = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
        if (SSL_CTX_add0_chain_cert(context, next) != 1) { // NOLINT: a macro of OpenSSL
            X509_free(next);
            return false;
        }
    }
    return SSL_CTX_check_private_key(context) == 1;
}

bool trust_clients(SSL_CTX* context, const std::string& text) {
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    const Held<BIO> bio = text_bio(text);
    bool has_one = false;
    while (true) {
        const Held<X509> authority(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
        if (!authority) {
            return has_one;
        }
        has_one = X509_STORE_add_cert(store, authority.get()) == 1 || has_one;
    }
}

std::vector<std::string> texts_of(X509_NAME* name, int kind) {
    std::vector<std::string> texts;
    for (int at = X509_NAME_get_index_by_NID(name, kind, -1); at >= 0;
         at = X509_NAME_get_index_by_NID(name, kind, at)) {
        unsigned char* text = nullptr;
        const int size =
            ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
        if (size >= 0) {
            texts.emplace_back(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
            OPENSSL_free(text); // NOLINT: a macro of OpenSSL
        }
    }
    return texts;
}

} // namespace

TlsContext make_tls(const TlsSettings& settings, std::string& certificate) {
    TlsContext context(SSL_CTX_new(TLS_server_method()));
    if (!context) {
        return nullptr;
    }
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION); // NOLINT: a macro of OpenSSL
    certificate = settings.certificate;
    const bool is_good = settings.certificate.empty()
                             ? use_own(context.get(), settings, certificate)
                             : use_given(context.get(), settings);
    if (!is_good ||
        (!settings.clients.empty() && !trust_clients(context.get(), settings.clients))) {
        return nullptr;
    }
    // Each connection shows its certificate. With a ticket, OpenSSL would refuse the connection of
    // a client that resumes its session.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF); // NOLINT: a macro
    (void)SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_num_tickets(context.get(), 0);
    // A wrong certificate is answered with 401, which a broken handshake could not say.
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    return context;
}

TlsPeer peer_of(const SSL& stream) {
    TlsPeer peer;
    const Held<X509> shown(SSL_get1_peer_certificate(&stream));
    if (!shown) {
        return peer;
    }
    const bool is_good = SSL_get_verify_result(&stream) == X509_V_OK;
    peer.certificate = is_good ? "good" : "bad";
    if (is_good) {
        X509_NAME* subject = X509_get_subject_name(shown.get());
        const std::vector<std::string> names = texts_of(subject, NID_commonName);
        peer.user = names.empty() ? "" : names.front();
        peer.groups = texts_of(subject, NID_organizationName);
    }
    return peer;
}

} // namespace cybele::http
