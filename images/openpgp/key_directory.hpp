// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/keyring.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::images::openpgp {

/// The keyrings that Apptainer keeps and that we share with it: `pgp-public` and `pgp-secret`, mode
/// 0600, in a folder of mode 0700.
class KeyDirectory {
public:
    explicit KeyDirectory(std::filesystem::path path) : path_(std::move(path)) {}
    /// $APPTAINER_KEYSDIR, else $SINGULARITY_SYPGPDIR, else ~/.apptainer/keys.
    [[nodiscard]] static KeyDirectory of(const Environment& environment);

    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }
    /// The file of public keys; it may be missing.
    [[nodiscard]] std::filesystem::path public_file() const;
    /// Empty where there is no such file.
    [[nodiscard]] Result<Keyring> public_ring() const;
    [[nodiscard]] Result<Keyring> secret_ring() const;

    /// What became of one imported certificate.
    struct Imported {
        std::string fingerprint;
        Keyring::Added added{};  ///< to the public keyring
        bool is_secret = false;  ///< it has private parts
        Keyring::Added secret{}; ///< what became of these
    };
    /// Adds all certificates of a keyring, secret ones to both files. Both files are written whole
    /// or not at all, under a lock, so that two imports at a time lose nothing.
    [[nodiscard]] Result<std::vector<Imported>> import(const Keyring& keyring) const;

    /// Removes the certificate of this fingerprint or key id from one or both keyrings; false where
    /// neither has it.
    [[nodiscard]] Result<bool>
    remove(const std::string& fingerprint, bool is_public, bool is_secret) const;

private:
    std::filesystem::path path_;
};

/// Apptainer's keyring for the whole machine; it may be missing.
inline constexpr const char* kGlobalKeyring = "/etc/apptainer/global-pgp-public";

} // namespace cybele::images::openpgp
