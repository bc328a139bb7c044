// SPDX-License-Identifier: Apache-2.0
#include "images/key.hpp"

#include "images/key_pem.hpp"
#include "support/digest.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

struct Free {
    void operator()(BIO* bio) const {
        BIO_free(bio);
    }
    void operator()(BIGNUM* number) const {
        BN_free(number);
    }
    void operator()(EVP_MD_CTX* context) const {
        EVP_MD_CTX_free(context);
    }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

constexpr int kMinimumRsaBits = 1024;

/// A curve by OpenSSL's name, with its part of the SSH algorithm name (RFC 5656).
struct Curve {
    std::string_view name;
    std::string_view ssh;
    std::size_t bytes;
    bool is_known_to_ssh; ///< to the reference's SSH library
};
constexpr Curve kCurves[] = {
    {"secp224r1", "1.3.132.0.33", 28, false},
    {"prime256v1", "nistp256", 32, true},
    {"secp384r1", "nistp384", 48, true},
    {"secp521r1", "nistp521", 66, true},
};

/// Text of the SSH wire form: length (big-endian) and bytes.
void append_ssh(std::string& wire, std::string_view bytes) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        wire += static_cast<char>(bytes.size() >> shift & 0xffU);
    }
    wire += bytes;
}

/// A number of the key, big-endian without leading zeros; at least `size` bytes, then with them.
std::optional<std::string> number_of(EVP_PKEY* key, const char* parameter, std::size_t size = 0) {
    BIGNUM* raw = nullptr;
    if (EVP_PKEY_get_bn_param(key, parameter, &raw) != 1) {
        return std::nullopt;
    }
    const Owned<BIGNUM> number(raw);
    std::vector<unsigned char> bytes(std::max(static_cast<std::size_t>(BN_num_bytes(raw)), size));
    if (BN_bn2binpad(raw, bytes.data(), static_cast<int>(bytes.size())) < 0) {
        return std::nullopt;
    }
    return std::string(bytes.begin(), bytes.end());
}

void append_ssh_number(std::string& wire, const std::string& number) {
    const bool looks_negative = !number.empty() && (static_cast<unsigned char>(number[0]) & 0x80U);
    append_ssh(wire, looks_negative ? std::string(1, '\0') + number : number);
}

/// SSH wire form of a key that may be used; `help_for` says what the key must be otherwise.
struct Wire {
    std::string bytes;
    bool is_known_to_ssh = true;
};

std::optional<Wire> wire_of_rsa(EVP_PKEY* key) {
    const auto exponent = number_of(key, OSSL_PKEY_PARAM_RSA_E);
    const auto modulus = number_of(key, OSSL_PKEY_PARAM_RSA_N);
    if (!exponent || !modulus || EVP_PKEY_get_bits(key) < kMinimumRsaBits) {
        return std::nullopt;
    }
    Wire wire;
    append_ssh(wire.bytes, "ssh-rsa");
    append_ssh_number(wire.bytes, *exponent);
    append_ssh_number(wire.bytes, *modulus);
    return wire;
}

std::optional<Wire> wire_of_curve(EVP_PKEY* key) {
    std::array<char, 80> name{};
    std::size_t length = 0;
    if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) != 1) {
        return std::nullopt;
    }
    const auto* const curve =
        std::find_if(std::begin(kCurves), std::end(kCurves), [&](const Curve& known) {
            return known.name == std::string_view(name.data(), length);
        });
    if (curve == std::end(kCurves)) {
        return std::nullopt;
    }
    const auto x = number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, curve->bytes);
    const auto y = number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, curve->bytes);
    if (!x || !y) {
        return std::nullopt;
    }
    Wire wire;
    wire.is_known_to_ssh = curve->is_known_to_ssh;
    append_ssh(wire.bytes, fmt::format("ecdsa-sha2-{}", curve->ssh));
    append_ssh(wire.bytes, curve->ssh);
    append_ssh(wire.bytes, "\x04" + *x + *y);
    return wire;
}

std::optional<Wire> wire_of_ed25519(EVP_PKEY* key) {
    std::array<unsigned char, 32> raw{};
    std::size_t length = raw.size();
    if (EVP_PKEY_get_raw_public_key(key, raw.data(), &length) != 1) {
        return std::nullopt;
    }
    Wire wire;
    append_ssh(wire.bytes, "ssh-ed25519");
    append_ssh(wire.bytes, std::string(raw.begin(), raw.end()));
    return wire;
}

struct Algorithm {
    const char* name; ///< as OpenSSL calls it; RSA-PSS keys are of another
    std::optional<Wire> (*wire)(EVP_PKEY*);
};
constexpr Algorithm kAlgorithms[] = {
    {"ED25519", wire_of_ed25519}, {"EC", wire_of_curve}, {"RSA", wire_of_rsa}};

bool is_ed25519(EVP_PKEY* key) {
    return EVP_PKEY_is_a(key, "ED25519") == 1;
}

/// Ed25519 hashes by itself; all others take SHA-256, whatever their size.
const EVP_MD* hash_of(EVP_PKEY* key) {
    return is_ed25519(key) ? nullptr : EVP_sha256();
}

const unsigned char* data_of(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// Instead of asking at the terminal.
int no_passphrase(char*, int, int, void*) {
    return -1;
}

} // namespace

Result<PublicKey> PublicKey::from(KeyHandle key, const fs::path& path) {
    std::optional<Wire> wire;
    for (const Algorithm& algorithm : kAlgorithms) {
        if (key != nullptr && EVP_PKEY_is_a(key.get(), algorithm.name) == 1) {
            wire = algorithm.wire(key.get());
        }
    }
    ERR_clear_error();
    if (key == nullptr) {
        return fail(ErrorCode::kInput,
                    fmt::format("{} cannot be read as a key", printable(path.native())),
                    "the content of its PEM block is damaged or of an unknown kind",
                    "copy the file again, or make a key pair: cybelectl key new");
    }
    if (!wire) {
        return fail(ErrorCode::kInput,
                    fmt::format("the key in {} cannot be used", printable(path.native())),
                    "SIF signatures take Ed25519, ECDSA on the curves P-224, P-256, P-384 and "
                    "P-521, and RSA of 1024 bits or more (not RSA-PSS)",
                    "make a key pair: cybelectl key new");
    }
    const Digest digest = sha256(wire->bytes);
    std::string encoded = base64(std::string(digest.begin(), digest.end()));
    encoded.resize(encoded.find_last_not_of('=') + 1);
    PublicKey result;
    result.key_ = std::move(key);
    result.path_ = path;
    result.fingerprint_ = "SHA256:" + encoded;
    result.envelope_id_ = wire->is_known_to_ssh ? result.fingerprint_ : "";
    return result;
}

Result<PublicKey> PublicKey::read(const fs::path& path) {
    CYBELE_TRY(const PemBlock block, read_pem(path, KeyUse::kPublic));
    const Owned<BIO> bio(BIO_new_mem_buf(block.text.data(), static_cast<int>(block.text.size())));
    return from({PEM_read_bio_PUBKEY(bio.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free},
                path);
}

bool PublicKey::verifies(std::string_view bytes, std::string_view signature) const {
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    const bool holds =
        EVP_DigestVerifyInit(context.get(), nullptr, hash_of(key_.get()), nullptr, key_.get()) ==
            1 &&
        EVP_DigestVerify(
            context.get(), data_of(signature), signature.size(), data_of(bytes), bytes.size()) == 1;
    ERR_clear_error();
    return holds;
}

Result<PrivateKey> PrivateKey::read(const fs::path& path) {
    CYBELE_TRY(const PemBlock block, read_pem(path, KeyUse::kPrivate));
    const Owned<BIO> bio(BIO_new_mem_buf(block.text.data(), static_cast<int>(block.text.size())));
    KeyHandle key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr),
                  EVP_PKEY_free);
    CYBELE_TRY(PublicKey whole, PublicKey::from(std::move(key), path));
    return PrivateKey(std::move(whole));
}

Result<std::string> PrivateKey::sign(std::string_view bytes) const {
    EVP_PKEY* const key = public_.key_.get();
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    std::vector<unsigned char> signature(static_cast<std::size_t>(EVP_PKEY_get_size(key)));
    std::size_t length = signature.size();
    const bool is_done =
        EVP_DigestSignInit(context.get(), nullptr, hash_of(key), nullptr, key) == 1 &&
        EVP_DigestSign(context.get(), signature.data(), &length, data_of(bytes), bytes.size()) == 1;
    ERR_clear_error();
    if (!is_done) {
        return fail(ErrorCode::kInput,
                    fmt::format("cannot sign with {}", printable(public_.path_.native())),
                    "the private key is not usable",
                    "make a key pair: cybelectl key new");
    }
    return std::string(signature.begin(), signature.begin() + static_cast<std::ptrdiff_t>(length));
}

} // namespace cybele::images
