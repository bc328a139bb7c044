// SPDX-License-Identifier: Apache-2.0
#include "images/signature.hpp"
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
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kRsaBits = 3072;
constexpr unsigned kPrivateMode = 0600;
constexpr unsigned kPublicMode = 0644;

EVP_PKEY* make_ed25519() {
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
}
EVP_PKEY* make_ecdsa() {
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
}
EVP_PKEY* make_rsa() {
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kRsaBits);
}

struct Maker {
    std::string_view algorithm;
    EVP_PKEY* (*make)();
};
constexpr Maker kMakers[] = {{"ed25519", make_ed25519}, {"ecdsa", make_ecdsa}, {"rsa", make_rsa}};

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Result<Key> make(const std::string& algorithm) {
    for (const Maker& maker : kMakers) {
        if (maker.algorithm == algorithm) {
            Key key(maker.make(), EVP_PKEY_free);
            if (key == nullptr) {
                return fail(ErrorCode::kInternal,
                            "cannot make a key",
                            "the cryptographic library "
                            "refuses it");
            }
            return key;
        }
    }
    return fail(ErrorCode::kUsage,
                fmt::format("unknown kind of key: {}", printable(algorithm)),
                {},
                "choose ed25519, ecdsa (P-256) or rsa (3072 bits)");
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
    return fail(ErrorCode::kInput,
                fmt::format("{} exists already", printable(path.native())),
                "a key is never overwritten",
                "choose another name, or remove the file yourself");
}

bool is_there(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

/// Whole or not at all, and never over another file: a hard link is refused by the kernel where
/// the name is taken. File systems without links get a look and a rename.
Result<void> write_new_file(const fs::path& path, std::string_view bytes, unsigned mode) {
    CYBELE_TRY(PendingFile file, PendingFile::create(path, mode));
    CYBELE_CHECK(write_all(file.fd(), bytes, path));
    if (::fsync(file.fd()) != 0) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    if (::link(file.temporary().c_str(), path.c_str()) == 0) {
        return {};
    }
    if (errno == EEXIST || is_there(path)) {
        return taken(path);
    }
    return file.commit();
}

} // namespace

Result<fs::path> new_key(const fs::path& private_file, const std::string& algorithm) {
    fs::path public_file = private_file;
    public_file.replace_extension(".pub");
    if (public_file == private_file || !private_file.has_filename()) {
        return fail(
            ErrorCode::kUsage,
            fmt::format("{} is no name for a private key", printable(private_file.native())),
            "the public key gets the same name with .pub",
            "choose a name such as site.pem");
    }
    for (const fs::path& path : {private_file, public_file}) {
        if (is_there(path)) {
            return taken(path);
        }
    }
    CYBELE_TRY(const Key key, make(algorithm));
    const std::string secret = pem([&](BIO* bio) {
        return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    const std::string open = pem([&](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key.get()); });
    if (secret.empty() || open.empty()) {
        return fail(ErrorCode::kInternal, "cannot write a key as PEM");
    }
    CYBELE_CHECK(write_new_file(private_file, secret, kPrivateMode));
    if (auto written = write_new_file(public_file, open, kPublicMode); !written) {
        ::unlink(private_file.c_str());
        return fail(std::move(written).error());
    }
    return public_file;
}

} // namespace cybele::images
