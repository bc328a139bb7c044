// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/passphrase.hpp"
#include "images/openpgp/certificate.hpp"
#include "support/error.hpp"

#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace cybele::cli {

struct Session;

/// How private keys of OpenPGP that lie open are encrypted before they are stored.
struct KeyClosing {
    bool has_no_passphrase = false; ///< they stay open
    PassphraseOptions passphrase;
};

/// The certificate with its open private parts closed, or as it is where the user wants that.
[[nodiscard]] Result<images::openpgp::Certificate>
closed(const Session& session,
       const KeyClosing& closing,
       const images::openpgp::Certificate& certificate,
       const std::string& what);

/// A home that does not exist is the machine's fault, not that of what was given.
[[nodiscard]] Error as_own_folder(const Error& error);

/// `key import`.
void install_import(CLI::App& key, Session& session);

} // namespace cybele::cli
