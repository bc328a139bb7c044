// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/certificate.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images::openpgp {

/// More bytes are no keyring that a person keeps.
inline constexpr std::size_t kMaximumKeyring = std::size_t{64} << 20U;

/// Certificates one behind the other: an export of GnuPG, or a keyring file of Apptainer.
class Keyring {
public:
    Keyring() = default;

    /// Binary, or one or more armored blocks. Keys of another version than 4 are left out and named
    /// in skipped(). kInput: damaged, or no key of version 4 at all. `from` is for messages. Empty
    /// bytes are an empty keyring.
    [[nodiscard]] static Result<Keyring> parse(std::string_view bytes, std::string_view from);
    /// parse() of a file; "-" is standard input.
    [[nodiscard]] static Result<Keyring> read(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<Certificate>& certificates() const {
        return certificates_;
    }
    /// What was left out and why: "a key of version 6".
    [[nodiscard]] const std::vector<std::string>& skipped() const {
        return skipped_;
    }

    /// The certificate that has a key (primary or subkey) of this fingerprint (40 digits) or key id
    /// (16 digits), in either case of letters, with blanks or 0x before it or without. nullptr:
    /// none, or, of a key id, more than one.
    [[nodiscard]] const Certificate* find(std::string_view id) const;
    /// As find(), else by a part of a user id that only one certificate has. kInput says what is
    /// wrong: none, or which ones. With an empty `wanted`: the only certificate.
    [[nodiscard]] Result<const Certificate*> choose(std::string_view wanted) const;

    enum class Added { kNew, kMerged, kKnown };
    /// Merges it into the certificate of its fingerprint, or puts it at the end.
    Added add(const Certificate& certificate);

    /// Binary packets of all.
    [[nodiscard]] std::string packets() const;

private:
    std::vector<Certificate> certificates_;
    std::vector<std::string> skipped_;
};

/// Upper-case digits of a fingerprint (40) or key id (16) as people write them: with blanks, colons
/// or 0x; "" for anything else.
[[nodiscard]] std::string normal_key_id(std::string_view text);

} // namespace cybele::images::openpgp
