// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/keyring.hpp"
#include "images/openpgp/secret_key.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cybele::images::openpgp {

/// Bytes of random salt that clear_sign() takes; it uses as many as its hash has (16 for SHA-256).
inline constexpr std::size_t kSaltSize = 32;

/// A clear-signed message exactly as apptainer/sif 2.x writes one: no Version, no CRC, no final
/// newline; hashed subpackets creation (critical), issuer, the notation
/// salt@notations.openpgpjs.org, issuer fingerprint. `text` without its final line end; lines end
/// with LF. kInput: the key is locked, or the text has characters that clear-signing loses
/// (trailing blanks, CR).
[[nodiscard]] Result<std::string>
clear_sign(std::string_view text, const SecretKey& key, std::int64_t time, std::string_view salt);

/// A clear-signed message and what became of its signature.
struct ClearSigned {
    /// What was signed, and no byte more: dash escapes undone, trailing blanks of lines removed,
    /// LF between lines, none at the end. Trust it only where is_valid.
    std::string text;
    std::string issuer;              ///< fingerprint or key id that the signature names; may be ""
    std::string primary_fingerprint; ///< of the certificate, where it is known
    std::string fingerprint;         ///< of the key that signed: the primary's or a subkey's
    std::string user_id;             ///< the primary one of the certificate
    std::int64_t created = 0;        ///< the signature's time, as it claims
    std::string hash;                ///< "SHA256"
    bool is_valid = false;
    bool lacks_key = false; ///< not valid for this reason: the keyring does not have it
    std::string because;    ///< why it is not valid
};

/// Verifies the text signature(s) of a clear-signed message as of `now` (Unix seconds); of several
/// the first valid one, else the first. kInput: no such message, or a damaged one. Everything else
/// that is wrong is told in the result: bad signature, unknown key, revoked, expired when it
/// signed, subkey not bound, weak hash.
[[nodiscard]] Result<ClearSigned>
verify_clear_signed(std::string_view message, const Keyring& keyring, std::int64_t now);

} // namespace cybele::images::openpgp
