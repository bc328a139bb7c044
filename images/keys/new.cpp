// SPDX-License-Identifier: Apache-2.0
#include "images/keys/new.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// What is advised for HMAC-SHA-256 (OWASP, 2023): a fifth of a second.
constexpr int kRounds = 600000;
constexpr unsigned kPrivateMode = 0600;
constexpr unsigned kPublicMode = 0644;

EVP_PKEY* make_ed25519(const char*, std::size_t) {
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
}
EVP_PKEY* make_ecdsa(const char* curve, std::size_t) {
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve);
}
EVP_PKEY* make_rsa(const char*, std::size_t bits) {
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits);
}

struct Maker {
    std::string_view algorithm;
    const char* curve;
    std::size_t bits;
    EVP_PKEY* (*make)(const char* curve, std::size_t bits);
};
constexpr Maker kMakers[] = {{"ed25519", nullptr, 0, make_ed25519},
                             {"ecdsa", "P-256", 0, make_ecdsa},
                             {"ecdsa-p384", "P-384", 0, make_ecdsa},
                             {"ecdsa-p521", "P-521", 0, make_ecdsa},
                             {"rsa", nullptr, 3072, make_rsa},
                             {"rsa-4096", nullptr, 4096, make_rsa}};

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Result<Key> make(const std::string& algorithm) {
    for (const Maker& maker : kMakers) {
        if (maker.algorithm == algorithm) {
            Key key(maker.make(maker.curve, maker.bits), EVP_PKEY_free);
            if (key == nullptr) {
                return fail(ErrorCode::kInternal,
                            problem("key-generation-failed", "cannot make a key"),
                            "the cryptographic library "
                            "refuses it");
            }
            return key;
        }
    }
    return fail(
        ErrorCode::kUsage,
        problem("key-kind-unknown", fmt::format("unknown kind of key: {}", printable(algorithm))),
        {},
        "choose ed25519, ecdsa, ecdsa-p384, ecdsa-p521, rsa or rsa-4096");
}

/// The PEM text that `write` puts into memory.
template <class Write>
std::string pem(const Write& write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_secmem()), BIO_free);
    if (bio == nullptr || write(bio.get()) != 1) {
        ERR_clear_error();
        return {};
    }
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

tl::unexpected<Error> taken(const fs::path& path) {
    return fail(
        ErrorCode::kInput,
        problem("key-file-exists", fmt::format("{} exists already", printable(path.native()))),
        "a key is never overwritten",
        "choose another name, or remove the file yourself");
}

bool is_there(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

/// Whole or not at all, and never over another file.
Result<void> write_new_file(const fs::path& path, std::string_view bytes, unsigned mode) {
    CYBELE_TRY(PendingFile file, PendingFile::create(path, mode));
    CYBELE_CHECK(write_all(file.fd(), bytes, path));
    CYBELE_TRY(const bool is_new, file.commit_new());
    if (!is_new) {
        return taken(path);
    }
    return {};
}

/// PKCS #8; OpenSSL wipes what lies between.
int write_private(BIO* bio, EVP_PKEY* key, const Secret& passphrase) {
    if (passphrase.empty()) {
        return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    }
    using Info = std::unique_ptr<PKCS8_PRIV_KEY_INFO, decltype(&PKCS8_PRIV_KEY_INFO_free)>;
    using Encrypted = std::unique_ptr<X509_SIG, decltype(&X509_SIG_free)>;
    const Info info(EVP_PKEY2PKCS8(key), PKCS8_PRIV_KEY_INFO_free);
    X509_ALGOR* algorithm =
        PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), kRounds, nullptr, 0, nullptr, NID_hmacWithSHA256);
    if (info == nullptr || algorithm == nullptr) {
        X509_ALGOR_free(algorithm);
        return 0;
    }
    const Encrypted encrypted(
        PKCS8_set0_pbe(
            passphrase.data(), static_cast<int>(passphrase.size()), info.get(), algorithm),
        X509_SIG_free);
    if (encrypted == nullptr) {
        X509_ALGOR_free(algorithm); // else it belongs to the result
        return 0;
    }
    return PEM_write_bio_PKCS8(bio, encrypted.get());
}

} // namespace

Result<fs::path> new_key(const NewPemKey& wanted) {
    const fs::path& private_file = wanted.file;
    fs::path public_file = private_file;
    public_file.replace_extension(".pub");
    if (public_file == private_file || !private_file.has_filename()) {
        return fail(ErrorCode::kUsage,
                    problem("private-key-name",
                            fmt::format("'{}' is not a valid name for a private key",
                                        printable(private_file.native()))),
                    "the public key gets the same name with .pub",
                    "write `" +
                        printable(private_file.has_filename()
                                      ? fs::path(private_file).replace_extension(".pem").native()
                                      : (private_file / "site.pem").native()) +
                        "`");
    }
    for (const fs::path& path : {private_file, public_file}) {
        if (is_there(path)) {
            return taken(path);
        }
    }
    CYBELE_TRY(const Key key, make(wanted.algorithm));
    const Secret secret(
        pem([&](BIO* bio) { return write_private(bio, key.get(), wanted.passphrase); }));
    const std::string open = pem([&](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key.get()); });
    if (secret.empty() || open.empty()) {
        return fail(ErrorCode::kInternal, problem("key-write-failed", "cannot write a key as PEM"));
    }
    CYBELE_CHECK(write_new_file(private_file, secret.view(), kPrivateMode));
    if (auto written = write_new_file(public_file, open, kPublicMode); !written) {
        ::unlink(private_file.c_str());
        return fail(std::move(written).error());
    }
    return public_file;
}

Result<fs::path> new_key(const fs::path& private_file, const std::string& algorithm) {
    NewPemKey wanted;
    wanted.file = private_file;
    wanted.algorithm = algorithm;
    return new_key(wanted);
}

} // namespace cybele::images
