// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/clear_sign.hpp"
#include "images/openpgp/locked.hpp"
#include "images/openpgp/secret_key.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// What a stranger can give: a keyring, the private part of a key, or a clear-signed message with
/// the keyring behind it. Whatever the bytes: an answer or a refusal.
namespace fuzz_openpgp {

inline constexpr std::int64_t kNow = 1795300000;

inline void keyring(std::string_view bytes) {
    namespace pgp = cybele::images::openpgp;
    const auto ring = pgp::Keyring::parse(bytes, "input");
    if (!ring) {
        return;
    }
    for (const pgp::Certificate& certificate : ring->certificates()) {
        (void)certificate.state(kNow);
        (void)certificate.public_half().packets();
        (void)pgp::SecretKey::choose(certificate, kNow);
        if (ring->find(certificate.fingerprint()) != &certificate) {
            // Two certificates share a subkey: none is chosen.
            (void)ring->choose(certificate.fingerprint());
        }
    }
    // What was read is written so that it is read as the same again.
    const std::string written = ring->packets();
    const auto again = pgp::Keyring::parse(written, "output");
    if (!ring->certificates().empty() && (!again || again->packets() != written)) {
        __builtin_trap();
    }
}

inline void private_part(std::string_view bytes) {
    constexpr std::size_t kCount = 12;
    std::string part(bytes);
    if (part.size() > kCount) {
        part[kCount] = static_cast<char>(part[kCount] & 0x1f); // few rounds, for speed
    }
    (void)cybele::images::openpgp::open_numbers(part, cybele::Secret(std::string("passphrase")));
}

inline void message(std::string_view bytes) {
    namespace pgp = cybele::images::openpgp;
    const std::size_t end = bytes.find("-----BEGIN PGP PUBLIC");
    const auto ring = end == std::string_view::npos
                          ? pgp::Keyring()
                          : pgp::Keyring::parse(bytes.substr(end), "keys").value_or(pgp::Keyring());
    (void)pgp::verify_clear_signed(bytes.substr(0, end), ring, kNow);
}

inline void one(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.starts_with('k')) {
        keyring(bytes.substr(1));
    } else if (bytes.starts_with('p')) {
        private_part(bytes.substr(1));
    } else {
        message(bytes);
    }
}

} // namespace fuzz_openpgp
