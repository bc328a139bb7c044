// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/algorithms.hpp"

#include "images/openpgp/numbers.hpp"
#include "images/openpgp/packet.hpp"
#include "support/find.hpp"

#include <openssl/core_names.h>
#include <openssl/err.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::size_t kEd25519Size = 32;

constexpr Curve kCurves[] = {
    {kOidP256, "NIST P-256", "prime256v1", 256},
    {kOidP384, "NIST P-384", "secp384r1", 384},
    {kOidP521, "NIST P-521", "secp521r1", 521},
    {kOidEd25519, "Ed25519", "ED25519", 256},
    {"\x2b\x06\x01\x04\x01\x97\x55\x01\x05\x01", "Curve25519", nullptr, 256},
    {"\x2b\x24\x03\x03\x02\x08\x01\x01\x07", "brainpoolP256r1", nullptr, 256},
    {"\x2b\x24\x03\x03\x02\x08\x01\x01\x0b", "brainpoolP384r1", nullptr, 384},
    {"\x2b\x24\x03\x03\x02\x08\x01\x01\x0d", "brainpoolP512r1", nullptr, 512},
    {{"\x2b\x81\x04\x00\x0a", 5}, "secp256k1", nullptr, 256},
};

int selection_of(const Fields& secret) {
    return secret.empty() ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR;
}

/// x mod (y - 1).
Owned<BIGNUM> reduced(const BIGNUM* x, const BIGNUM* y) {
    const Owned<BN_CTX> context(BN_CTX_secure_new());
    Owned<BIGNUM> less(BN_dup(y));
    Owned<BIGNUM> rest(BN_secure_new());
    if (context == nullptr || less == nullptr || rest == nullptr ||
        BN_sub_word(less.get(), 1) != 1 || BN_mod(rest.get(), x, less.get(), context.get()) != 1) {
        return nullptr;
    }
    return rest;
}

/// Whether n = p q: a foreign n would make signatures that tell about p.
bool is_product(const BIGNUM* n, const BIGNUM* p, const BIGNUM* q) {
    const Owned<BN_CTX> context(BN_CTX_secure_new());
    const Owned<BIGNUM> product(BN_secure_new());
    return context != nullptr && product != nullptr &&
           BN_mul(product.get(), p, q, context.get()) == 1 && BN_cmp(product.get(), n) == 0;
}

KeyHandle rsa_key(const Fields& open, const Fields& secret) {
    KeyParameters parameters;
    parameters.number(OSSL_PKEY_PARAM_RSA_N, open[0]);
    parameters.number(OSSL_PKEY_PARAM_RSA_E, open[1]);
    if (!secret.empty()) {
        // OpenPGP has p < q and 1/p mod q; OpenSSL 1/factor2 mod factor1: so q is factor 1.
        const Owned<BIGNUM> n = number_of(open[0]);
        const Owned<BIGNUM> d = number_of(secret[0]);
        Owned<BIGNUM> p = number_of(secret[1]);
        Owned<BIGNUM> q = number_of(secret[2]);
        if (n == nullptr || d == nullptr || p == nullptr || q == nullptr ||
            !is_product(n.get(), p.get(), q.get())) {
            return nullptr;
        }
        parameters.number(OSSL_PKEY_PARAM_RSA_D, secret[0]);
        parameters.number(OSSL_PKEY_PARAM_RSA_EXPONENT1, reduced(d.get(), q.get()));
        parameters.number(OSSL_PKEY_PARAM_RSA_EXPONENT2, reduced(d.get(), p.get()));
        parameters.number(OSSL_PKEY_PARAM_RSA_FACTOR1, std::move(q));
        parameters.number(OSSL_PKEY_PARAM_RSA_FACTOR2, std::move(p));
        parameters.number(OSSL_PKEY_PARAM_RSA_COEFFICIENT1, secret[3]);
    }
    return parameters.build("RSA", selection_of(secret));
}

/// Verified only; its private numbers are not used.
KeyHandle make_dsa(const Fields& open, const Fields& secret) {
    if (!secret.empty()) {
        return nullptr;
    }
    KeyParameters parameters;
    parameters.number(OSSL_PKEY_PARAM_FFC_P, open[0]);
    parameters.number(OSSL_PKEY_PARAM_FFC_Q, open[1]);
    parameters.number(OSSL_PKEY_PARAM_FFC_G, open[2]);
    parameters.number(OSSL_PKEY_PARAM_PUB_KEY, open[3]);
    return parameters.build("DSA", EVP_PKEY_PUBLIC_KEY);
}

KeyHandle ecdsa_key(const Fields& open, const Fields& secret) {
    const Curve* const curve = find_curve(open[0]);
    if (curve == nullptr || curve->openssl == nullptr || open[0] == kOidEd25519) {
        return nullptr;
    }
    KeyParameters parameters;
    parameters.text(OSSL_PKEY_PARAM_GROUP_NAME, curve->openssl);
    parameters.octets(OSSL_PKEY_PARAM_PUB_KEY, open[1]);
    if (secret.empty()) {
        return parameters.build("EC", EVP_PKEY_PUBLIC_KEY);
    }
    parameters.number(OSSL_PKEY_PARAM_PRIV_KEY, secret[0]);
    KeyHandle key = parameters.build("EC", EVP_PKEY_KEYPAIR);
    const Owned<EVP_PKEY_CTX> context(
        key == nullptr ? nullptr : EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
    const bool is_pair = context != nullptr && EVP_PKEY_pairwise_check(context.get()) == 1;
    ERR_clear_error();
    return is_pair ? key : nullptr;
}

/// `open` and `secret`: 32 bytes each.
KeyHandle make_raw_ed25519(std::string_view open, const Fields& secret) {
    if (secret.empty()) {
        KeyHandle key(
            EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, data_of(open), open.size()),
            EVP_PKEY_free);
        ERR_clear_error();
        return key;
    }
    const Secret seed(padded(secret[0], kEd25519Size));
    KeyHandle key(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.bytes(), seed.size()),
        EVP_PKEY_free);
    std::string own(kEd25519Size, '\0');
    std::size_t size = own.size();
    const bool is_pair = key != nullptr &&
                         EVP_PKEY_get_raw_public_key(key.get(), data_of(own), &size) == 1 &&
                         own == open;
    ERR_clear_error();
    return is_pair ? key : nullptr;
}

KeyHandle make_eddsa(const Fields& open, const Fields& secret) {
    // A point in its native form behind the octet 0x40 (RFC 9580, section 11.2.1).
    if (open[0] != kOidEd25519 || open[1].size() != kEd25519Size + 1 || open[1][0] != '\x40') {
        return nullptr;
    }
    return make_raw_ed25519(open[1].substr(1), secret);
}

KeyHandle ed25519_key(const Fields& open, const Fields& secret) {
    return make_raw_ed25519(open[0], secret);
}

constexpr Algorithm kAlgorithms[] = {
    {kRsa, "RSA", "mm", "mmmm", Scheme::kRsa, rsa_key},
    {2, "RSA (encryption only)", "mm", "mmmm", Scheme::kNone, nullptr},
    {3, "RSA (signatures only)", "mm", "mmmm", Scheme::kRsa, rsa_key},
    {16, "ElGamal", "mmm", "m", Scheme::kNone, nullptr},
    {kDsa, "DSA", "mmmm", "m", Scheme::kDsa, make_dsa},
    {18, "ECDH", "omk", "m", Scheme::kNone, nullptr},
    {kEcdsa, "ECDSA", "om", "m", Scheme::kEcdsa, ecdsa_key},
    {kEddsaLegacy, "EdDSA", "om", "m", Scheme::kEddsa, make_eddsa},
    {25, "X25519", "x", "x", Scheme::kNone, nullptr},
    {26, "X448", "y", "y", Scheme::kNone, nullptr},
    {kEd25519, "Ed25519", "x", "x", Scheme::kEddsa, ed25519_key},
    {28, "Ed448", "z", "z", Scheme::kNone, nullptr},
};

} // namespace

const Curve* find_curve(std::string_view oid) {
    return find_row(kCurves, oid, &Curve::oid);
}

const Algorithm* find_algorithm(std::uint8_t number) {
    return find_row(kAlgorithms, number, &Algorithm::number);
}

} // namespace cybele::images::openpgp
