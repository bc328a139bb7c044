// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/certificate.hpp"
#include "support/error.hpp"
#include "support/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cybele::images::openpgp {

/// Bytes of NewKey::random.
inline constexpr std::size_t kNewKeySalt = 32;

struct NewKey {
    std::string name;                  ///< of a person or a site
    std::string email;                 ///< may be empty
    std::string comment;               ///< may be empty
    std::string algorithm = "ed25519"; ///< ed25519, ecdsa, ecdsa-p384, ecdsa-p521, rsa, rsa-4096
    std::int64_t time = 0;             ///< of creation
    std::optional<std::uint32_t> expires_after; ///< seconds; unset: never
    std::string random;          ///< kNewKeySalt bytes for the salt of the self-signature
    bool allows_no_name = false; ///< an address is enough
};

/// A key of version 4 that certifies and signs, with one user id "name (comment) <email>" and
/// nothing to encrypt with. Its private part lies open: lock_certificate() closes it. kUsage: an
/// unknown algorithm, or a name that no user id can hold.
[[nodiscard]] Result<Certificate> generate(const NewKey& wanted);

} // namespace cybele::images::openpgp
