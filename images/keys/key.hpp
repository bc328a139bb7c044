// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/passphrase.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st; // OpenSSL's EVP_PKEY

/// Keys in PEM files, and raw signatures by them: Ed25519, ECDSA (P-224, P-256, P-384, P-521, over
/// SHA-256, ASN.1) and RSA (PKCS #1 v1.5 with SHA-256), as apptainer/sif takes them.
namespace cybele::images {

/// Freed, and a private part wiped, by OpenSSL when the last owner goes.
using KeyHandle = std::shared_ptr<evp_pkey_st>;

class PublicKey {
public:
    /// A file with PUBLIC KEY (SubjectPublicKeyInfo) or RSA PUBLIC KEY (PKCS #1); of several PEM
    /// blocks the first. kInput says what else the file is.
    [[nodiscard]] static Result<PublicKey> read(const std::filesystem::path& path);

    /// The same of a text that was read already; `path` names where.
    [[nodiscard]] static Result<PublicKey> parse(std::string_view text,
                                                 const std::filesystem::path& path);

    /// A key that was read in another way, such as from a certificate; `path` names where. kInput
    /// for a key that SIF signatures do not take, or none.
    [[nodiscard]] static Result<PublicKey> of(KeyHandle key, const std::filesystem::path& path);

    /// SHA256:… over the key's SSH wire form, as `ssh-keygen -l` prints it.
    [[nodiscard]] const std::string& fingerprint() const {
        return fingerprint_;
    }
    /// The fingerprint, or empty for P-224, for which Apptainer has no SSH form either.
    [[nodiscard]] const std::string& envelope_id() const {
        return envelope_id_;
    }
    /// For people: "Ed25519", "ECDSA P-256", "RSA 3072".
    [[nodiscard]] const std::string& algorithm() const {
        return algorithm_;
    }
    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }
    [[nodiscard]] const KeyHandle& handle() const {
        return key_;
    }
    [[nodiscard]] bool verifies(std::string_view bytes, std::string_view signature) const;

private:
    PublicKey() = default;

    KeyHandle key_;
    std::filesystem::path path_;
    std::string fingerprint_;
    std::string envelope_id_;
    std::string algorithm_;
};

class PrivateKey {
public:
    /// A file with PRIVATE KEY (PKCS #8), RSA PRIVATE KEY (PKCS #1), EC PRIVATE KEY (SEC 1), their
    /// encrypted forms (PKCS #8, or OpenSSL's own with Proc-Type), or an ENCRYPTED COSIGN or
    /// SIGSTORE PRIVATE KEY. The source is asked only for an encrypted one. kInput: another file, a
    /// wrong passphrase, halves that do not belong together; kUsage: no passphrase.
    [[nodiscard]] static Result<PrivateKey> read(const std::filesystem::path& path,
                                                 const PassphraseSource& passphrase = {});

    [[nodiscard]] const PublicKey& public_key() const {
        return public_;
    }
    [[nodiscard]] Result<std::string> sign(std::string_view bytes) const;

private:
    explicit PrivateKey(PublicKey key) : public_(std::move(key)) {}
    PublicKey public_; ///< its handle holds the private part as well
};

} // namespace cybele::images
