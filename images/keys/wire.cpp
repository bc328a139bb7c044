// SPDX-License-Identifier: Apache-2.0
#include "images/keys/wire.hpp"

#include "images/keys/openssl.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <openssl/core_names.h>

namespace cybele::images {

namespace {

using openssl::Owned;

constexpr int kMinimumRsaBits = 1024;

/// A curve by OpenSSL's name, with its part of the SSH algorithm name (RFC 5656).
struct Curve {
    std::string_view name;
    std::string_view ssh;
    std::string_view shown;
    std::size_t bytes;
    bool is_known_to_ssh; ///< to Apptainer's SSH library
};
constexpr Curve kCurves[] = {
    {"secp224r1", "1.3.132.0.33", "P-224", 28, false},
    {"prime256v1", "nistp256", "P-256", 32, true},
    {"secp384r1", "nistp384", "P-384", 48, true},
    {"secp521r1", "nistp521", "P-521", 66, true},
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

std::optional<KeyWire> wire_of_rsa(EVP_PKEY* key) {
    const auto exponent = number_of(key, OSSL_PKEY_PARAM_RSA_E);
    const auto modulus = number_of(key, OSSL_PKEY_PARAM_RSA_N);
    const int bits = EVP_PKEY_get_bits(key);
    if (!exponent || !modulus || bits < kMinimumRsaBits) {
        return std::nullopt;
    }
    KeyWire wire;
    wire.algorithm = fmt::format("RSA {}", bits);
    append_ssh(wire.bytes, "ssh-rsa");
    append_ssh_number(wire.bytes, *exponent);
    append_ssh_number(wire.bytes, *modulus);
    return wire;
}

std::optional<KeyWire> wire_of_curve(EVP_PKEY* key) {
    std::array<char, 80> name{};
    std::size_t length = 0;
    if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) != 1) {
        return std::nullopt;
    }
    const auto* const curve =
        std::ranges::find(kCurves, std::string_view(name.data(), length), &Curve::name);
    if (curve == std::end(kCurves)) {
        return std::nullopt;
    }
    const auto x = number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, curve->bytes);
    const auto y = number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, curve->bytes);
    if (!x || !y) {
        return std::nullopt;
    }
    KeyWire wire;
    wire.algorithm = fmt::format("ECDSA {}", curve->shown);
    wire.is_known_to_ssh = curve->is_known_to_ssh;
    append_ssh(wire.bytes, fmt::format("ecdsa-sha2-{}", curve->ssh));
    append_ssh(wire.bytes, curve->ssh);
    append_ssh(wire.bytes, "\x04" + *x + *y);
    return wire;
}

std::optional<KeyWire> wire_of_ed25519(EVP_PKEY* key) {
    std::array<unsigned char, 32> raw{};
    std::size_t length = raw.size();
    if (EVP_PKEY_get_raw_public_key(key, raw.data(), &length) != 1) {
        return std::nullopt;
    }
    KeyWire wire;
    wire.algorithm = "Ed25519";
    append_ssh(wire.bytes, "ssh-ed25519");
    append_ssh(wire.bytes, std::string(raw.begin(), raw.end()));
    return wire;
}

struct WireAlgorithm {
    const char* name; ///< as OpenSSL calls it; RSA-PSS keys are of another
    std::optional<KeyWire> (*wire)(EVP_PKEY*);
};
constexpr WireAlgorithm kWireAlgorithms[] = {
    {"ED25519", wire_of_ed25519}, {"EC", wire_of_curve}, {"RSA", wire_of_rsa}};

} // namespace

std::optional<KeyWire> wire_of(evp_pkey_st* key) {
    std::optional<KeyWire> wire;
    for (const WireAlgorithm& algorithm : kWireAlgorithms) {
        if (key != nullptr && EVP_PKEY_is_a(key, algorithm.name) == 1) {
            wire = algorithm.wire(key);
        }
    }
    ERR_clear_error();
    return wire;
}

std::string fingerprint_of(const KeyWire& wire) {
    const Digest digest = sha256(wire.bytes);
    std::string encoded = base64(std::string(digest.begin(), digest.end()));
    encoded.resize(encoded.find_last_not_of('=') + 1);
    return "SHA256:" + encoded;
}

} // namespace cybele::images
