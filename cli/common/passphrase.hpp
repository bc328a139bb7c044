// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "support/passphrase.hpp"

#include <optional>
#include <string>

namespace cybele::cli {

/// Where the passphrase of a private key comes from, for every verb that opens or makes one.
struct PassphraseOptions {
    std::string file;
    std::optional<int> descriptor;
};

/// Adds --passphrase-file and --passphrase-fd.
void add_passphrase(CLI::App& verb, PassphraseOptions& options);

/// The options, else $CYBELE_PASSPHRASE, else $COSIGN_PASSWORD, else the terminal. Warnings go to
/// standard error.
[[nodiscard]] PassphraseSource passphrase_source(const Session& session,
                                                 const PassphraseOptions& options);

} // namespace cybele::cli
