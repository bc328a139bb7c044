// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/generate.hpp"

#include "images/openpgp/algorithms.hpp"
#include "images/openpgp/locked.hpp"
#include "images/openpgp/numbers.hpp"
#include "images/openpgp/packet.hpp"
#include "images/openpgp/signature.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/err.h>

namespace cybele::images::openpgp {

namespace {

/// Numbers of a new key as its packet has them.
struct Made {
    std::string open;
    Secret secret;
    bool is_whole = false;
};

/// A number of the key; empty: OpenSSL has none.
Secret parameter(EVP_PKEY* key, const char* name) {
    BIGNUM* raw = nullptr;
    if (EVP_PKEY_get_bn_param(key, name, &raw) != 1) {
        return {};
    }
    const Owned<BIGNUM> number(raw);
    Secret bytes;
    bytes.resize(static_cast<std::size_t>(BN_num_bytes(raw)));
    BN_bn2bin(raw, bytes.bytes());
    return bytes;
}

void append_secret_mpi(Secret& out, std::string_view number) {
    std::string mpi;
    append_mpi(mpi, number);
    out.append(mpi);
    wipe(mpi);
}

Made generate_ed25519(const Curve& curve, std::size_t) {
    Made made;
    const KeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
    std::string point(33, '\x40');
    Secret seed;
    seed.resize(32);
    std::size_t open_size = 32;
    std::size_t secret_size = seed.size();
    made.is_whole = key != nullptr &&
                    EVP_PKEY_get_raw_public_key(key.get(), data_of(point) + 1, &open_size) == 1 &&
                    EVP_PKEY_get_raw_private_key(key.get(), seed.bytes(), &secret_size) == 1;
    made.open += static_cast<char>(curve.oid.size());
    made.open += curve.oid;
    append_mpi(made.open, point);
    append_secret_mpi(made.secret, seed.view());
    return made;
}

Made generate_ecdsa(const Curve& curve, std::size_t) {
    Made made;
    const KeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve.openssl), EVP_PKEY_free);
    std::string point(1 + 2 * ((curve.bits + 7) / 8), '\0');
    std::size_t size = 0;
    const Secret number = parameter(key.get(), OSSL_PKEY_PARAM_PRIV_KEY);
    made.is_whole =
        key != nullptr && !number.empty() &&
        EVP_PKEY_get_octet_string_param(
            key.get(), OSSL_PKEY_PARAM_PUB_KEY, data_of(point), point.size(), &size) == 1 &&
        size == point.size();
    made.open += static_cast<char>(curve.oid.size());
    made.open += curve.oid;
    append_mpi(made.open, point);
    append_secret_mpi(made.secret, number.view());
    return made;
}

Made generate_rsa(const Curve&, std::size_t bits) {
    Made made;
    const KeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits), EVP_PKEY_free);
    made.is_whole = key != nullptr;
    for (const char* const name : {OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E}) {
        append_mpi(made.open, parameter(key.get(), name).view());
    }
    // OpenSSL's second factor is OpenPGP's p: its inverse modulo the first one is stored.
    for (const char* const name : {OSSL_PKEY_PARAM_RSA_D,
                                   OSSL_PKEY_PARAM_RSA_FACTOR2,
                                   OSSL_PKEY_PARAM_RSA_FACTOR1,
                                   OSSL_PKEY_PARAM_RSA_COEFFICIENT1}) {
        const Secret number = parameter(key.get(), name);
        made.is_whole = made.is_whole && !number.empty();
        append_secret_mpi(made.secret, number.view());
    }
    return made;
}

struct Maker {
    std::string_view name;
    std::uint8_t algorithm;
    std::string_view oid; ///< of a curve
    std::size_t bits;     ///< of RSA
    Made (*make)(const Curve&, std::size_t);
};
constexpr Maker kMakers[] = {
    {"ed25519", kEddsaLegacy, kOidEd25519, 0, generate_ed25519},
    {"ecdsa", kEcdsa, kOidP256, 0, generate_ecdsa},
    {"ecdsa-p384", kEcdsa, kOidP384, 0, generate_ecdsa},
    {"ecdsa-p521", kEcdsa, kOidP521, 0, generate_ecdsa},
    {"rsa", kRsa, kOidP256, 3072, generate_rsa},
    {"rsa-4096", kRsa, kOidP256, 4096, generate_rsa},
};

Result<std::string> user_id_of(const NewKey& wanted) {
    const std::string all = wanted.name + wanted.comment + wanted.email;
    const bool is_plain = is_utf8(all) && all.find_first_of("<>()") == std::string::npos &&
                          std::ranges::none_of(all, [](char c) {
                              return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                          });
    const bool lacks_name = wanted.name.empty() && !wanted.allows_no_name;
    if (lacks_name || !is_plain || wanted.email.find(' ') != std::string::npos) {
        return fail(
            ErrorCode::kUsage,
            problem("openpgp-user-id", "no user id can be made of the name, comment and address"),
            lacks_name ? "the name is empty"
                       : "they may not hold < > ( ) or control characters, and "
                         "the address no blank",
            "give --name 'A Site' and --email keys@site.example");
    }
    std::string id = wanted.name;
    id += wanted.comment.empty() ? "" : fmt::format(" ({})", wanted.comment);
    id += wanted.email.empty() ? "" : fmt::format(" <{}>", wanted.email);
    return id.substr(std::min(id.find_first_not_of(' '), id.size()));
}

/// The self-signature, with the preferences that Apptainer and GnuPG can follow.
Result<std::string> certify(const NewKey& wanted,
                            const PublicMaterial& material,
                            const KeyHandle& key,
                            const std::string& open,
                            const std::string& user_id) {
    const HashAlgorithm hash = material.hash_bits > 384   ? HashAlgorithm::kSha512
                               : material.hash_bits > 256 ? HashAlgorithm::kSha384
                                                          : HashAlgorithm::kSha256;
    const std::string fingerprint = fingerprint_of(open);
    SignatureBuilder builder(SignatureType::kPositiveCertification, material.algorithm, hash);
    std::string seconds;
    append_u32(seconds, static_cast<std::size_t>(wanted.time));
    builder.critical(2, seconds);
    if (wanted.expires_after) {
        std::string after;
        append_u32(after, *wanted.expires_after);
        builder.critical(9, after);
    }
    builder.add(11, "\x09\x08\x07"); // AES-256, 192, 128
    builder.add_issuer(fingerprint);
    builder.add_salt(wanted.random);
    builder.add(21, "\x0a\x09\x08"); // SHA-512, 384, 256
    builder.add(25, "\x01");         // the primary user id
    builder.critical(27, "\x03");    // certify and sign
    builder.add(30, "\x01");         // modification detection
    builder.add_issuer_fingerprint(fingerprint);
    const std::string digest = builder.digest(hashed_key(open) + hashed_user_id(user_id));
    CYBELE_TRY(const std::string numbers, sign_digest(material, key, hash, digest));
    return builder.body(digest, numbers);
}

} // namespace

Result<Certificate> generate(const NewKey& wanted) {
    CYBELE_TRY(const std::string user_id, user_id_of(wanted));
    const auto* const maker = std::ranges::find(kMakers, wanted.algorithm, &Maker::name);
    if (maker == std::end(kMakers)) {
        return fail(ErrorCode::kUsage,
                    problem("key-kind-unknown",
                            fmt::format("unknown kind of key: {}", printable(wanted.algorithm))),
                    {},
                    "choose ed25519, ecdsa, ecdsa-p384, ecdsa-p521, rsa or rsa-4096");
    }
    const Made made = maker->make(*find_curve(maker->oid), maker->bits);
    ERR_clear_error();
    if (!made.is_whole) {
        return fail(ErrorCode::kInternal,
                    problem("key-generation-failed", "cannot make a key"),
                    "OpenSSL refuses it");
    }
    std::string open = "\x04";
    append_u32(open, static_cast<std::size_t>(wanted.time));
    open += static_cast<char>(maker->algorithm);
    open += made.open;
    CYBELE_TRY(const PublicMaterial material, read_public(open));
    CYBELE_TRY(const KeyHandle key, read_private(material, open, made.secret.view()));
    CYBELE_TRY(std::string signature, certify(wanted, material, key, open, user_id));
    std::vector<Component> components;
    components.push_back({Tag::kSecretKey, open + clear_numbers(made.secret), {}});
    components.push_back({Tag::kUserId, user_id, {std::move(signature)}});
    return Certificate(std::move(components));
}

} // namespace cybele::images::openpgp
