// SPDX-License-Identifier: Apache-2.0
#include "images/keys/key.hpp"

#include "images/keys/cosign.hpp"
#include "images/keys/openssl.hpp"
#include "images/keys/pem.hpp"
#include "images/keys/wire.hpp"
#include "support/quote.hpp"

#include <optional>

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <sys/stat.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

using openssl::bytes_of;
using openssl::Owned;

/// Ed25519 hashes by itself; all others take SHA-256, whatever their size.
const EVP_MD* key_hash(EVP_PKEY* key) {
    return EVP_PKEY_is_a(key, "ED25519") == 1 ? nullptr : EVP_sha256();
}

tl::unexpected<Error> damaged_key(const fs::path& path) {
    return fail(ErrorCode::kInput,
                problem("key-unreadable",
                        fmt::format("{} cannot be read as a key", printable(path.native()))),
                "the content of its PEM block is damaged or of an unknown kind",
                "copy the file again, or make a key pair: cybelectl key new");
}

/// OpenSSL's reasons for an encryption that it cannot undo, whatever the passphrase.
bool is_unknown_encryption(const std::string& reason) {
    for (const std::string_view word : {"unsupported", "unknown", "unable to find"}) {
        if (reason.find(word) != std::string::npos) {
            return true;
        }
    }
    return false;
}

tl::unexpected<Error> not_decrypted(const fs::path& path) {
    const std::string reason = openssl::take_reason();
    if (is_unknown_encryption(reason)) {
        return fail(ErrorCode::kInput,
                    problem("key-encryption-unknown",
                            fmt::format("cannot decrypt {}", printable(path.native()))),
                    fmt::format("its kind of encryption is not known ({})", reason),
                    "encrypt it again: openssl pkey -in FILE -aes256 -out NEW.pem");
    }
    return wrong_passphrase(path);
}

/// Gives OpenSSL the secret behind `user`; without one, OpenSSL shall not ask by itself.
int give_passphrase(char* buffer, int size, int /*is_for_writing*/, void* user) {
    const auto* const secret = static_cast<const Secret*>(user);
    if (secret == nullptr || secret->size() > static_cast<std::size_t>(size)) {
        return -1;
    }
    const std::string_view text = secret->view();
    std::copy(text.begin(), text.end(), buffer);
    return static_cast<int>(text.size());
}

Result<KeyHandle> read_plain(const PemBlock& block, const fs::path& path) {
    const Owned<BIO> bio = openssl::reader(block.text.view());
    KeyHandle key(bio == nullptr
                      ? nullptr
                      : PEM_read_bio_PrivateKey(bio.get(), nullptr, give_passphrase, nullptr),
                  EVP_PKEY_free);
    ERR_clear_error();
    if (key == nullptr) {
        return damaged_key(path);
    }
    return key;
}

Result<KeyHandle>
read_pkcs8(const PemBlock& block, const Secret& passphrase, const fs::path& path) {
    const Owned<BIO> bio = openssl::reader(block.text.view());
    const Owned<X509_SIG> encrypted(
        bio == nullptr ? nullptr
                       : PEM_read_bio_PKCS8(bio.get(), nullptr, give_passphrase, nullptr));
    if (encrypted == nullptr) {
        ERR_clear_error();
        return damaged_key(path);
    }
    const Owned<PKCS8_PRIV_KEY_INFO> inner(
        PKCS8_decrypt(encrypted.get(),
                      passphrase.empty() ? "" : passphrase.data(),
                      static_cast<int>(passphrase.size())));
    if (inner == nullptr) {
        return not_decrypted(path);
    }
    KeyHandle key(EVP_PKCS82PKEY(inner.get()), EVP_PKEY_free);
    ERR_clear_error();
    if (key == nullptr) {
        return damaged_key(path);
    }
    return key;
}

/// What PEM_read_bio hands out of a traditional block; its bytes are a key once decrypted.
struct Traditional {
    char* label = nullptr;
    char* header = nullptr;
    unsigned char* bytes = nullptr;
    long size = 0;

    Traditional() = default;
    Traditional(const Traditional&) = delete;
    Traditional& operator=(const Traditional&) = delete;
    ~Traditional() {
        OPENSSL_free(label);
        OPENSSL_free(header);
        OPENSSL_clear_free(bytes, static_cast<std::size_t>(size));
    }
};

/// Decrypts before it decodes: a wrong passphrase that leaves right padding by chance (one in 256)
/// leaves noise, and noise is no word on the kind of encryption.
Result<KeyHandle> read_proc_type(const PemBlock& block, Secret& passphrase, const fs::path& path) {
    const Owned<BIO> bio = openssl::reader(block.text.view());
    Traditional inner;
    EVP_CIPHER_INFO cipher{};
    if (bio == nullptr ||
        PEM_read_bio(bio.get(), &inner.label, &inner.header, &inner.bytes, &inner.size) != 1) {
        ERR_clear_error();
        return damaged_key(path);
    }
    if (PEM_get_EVP_CIPHER_INFO(inner.header, &cipher) != 1) {
        return not_decrypted(path);
    }
    long size = inner.size; // decryption shortens it; what is cleansed stays whole
    const int opened = PEM_do_header(&cipher, inner.bytes, &size, give_passphrase, &passphrase);
    const unsigned char* at = inner.bytes;
    KeyHandle key(opened == 1 ? d2i_AutoPrivateKey(nullptr, &at, size) : nullptr, EVP_PKEY_free);
    ERR_clear_error();
    if (key == nullptr) {
        return wrong_passphrase(path);
    }
    return key;
}

Result<KeyHandle>
read_cosign(const PemBlock& block, const Secret& passphrase, const fs::path& path) {
    CYBELE_TRY(const Secret plain, decrypt_cosign(block, passphrase, path));
    const unsigned char* bytes = plain.bytes();
    KeyHandle key(d2i_AutoPrivateKey(nullptr, &bytes, static_cast<long>(plain.size())),
                  EVP_PKEY_free);
    ERR_clear_error();
    if (key == nullptr) {
        return damaged_key(path);
    }
    return key;
}

Result<KeyHandle>
read_encrypted(const PemBlock& block, const PassphraseSource& source, const fs::path& path) {
    CYBELE_TRY(
        Secret passphrase,
        read_passphrase(source, fmt::format("the key {}", path.native()), PassphraseUse::kOpen));
    switch (block.form) {
    case KeyForm::kCosign:
        return read_cosign(block, passphrase, path);
    case KeyForm::kProcType:
        return read_proc_type(block, passphrase, path);
    default:
        return read_pkcs8(block, passphrase, path);
    }
}

} // namespace

Result<PublicKey> PublicKey::of(KeyHandle key, const fs::path& path) {
    if (key == nullptr) {
        return damaged_key(path);
    }
    std::optional<KeyWire> wire = wire_of(key.get());
    if (!wire) {
        return fail(ErrorCode::kInput,
                    problem("key-kind-unusable",
                            fmt::format("the key in {} cannot be used", printable(path.native()))),
                    "SIF signatures use Ed25519, ECDSA on the curves P-224, P-256, P-384 and "
                    "P-521, and RSA of 1024 bits or more (not RSA-PSS)",
                    "make a key pair: cybelectl key new");
    }
    PublicKey result;
    result.key_ = std::move(key);
    result.path_ = path;
    result.fingerprint_ = fingerprint_of(*wire);
    result.envelope_id_ = wire->is_known_to_ssh ? result.fingerprint_ : "";
    result.algorithm_ = std::move(wire->algorithm);
    return result;
}

namespace {

Result<PublicKey> public_key_of(const PemBlock& block, const fs::path& path) {
    const Owned<BIO> bio = openssl::reader(block.text.view());
    KeyHandle key(bio == nullptr
                      ? nullptr
                      : PEM_read_bio_PUBKEY(bio.get(), nullptr, give_passphrase, nullptr),
                  EVP_PKEY_free);
    ERR_clear_error();
    return PublicKey::of(std::move(key), path);
}

} // namespace

Result<PublicKey> PublicKey::read(const fs::path& path) {
    CYBELE_TRY(const PemBlock block, read_pem(path, KeyUse::kPublic));
    return public_key_of(block, path);
}

Result<PublicKey> PublicKey::parse(std::string_view text, const fs::path& path) {
    CYBELE_TRY(const PemBlock block, find_pem(text, path, KeyUse::kPublic));
    return public_key_of(block, path);
}

bool PublicKey::verifies(std::string_view bytes, std::string_view signature) const {
    EVP_PKEY* const key = key_.get();
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    const bool holds =
        context != nullptr &&
        EVP_DigestVerifyInit(context.get(), nullptr, key_hash(key), nullptr, key) == 1 &&
        EVP_DigestVerify(
            context.get(), bytes_of(signature), signature.size(), bytes_of(bytes), bytes.size()) ==
            1;
    ERR_clear_error();
    return holds;
}

namespace {

/// A key without a passphrase in a file that other users may read.
void warn_of_readers(const fs::path& path, const PassphraseSource& source) {
    struct stat status {};
    if (!source.on_warning || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_mode & (S_IRGRP | S_IROTH)) == 0) {
        return;
    }
    const std::string name = printable(path.native());
    source.on_warning(warning(
        ErrorCode::kInput,
        problem("private-key-not-secret", fmt::format("the private key in {} is not secret", name)),
        "other users may read the file",
        fmt::format("close it: chmod 600 {}", shell_quote(path.native()))));
}

} // namespace

Result<PrivateKey> PrivateKey::read(const fs::path& path, const PassphraseSource& passphrase) {
    CYBELE_TRY(const PemBlock block, read_pem(path, KeyUse::kPrivate));
    if (block.form == KeyForm::kPlain) {
        warn_of_readers(path, passphrase);
    }
    CYBELE_TRY(KeyHandle handle,
               block.form == KeyForm::kPlain ? read_plain(block, path)
                                             : read_encrypted(block, passphrase, path));
    CYBELE_TRY(PublicKey whole, PublicKey::of(std::move(handle), path));
    PrivateKey key(std::move(whole));
    CYBELE_TRY(const std::string signature, key.sign("trial"));
    if (!key.public_.verifies("trial", signature)) {
        return fail(ErrorCode::kInput,
                    problem("key-parts-differ",
                            fmt::format("cannot sign with {}", printable(path.native()))),
                    "its private and public keys do not match",
                    "make a key pair: cybelectl key new");
    }
    return key;
}

Result<std::string> PrivateKey::sign(std::string_view bytes) const {
    EVP_PKEY* const key = public_.handle().get();
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key)), '\0');
    std::size_t length = signature.size();
    const bool is_done =
        context != nullptr &&
        EVP_DigestSignInit(context.get(), nullptr, key_hash(key), nullptr, key) == 1 &&
        EVP_DigestSign(context.get(),
                       reinterpret_cast<unsigned char*>(signature.data()),
                       &length,
                       bytes_of(bytes),
                       bytes.size()) == 1;
    ERR_clear_error();
    if (!is_done) {
        return fail(ErrorCode::kInput,
                    problem("private-key-unusable",
                            fmt::format("cannot sign with {}", printable(public_.path().native()))),
                    "the private key is not usable",
                    "make a key pair: cybelectl key new");
    }
    signature.resize(length);
    return signature;
}

} // namespace cybele::images
