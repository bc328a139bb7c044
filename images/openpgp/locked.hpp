// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/certificate.hpp"
#include "images/openpgp/material.hpp"
#include "support/error.hpp"
#include "support/secret.hpp"

#include <string>
#include <string_view>

/// Private parts of keys, encrypted with a passphrase (RFC 9580, sections 3.7 and 5.5.3).
namespace cybele::images::openpgp {

/// Where the private part of a key's packet is.
[[nodiscard]] SecretPart secret_part_of(const Component& key, const PublicMaterial& material);

/// The private numbers in the clear. `part`: what follows the public part in a packet's body.
/// kInput: a wrong passphrase; a cipher, key derivation or protection that is not taken; damaged.
[[nodiscard]] Result<Secret> open_numbers(std::string_view part, const Secret& passphrase);

/// The other way: AES-256 in CFB mode with a SHA-1 check, the key by salted and iterated SHA-256,
/// which GnuPG and Apptainer read. `random`: 24 bytes (salt and start).
[[nodiscard]] Result<std::string>
lock_numbers(const Secret& numbers, const Secret& passphrase, std::string_view random);

/// Without protection, for keys that programs use alone.
[[nodiscard]] std::string clear_numbers(const Secret& numbers);

/// Encrypts every private part that lies open, and with `present`, their passphrase until now,
/// those that are encrypted.
[[nodiscard]] Result<Certificate> lock_certificate(const Certificate& certificate,
                                                   const Secret& passphrase,
                                                   const Secret* present = nullptr);

/// How many private parts lie open.
[[nodiscard]] std::size_t count_clear(const Certificate& certificate);

} // namespace cybele::images::openpgp
