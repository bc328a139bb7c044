// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/chain.hpp"

#include "images/certificates/blocks.hpp"
#include "images/certificates/handles.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaximumCertificates = 64;
constexpr std::size_t kMaximumChainSize = std::size_t{1} << 20U;

bool has_issued(const CertificateHandle& issuer, const CertificateHandle& certificate) {
    return issuer != certificate && X509_cmp(issuer.get(), certificate.get()) != 0 &&
           X509_check_issued(issuer.get(), certificate.get()) == X509_V_OK;
}

/// Bundles in PKCS #7 have no order, and some tools write the root first.
void put_leaf_first(std::vector<CertificateHandle>& certificates) {
    const auto leaf = std::ranges::find_if(certificates, [&](const auto& candidate) {
        return std::ranges::none_of(
            certificates, [&](const auto& other) { return has_issued(candidate, other); });
    });
    if (leaf != certificates.end()) {
        std::rotate(certificates.begin(), leaf, leaf + 1);
    }
}

std::string shown_name(const X509_NAME* name) {
    constexpr unsigned long kFlags =
        XN_FLAG_SEP_CPLUS_SPC |
        (ASN1_STRFLGS_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB));
    const x509::Bio bio(BIO_new(BIO_s_mem()));
    if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, kFlags) < 0) {
        ERR_clear_error();
        return "(a name that cannot be shown)";
    }
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return size <= 0 ? "(no name)" : printable({data, static_cast<std::size_t>(size)});
}

} // namespace

Result<Chain> Chain::parse(std::string_view bytes, const fs::path& name) {
    CYBELE_TRY(CertificateBlocks blocks, parse_blocks(bytes, name, kMaximumCertificates));
    if (blocks.certificates.empty()) {
        return fail(ErrorCode::kInput,
                    problem("certificate-missing",
                            fmt::format("{} holds no certificate", printable(name.native()))),
                    blocks.has_key ? "it holds a key" : "no PEM block in it is a certificate",
                    blocks.has_key ? "a key is given by --key"
                                   : "give the file with the signer's certificate");
    }
    Chain chain;
    chain.path_ = name;
    chain.certificates_ = std::move(blocks.certificates);
    put_leaf_first(chain.certificates_);
    return chain;
}

Result<Chain> Chain::read(const fs::path& path) {
    CYBELE_TRY(
        const std::string bytes,
        read_file(path, kMaximumChainSize).map_error(during("reading the certificate chain")));
    return parse(bytes, path);
}

Result<PublicKey> Chain::leaf_key() const {
    KeyHandle key(X509_get_pubkey(leaf().get()), EVP_PKEY_free);
    ERR_clear_error(); // the reason is PublicKey's to tell
    return PublicKey::of(std::move(key), path_);
}

Result<std::string> Chain::pem() const {
    const x509::Bio bio(BIO_new(BIO_s_mem()));
    for (const CertificateHandle& certificate : certificates_) {
        if (bio == nullptr || PEM_write_bio_X509(bio.get(), certificate.get()) != 1) {
            return x509::refused("cannot write certificates as PEM");
        }
    }
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
}

std::string subject_of(const CertificateHandle& certificate) {
    return shown_name(X509_get_subject_name(certificate.get()));
}

std::string issuer_of(const CertificateHandle& certificate) {
    return shown_name(X509_get_issuer_name(certificate.get()));
}

std::string expired_on(const CertificateHandle& certificate, std::int64_t now) {
    const std::int64_t end = x509::unix_time(X509_get0_notAfter(certificate.get()));
    return end < now ? x509::shown_time(end) : std::string();
}

std::string identity_of(const CertificateHandle& certificate) {
    const auto key = x509::der_of(X509_get_X509_PUBKEY(certificate.get()), i2d_X509_PUBKEY);
    const auto subject = x509::der_of(X509_get_subject_name(certificate.get()), i2d_X509_NAME);
    return key && subject ? hex(sha256(*key + *subject)) : std::string();
}

std::string fingerprint_of(const CertificateHandle& certificate) {
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1) {
        ERR_clear_error();
        return {};
    }
    return hex({digest.data(), size});
}

} // namespace cybele::images
