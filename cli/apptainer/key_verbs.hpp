// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

#include <string>

namespace cybele::cli {

/// `key remove|pull|push|search`; gives the exit code.
[[nodiscard]] Result<int> key_verb(const Session& session, const OtherCall& call);

/// The fingerprint of the private key at this place of the keyring, from 0 on (`sign --keyidx`).
[[nodiscard]] Result<std::string> key_at(const Session& session, const std::string& place);

/// Whether a passphrase is asked for before this key signs.
[[nodiscard]] bool is_locked(const Session& session, const std::string& fingerprint);

} // namespace cybele::cli
