// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/certificate.hpp"
#include "images/openpgp/material.hpp"
#include "support/error.hpp"
#include "support/secret.hpp"

#include <cstdint>
#include <string>

namespace cybele::images::openpgp {

/// A key that signs: the primary key where it may and its private part is there, else the newest
/// signing subkey (a primary key that only certifies, or is kept offline).
class SecretKey {
public:
    /// Chooses the key as of `now`. kInput says why none can sign: public only, expired, revoked,
    /// private parts elsewhere. A private part that is not encrypted is opened at once.
    [[nodiscard]] static Result<SecretKey> choose(const Certificate& certificate, std::int64_t now);

    [[nodiscard]] bool is_locked() const {
        return key_ == nullptr;
    }
    /// kInput: a wrong passphrase, or a form of encryption that is not taken.
    [[nodiscard]] Result<void> unlock(const Secret& passphrase);

    /// Of the primary key, what the descriptor of a SIF signature holds.
    [[nodiscard]] const std::string& primary_fingerprint() const {
        return primary_fingerprint_;
    }
    /// Of the key that signs.
    [[nodiscard]] const std::string& fingerprint() const {
        return fingerprint_;
    }
    [[nodiscard]] const std::string& user_id() const {
        return user_id_;
    }
    /// What the key wants: SHA-256, or as many bits as its curve has (GnuPG refuses fewer).
    [[nodiscard]] HashAlgorithm hash() const;
    /// RFC 9580, section 9.1.
    [[nodiscard]] std::uint8_t algorithm() const {
        return public_.algorithm;
    }

    /// The algorithm's part of a signature packet over a digest: MPIs, or raw bytes. Checked with
    /// the public part before it is given out. kInput while locked.
    [[nodiscard]] Result<std::string> sign(const std::string& digest) const;

private:
    SecretKey() = default;
    std::string primary_fingerprint_;
    std::string fingerprint_;
    std::string user_id_;
    std::string locked_; ///< body of the key's packet, until it is open
    PublicMaterial public_;
    KeyHandle key_;
};

} // namespace cybele::images::openpgp
