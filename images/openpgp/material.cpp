// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/material.hpp"

#include "images/openpgp/algorithms.hpp"
#include "images/openpgp/numbers.hpp"
#include "images/openpgp/packet.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::size_t kMinimumRsaBits = 1024;
constexpr std::size_t kEd25519Half = 32;
constexpr std::string_view kMakeNewKey = "make a new key: cybelectl key new --pgp";

std::string_view take_field(Cursor& cursor, char kind) {
    switch (kind) {
    case 'm':
        return cursor.mpi();
    case 'x':
        return cursor.bytes(32);
    case 'y':
        return cursor.bytes(56);
    case 'z':
        return cursor.bytes(57);
    default:
        return cursor.bytes(cursor.u8()); // o, k
    }
}

Fields take_fields(Cursor& cursor, std::string_view kinds) {
    Fields fields;
    for (const char kind : kinds) {
        fields.push_back(take_field(cursor, kind));
    }
    return fields;
}

std::size_t bits_of(std::string_view number) {
    const Owned<BIGNUM> value = number_of(number);
    return value == nullptr ? 0 : static_cast<std::size_t>(BN_num_bits(value.get()));
}

/// "RSA 4096", "NIST P-256"; fills in how long a digest must be.
void name_it(PublicMaterial& material, const Algorithm& algorithm, const Fields& fields) {
    if (algorithm.fields[0] == 'o') {
        const Curve* const curve = find_curve(fields[0]);
        material.name = curve != nullptr ? std::string(curve->name)
                                         : fmt::format("{} on an unknown curve", algorithm.name);
        material.hash_bits = curve != nullptr && algorithm.number == kEcdsa ? curve->bits : 0;
    } else if (algorithm.fields[0] == 'm') {
        material.name = fmt::format("{} {}", algorithm.name, bits_of(fields[0]));
        material.hash_bits = algorithm.number == kDsa ? bits_of(fields[1]) : 0;
    } else {
        material.name = algorithm.name;
    }
}

std::string why_unusable(const Algorithm& algorithm, const Fields& fields) {
    if (algorithm.scheme == Scheme::kNone) {
        return fmt::format("signatures by {} keys are not supported", algorithm.name);
    }
    if (algorithm.scheme == Scheme::kRsa && bits_of(fields[0]) < kMinimumRsaBits) {
        return "it is an RSA key of fewer than 1024 bits";
    }
    return {};
}

} // namespace

Result<PublicMaterial> read_public(std::string_view body) {
    Cursor cursor(body);
    PublicMaterial material;
    const unsigned version = cursor.u8();
    material.created = cursor.u32();
    material.algorithm = cursor.u8();
    if (cursor.has_failed() || version != 4) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-key-version",
                            fmt::format("an OpenPGP key of version {} cannot be used", version)),
                    "keys of version 4 are supported, which GnuPG and Apptainer make",
                    std::string(kMakeNewKey));
    }
    const Algorithm* const algorithm = find_algorithm(material.algorithm);
    if (algorithm == nullptr) {
        material.name = fmt::format("algorithm {}", material.algorithm);
        material.because = fmt::format("its algorithm {} is unknown", material.algorithm);
        return material;
    }
    const Fields fields = take_fields(cursor, algorithm->fields);
    if (cursor.has_failed()) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-key-damaged", "an OpenPGP key is damaged"),
                    fmt::format("its {} numbers are cut short or too long", algorithm->name),
                    "export it again");
    }
    material.size = body.size() - cursor.rest().size();
    name_it(material, *algorithm, fields);
    material.because = why_unusable(*algorithm, fields);
    if (material.because.empty()) {
        material.key = algorithm->make(fields, {});
        material.because = material.key == nullptr
                               ? fmt::format("its {} numbers are not a usable key", material.name)
                               : "";
    }
    return material;
}

std::string fingerprint_of(std::string_view public_body) {
    std::string bytes = "\x99";
    append_u16(bytes, public_body.size());
    bytes += public_body;
    return upper_hex(digest_of(HashAlgorithm::kSha1, bytes));
}

namespace {

/// Signature numbers in OpenSSL's form; empty: damaged.
std::string openssl_form(const PublicMaterial& material, Scheme scheme, std::string_view numbers) {
    Cursor cursor(numbers);
    if (material.algorithm == kEd25519) {
        return numbers.size() == 2 * kEd25519Half ? std::string(numbers) : "";
    }
    const std::string_view first = cursor.mpi();
    const std::string_view second = scheme == Scheme::kRsa ? std::string_view() : cursor.mpi();
    if (cursor.has_failed() || !cursor.at_end()) {
        return {};
    }
    if (scheme == Scheme::kRsa) {
        return padded(first, static_cast<std::size_t>(EVP_PKEY_get_size(material.key.get())));
    }
    if (scheme == Scheme::kEddsa) {
        return padded(first, kEd25519Half) + padded(second, kEd25519Half);
    }
    const Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
    Owned<BIGNUM> r = number_of(first);
    Owned<BIGNUM> s = number_of(second);
    if (signature == nullptr || r == nullptr || s == nullptr ||
        ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) {
        return {};
    }
    (void)r.release(); // the signature owns them now
    (void)s.release();
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(signature.get(), &der);
    std::string form(reinterpret_cast<char*>(der), size > 0 ? static_cast<std::size_t>(size) : 0U);
    OPENSSL_free(der);
    return form;
}

/// Prepares `context` for PKCS #1 v1.5 over a digest where the key is an RSA one.
bool prepare(EVP_PKEY_CTX* context, Scheme scheme, HashAlgorithm hash) {
    return scheme != Scheme::kRsa ||
           (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1 &&
            EVP_PKEY_CTX_set_signature_md(context, hash_of(hash)) == 1);
}

bool verifies_ed25519(EVP_PKEY* key, const std::string& digest, const std::string& signature) {
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    return context != nullptr &&
           EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) == 1 &&
           EVP_DigestVerify(context.get(),
                            data_of(signature),
                            signature.size(),
                            data_of(digest),
                            digest.size()) == 1;
}

Result<std::string>
openssl_sign(const KeyHandle& key, Scheme scheme, HashAlgorithm hash, const std::string& digest) {
    std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key.get())), '\0');
    std::size_t size = signature.size();
    bool is_done = false;
    if (scheme == Scheme::kEddsa) {
        const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
        is_done =
            context != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
            EVP_DigestSign(
                context.get(), data_of(signature), &size, data_of(digest), digest.size()) == 1;
    } else {
        const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
        is_done =
            context != nullptr && EVP_PKEY_sign_init(context.get()) == 1 &&
            prepare(context.get(), scheme, hash) &&
            EVP_PKEY_sign(
                context.get(), data_of(signature), &size, data_of(digest), digest.size()) == 1;
    }
    ERR_clear_error();
    if (!is_done) {
        return fail(ErrorCode::kInternal,
                    problem("openpgp-signing-failed", "cannot sign with an OpenPGP key"),
                    "OpenSSL refuses it");
    }
    signature.resize(size);
    return signature;
}

/// The signature as MPIs or raw bytes.
std::string packet_form(const PublicMaterial& material, Scheme scheme, const std::string& raw) {
    std::string numbers;
    if (scheme == Scheme::kRsa) {
        append_mpi(numbers, raw);
    } else if (material.algorithm == kEd25519) {
        numbers = raw;
    } else if (scheme == Scheme::kEddsa) {
        append_mpi(numbers, std::string_view(raw).substr(0, kEd25519Half));
        append_mpi(numbers, std::string_view(raw).substr(kEd25519Half));
    } else {
        const unsigned char* at = data_of(raw);
        const Owned<ECDSA_SIG> signature(
            d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(raw.size())));
        if (signature == nullptr) {
            return {};
        }
        for (const BIGNUM* part :
             {ECDSA_SIG_get0_r(signature.get()), ECDSA_SIG_get0_s(signature.get())}) {
            std::string bytes(static_cast<std::size_t>(BN_num_bytes(part)), '\0');
            BN_bn2bin(part, data_of(bytes));
            append_mpi(numbers, bytes);
        }
    }
    return numbers;
}

} // namespace

bool verifies(const PublicMaterial& material,
              std::uint8_t algorithm,
              HashAlgorithm hash,
              const std::string& digest,
              std::string_view numbers) {
    const Algorithm* const row = find_algorithm(material.algorithm);
    if (row == nullptr || material.key == nullptr || digest.empty() ||
        (algorithm != material.algorithm && row->scheme != Scheme::kRsa)) {
        return false;
    }
    const std::string signature = openssl_form(material, row->scheme, numbers);
    bool holds = !signature.empty();
    if (holds && row->scheme == Scheme::kEddsa) {
        holds = verifies_ed25519(material.key.get(), digest, signature);
    } else if (holds) {
        const Owned<EVP_PKEY_CTX> context(
            EVP_PKEY_CTX_new_from_pkey(nullptr, material.key.get(), nullptr));
        holds = context != nullptr && EVP_PKEY_verify_init(context.get()) == 1 &&
                prepare(context.get(), row->scheme, hash) &&
                EVP_PKEY_verify(context.get(),
                                data_of(signature),
                                signature.size(),
                                data_of(digest),
                                digest.size()) == 1;
    }
    ERR_clear_error();
    return holds;
}

Result<KeyHandle> read_private(const PublicMaterial& material,
                               std::string_view public_body,
                               std::string_view numbers) {
    const Algorithm* const algorithm = find_algorithm(material.algorithm);
    if (algorithm == nullptr || material.key == nullptr || algorithm->number == kDsa) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-key-cannot-sign",
                            fmt::format("cannot sign with a key of kind {}", material.name)),
                    "RSA, Ed25519 and the NIST curves sign; DSA is only verified",
                    std::string(kMakeNewKey));
    }
    Cursor open(public_body);
    (void)open.bytes(6); // version, time, algorithm
    Cursor secret(numbers);
    const Fields fields = take_fields(open, algorithm->fields);
    const Fields private_fields = take_fields(secret, algorithm->private_fields);
    KeyHandle key;
    if (!open.has_failed() && !secret.has_failed() && secret.at_end()) {
        key = algorithm->make(fields, private_fields);
    }
    if (key == nullptr) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-private-key-damaged", "an OpenPGP private key is damaged"),
                    "its private and public keys do not match",
                    "export it again");
    }
    return key;
}

Result<std::string> sign_digest(const PublicMaterial& material,
                                const KeyHandle& key,
                                HashAlgorithm hash,
                                const std::string& digest) {
    const Algorithm* const algorithm = find_algorithm(material.algorithm);
    if (algorithm == nullptr || key == nullptr) {
        return fail(ErrorCode::kInternal,
                    problem("openpgp-key-not-open", "cannot sign with a key that is not open"));
    }
    CYBELE_TRY(const std::string raw, openssl_sign(key, algorithm->scheme, hash, digest));
    std::string numbers = packet_form(material, algorithm->scheme, raw);
    // A faulty signature can tell the private key: none is given out unchecked.
    if (!verifies(material, material.algorithm, hash, digest, numbers)) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-key-parts-differ", "cannot sign with an OpenPGP key"),
                    "its private and public keys do not match",
                    "export it again");
    }
    return numbers;
}

} // namespace cybele::images::openpgp
