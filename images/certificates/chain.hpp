// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/keys/key.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct x509_st; // OpenSSL's X509

namespace cybele::images {

using CertificateHandle = std::shared_ptr<x509_st>;

/// Certificates of one file: a signer's, with those that lead to its root.
class Chain {
public:
    /// PEM with any number of CERTIFICATE (or TRUSTED CERTIFICATE, PKCS7) blocks among other text,
    /// one certificate in DER, or a PKCS #7 bundle in DER: all of it is read. The leaf, the one
    /// that issued none of the others, is put first; the others keep their order. kInput: none in
    /// it, a damaged one, more than 64, or a key where a certificate belongs.
    [[nodiscard]] static Result<Chain> read(const std::filesystem::path& path);
    /// The same of bytes; `name` is what messages call them.
    [[nodiscard]] static Result<Chain> parse(std::string_view bytes,
                                             const std::filesystem::path& name);

    [[nodiscard]] const std::vector<CertificateHandle>& certificates() const {
        return certificates_;
    }
    [[nodiscard]] const CertificateHandle& leaf() const {
        return certificates_.front();
    }
    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }

    /// The leaf's public key, whose signatures can be verified. kInput: of a kind that SIF
    /// signatures do not take.
    [[nodiscard]] Result<PublicKey> leaf_key() const;
    /// All certificates as PEM, the leaf first, without text between: EnvelopeSignature::chain.
    [[nodiscard]] Result<std::string> pem() const;

private:
    Chain() = default;
    std::vector<CertificateHandle> certificates_; ///< at least one
    std::filesystem::path path_;
};

/// "CN=Alice, O=Lab" as RFC 2253 writes it, but in the certificate's order and with control
/// characters escaped.
[[nodiscard]] std::string subject_of(const CertificateHandle& certificate);
[[nodiscard]] std::string issuer_of(const CertificateHandle& certificate);
/// SHA-256 over public key and subject, lower-case hexadecimal: equal for all certificates of one
/// authority, of however many issuers and years.
[[nodiscard]] std::string identity_of(const CertificateHandle& certificate);
/// Its end, as people read it, where it is before `now` (Unix seconds); else empty.
[[nodiscard]] std::string expired_on(const CertificateHandle& certificate, std::int64_t now);
/// SHA-256 over the DER form, lower-case hexadecimal.
[[nodiscard]] std::string fingerprint_of(const CertificateHandle& certificate);

} // namespace cybele::images
