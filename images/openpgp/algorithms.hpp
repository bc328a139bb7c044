// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/material.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The table of public-key algorithms: how their packets lie, and how OpenSSL takes them.
namespace cybele::images::openpgp {

using Fields = std::vector<std::string_view>;

/// An elliptic curve (RFC 9580, section 9.2).
struct Curve {
    std::string_view oid;
    std::string_view name;
    const char* openssl; ///< nullptr: not taken
    std::size_t bits;
};
/// nullptr: unknown.
[[nodiscard]] const Curve* find_curve(std::string_view oid);

enum class Scheme { kNone, kRsa, kDsa, kEcdsa, kEddsa };

struct Algorithm {
    std::uint8_t number;
    std::string_view name;
    /// Public fields in order: m an MPI, o an object id behind its length, k bytes behind their
    /// length, x 32 bytes, y 56 bytes, z 57 bytes.
    std::string_view fields;
    std::string_view private_fields;
    Scheme scheme;
    /// From the public fields, with the private ones behind them where a private key is wanted.
    KeyHandle (*make)(const Fields& open, const Fields& secret);
};
/// nullptr: unknown.
[[nodiscard]] const Algorithm* find_algorithm(std::uint8_t number);

inline constexpr std::uint8_t kRsa = 1;
inline constexpr std::uint8_t kDsa = 17;
inline constexpr std::uint8_t kEcdsa = 19;
inline constexpr std::uint8_t kEddsaLegacy = 22;
inline constexpr std::uint8_t kEd25519 = 27;

inline constexpr std::string_view kOidP256 = "\x2a\x86\x48\xce\x3d\x03\x01\x07";
inline constexpr std::string_view kOidP384{"\x2b\x81\x04\x00\x22", 5};
inline constexpr std::string_view kOidP521{"\x2b\x81\x04\x00\x23", 5};
inline constexpr std::string_view kOidEd25519 = "\x2b\x06\x01\x04\x01\xda\x47\x0f\x01";

} // namespace cybele::images::openpgp
